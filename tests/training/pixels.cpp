#include "engine/inference/language_model.h"
#include "engine/io/decode_image.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/answers.h"
#include "engine/training/attention_recipe.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/support/program.h"
#include "tests/training/tasks_test.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

using namespace attn;
using test::writeFile;
namespace fs = std::filesystem;

namespace {

/// A picture of 4 x 4 pixels in colour under a mask of its rows and columns: the rows hold 12 values.
Recipe pixelRecipe() {
    Recipe recipe = suggestedRecipe(taskNamed("pixels"));
    recipe.settings = {.values = {{"size", 4}, {"colour", 1}, {"levels", 3}}, .seed = 3};
    recipe.architecture = {
        .layers = 1,
        .heads = 2,
        .width = 16,
        .attention = "position=learned_2d(rows = 4, columns = 12, leading = 1), mask=causal & axial(4, 12, 1)",
        .initialDeviation = 0.1};
    recipe.schedule = {.rate = 1e-2, .warmUp = 10, .steps = 100};
    recipe.batch = 8;
    return recipe;
}

/// The same picture in blocks of 2 x 2 pixels, as the Image Transformer writes it.
Recipe blockRecipe() {
    Recipe recipe = pixelRecipe();
    recipe.settings.values["block_height"] = recipe.settings.values["block_width"] = 2;
    recipe.architecture.attention = "position=learned_2d(rows = 4, columns = 12, leading = 1, block_height = 2, "
                                    "block_width = 6), mask=causal & local2d(4, 12, 2, 6, 2, 6, 1, 1)";
    return recipe;
}

/// The same picture by the outer and the inner decoder of the Axial Transformer.
Recipe axialRecipe() {
    Recipe recipe = pixelRecipe();
    recipe.architecture.layers = 3;
    recipe.architecture.attention =
        "position=learned_2d(rows = 4, columns = 12, leading = 1), residual=axial(4, 12, 2, 1), mask=per_layer("
        "row(4, 12, 1) & (causal | ~global(1)), causal & column(4, 12, 1), causal & blocks(12))";
    return recipe;
}

} // namespace

TEST_CASE("pixels: in blocks the same pictures are written in another order", "[training]") {
    const bool hasColour = GENERATE(false, true);
    const int64_t channels = hasColour ? 3 : 1;
    std::map<std::string, double, std::less<>> values{{"size", 6}, {"levels", 5}, {"colour", hasColour ? 1.0 : 0.0}};
    const auto rows = test::task("pixels", values);
    values["block_height"] = 3, values["block_width"] = 2;
    const auto blocks = test::task("pixels", values);
    const WrittenPicture layout = *blocks->picture();
    CHECK(layout == WrittenPicture{
                        .rows = 6, .columns = 6, .channels = channels, .levels = 5, .blockHeight = 3, .blockWidth = 2});
    for (uint64_t i = 0; i < 20; ++i) {
        const Example expected = rows->example(Split::Train, i), example = blocks->example(Split::Train, i);
        CHECK(example.prompt == expected.prompt);
        auto written = example.answer.begin();
        for (const int64_t top : {0, 3})
            for (const int64_t left : {0, 2, 4})
                for (int64_t row = top; row < top + 3; ++row)
                    for (int64_t value = left * channels; value < (left + 2) * channels; ++value)
                        REQUIRE(*written++ == expected.answer[static_cast<size_t>(row * 6 * channels + value)]);
        const auto textOf = [](const Example& of) {
            std::vector<int> text(of.prompt.begin(), of.prompt.end());
            text.insert(text.end(), of.answer.begin(), of.answer.end());
            return text;
        };
        CHECK(pictureIn(layout, textOf(example)).rgb == pictureIn(*rows->picture(), textOf(expected)).rgb);
    }
    CHECK(test::refuses(
        [] {
            test::task("pixels", {{"size", 6}, {"block_height", 4}});
        },
        "blocks of 4 x 1 pixels do not fill a picture of 6 x 6"));
}

TEST_CASE("pixels: attention on another grid than the picture's is refused with the one that fits", "[training]") {
    const auto refuses = [](Recipe recipe, std::string_view attention, const std::string& says) {
        recipe.architecture.attention = attention;
        return test::refuses([&] { Trainer(recipe, {.softwareThreads = 0}); }, says);
    };
    CHECK(refuses(pixelRecipe(), "mask=causal & local2d(4, 4, 2, 2, 1, 1, 1)", "local2d(4, 12, 2, 2, 1, 1, 1)"));
    CHECK(refuses(pixelRecipe(), blockRecipe().architecture.attention, "local2d(4, 12, 2, 6, 2, 6, 1)"));
    CHECK(refuses(blockRecipe(), "mask=causal & local2d(4, 12, 1, 3, 2, 6, 1)", "local2d(4, 12, 2, 6, 2, 6, 1, 1)"));
    CHECK(refuses(blockRecipe(), pixelRecipe().architecture.attention,
                  "axial expects a picture that is written row by row"));
}

TEST_CASE("pixels: an outer decoder sees the rest of its row, but no row below it and not without an inner one",
          "[training]") {
    const auto problem = [](auto change) {
        Recipe recipe = axialRecipe();
        change(recipe.architecture);
        const auto found = attentionProblem(recipe.architecture);
        return found ? found->sentence : "";
    };
    const auto with = [&](const std::string& old, const std::string& instead) {
        return problem([&](Architecture& a) { a.attention.replace(a.attention.find(old), old.size(), instead); });
    };
    CHECK(problem([](Architecture&) {}).empty());
    CHECK(problem([](Architecture& a) { a.layers = 2; }) ==
          "Outer and inner decoder, Axial Transformer needs 3 layers or more, of which the last are the inner decoder, "
          "but the model has 2");
    CHECK(problem([](Architecture& a) { a.family = "vit"; }).find("reads pictures") != std::string::npos);
    CHECK(problem([](Architecture& a) {
              a.attention += "; residual=axial(4, 12, 1, 1), mask=causal";
          }).find("the same numbers") != std::string::npos);
    const std::string ahead = "the task is to predict the next token, but the mask";
    CHECK(with("causal & column", "full & column").starts_with(ahead));  // pixels below
    CHECK(with("causal & blocks", "full & blocks").starts_with(ahead));  // pixels that are to be written
    CHECK(with("& (causal | ~global(1))", "").starts_with(ahead));       // the class would see every pixel
    CHECK(with("residual=axial(4, 12, 2, 1), ", "").starts_with(ahead)); // nothing moves down
}

TEST_CASE("pixels: a row is the kind of a shape and then every channel of every pixel", "[training]") {
    const bool hasColour = GENERATE(false, true);
    const auto task = test::task("pixels", {{"size", 8}, {"levels", 5}, {"colour", hasColour ? 1.0 : 0.0}});
    REQUIRE(task->picture());
    const WrittenPicture layout = *task->picture();
    CHECK(layout == WrittenPicture{.rows = 8, .columns = 8, .channels = hasColour ? 3 : 1, .levels = 5});
    CHECK(task->contextLength() == layout.tokens());
    std::set<std::string> kinds, levels;
    for (const Split split : {Split::Train, Split::Validation, Split::Test})
        for (uint64_t i = 0; i < 40; ++i) {
            const Example example = task->example(split, i);
            kinds.insert(test::shown(*task, example.prompt));
            REQUIRE(std::ssize(example.answer) == layout.values());
            for (int64_t value = 0; value < layout.values(); ++value) {
                const std::string text = task->tokenizer().tokenText(example.answer[static_cast<size_t>(value)]);
                const std::string channel{"rgb"[value % 3]};
                CHECK(text.starts_with(hasColour ? channel : text.substr(0, 1)));
                CHECK(text.size() == (hasColour ? 2 : 1));
                levels.insert(text.substr(text.size() - 1));
            }
            // The picture is made of what its tokens say, and a shape stands in its middle.
            std::vector<int> tokens = example.prompt;
            tokens.insert(tokens.end(), example.answer.begin(), example.answer.end());
            const Image image = pictureIn(layout, tokens);
            for (int64_t value = 0; value < layout.values(); ++value) {
                const int64_t pixel = value / layout.channels, channel = value % layout.channels;
                CHECK(levelToken(layout, channel, image.at(pixel / 8, pixel % 8, channel)) ==
                      example.answer[static_cast<size_t>(value)]);
            }
            int different = 0; // from the ground
            for (int64_t pixel = 0; pixel < 64; ++pixel)
                for (int64_t channel = 0; channel < 3; ++channel)
                    different += image.at(pixel / 8, pixel % 8, channel) != image.at(0, 0, channel) ? 1 : 0;
            CHECK(different >= 8);
        }
    CHECK(kinds == std::set<std::string>{"circle", "square", "triangle", "cross"});
    CHECK(levels == std::set<std::string>{"0", "1", "2", "3", "4"});
}

TEST_CASE("pixels: the shape is what the first token says", "[training]") {
    const auto task = test::task("pixels", {{"size", 16}, {"levels", 8}, {"kinds", 5}});
    std::map<std::string, std::pair<double, int>> middles; // of each kind: brightness above the ground, and pictures
    for (uint64_t i = 0; i < 300; ++i) {
        const Example example = task->example(Split::Train, i);
        auto& [sum, count] = middles[test::shown(*task, example.prompt)];
        const int32_t most = *std::ranges::max_element(example.answer), ground = example.answer.front();
        for (const int pixel : {7 * 16 + 7, 7 * 16 + 8, 8 * 16 + 7, 8 * 16 + 8})
            sum += static_cast<double>(example.answer[static_cast<size_t>(pixel)] - ground) / (most - ground) / 4;
        ++count;
    }
    REQUIRE(middles.size() == 5);
    for (const auto& [kind, middle] : middles) {
        INFO(kind);
        const double mean = middle.first / middle.second;
        CHECK((kind == "ring" ? mean < 0.2 : mean > 0.8));
    }
}

TEST_CASE("pixels: pictures of a folder are written as they are, and their classes are words", "[training]") {
    const TemporaryFolder folder;
    const bool hasColour = GENERATE(false, true), hasClasses = GENERATE(false, true);
    std::map<std::vector<int32_t>, std::string> expected; // the levels of each picture, and its class
    const WrittenPicture layout{.rows = 4, .columns = 4, .channels = hasColour ? 3 : 1, .levels = 64};
    for (int i = 0; i < 40; ++i) { // a picture of one colour stays one when it is resized
        const std::array<uint8_t, 3> rgb{static_cast<uint8_t>(6 * i), static_cast<uint8_t>(6 * i),
                                         static_cast<uint8_t>(6 * i + 20)};
        std::string file = "P6\n6 6\n255\n";
        for (int pixel = 0; pixel < 36; ++pixel) file.append(rgb.begin(), rgb.end());
        const std::string name = !hasClasses ? "" : i % 2 == 0 ? "7" : "two words";
        fs::create_directories(folder.path() / name);
        writeFile(folder.path() / name / fmt::format("{}.ppm", i), file);
        std::vector<int32_t> levels;
        for (int64_t value = 0; value < layout.values(); ++value) {
            const double grey = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
            const double intensity = hasColour ? rgb[static_cast<size_t>(value % 3)] : std::round(grey);
            levels.push_back(static_cast<int32_t>(value % layout.channels * 64 + intensity / 4));
        }
        expected[levels] = !hasClasses ? "picture" : i % 2 == 0 ? hasColour ? "7" : "class_7" : "two_words";
    }
    const auto task = makeTask(taskNamed("pixels"), {.values = {{"size", 4}, {"levels", 64}, {"colour", hasColour}},
                                                     .data = {.pictures = folder.path()}});
    CHECK(*task->picture() == layout);
    std::map<std::vector<int32_t>, std::set<Split>> splits;
    for (const Split split : {Split::Train, Split::Validation, Split::Test})
        for (uint64_t i = 0; i < 100; ++i) {
            const Example example = task->example(split, i);
            REQUIRE(expected.contains(example.answer));
            CHECK(test::shown(*task, example.prompt) == expected.at(example.answer));
            CHECK(task->tokenizer().encode(expected.at(example.answer)).ids.size() == 1);
            splits[example.answer].insert(split);
        }
    CHECK(splits.size() > 30);
    for (const auto& [levels, of] : splits) CHECK(of.size() == 1);
}

TEST_CASE("pixels: a folder of IDX files keeps its test pictures for the test split", "[training]") {
    const TemporaryFolder folder;
    const auto written = [&](const std::string& part, int count, int first) {
        const auto header = [&](char axes) {
            return std::string("\0\0\x08", 3) + axes + std::string("\0\0\0", 3) + static_cast<char>(count);
        };
        std::string images = header(3) + std::string("\0\0\0\x08\0\0\0\x08", 8), labels = header(1);
        for (int i = 0; i < count; ++i) {
            images += std::string(64, static_cast<char>(first + i));
            labels += static_cast<char>(i % 2);
        }
        writeFile(folder / (part + "-images-idx3-ubyte"), images);
        writeFile(folder / (part + "-labels-idx1-ubyte"), labels);
    };
    written("train", 100, 0);
    written("t10k", 20, 200);
    const auto task =
        makeTask(taskNamed("pixels"), {.values = {{"size", 4}, {"levels", 64}}, .data = {.pictures = folder.path()}});
    for (uint64_t i = 0; i < 50; ++i) { // a grey of 200 is level 50
        CHECK(task->example(Split::Train, i).answer.front() < 50);
        CHECK(task->example(Split::Validation, i).answer.front() < 50);
        CHECK(task->example(Split::Test, i).answer.front() >= 50);
    }
    CHECK(test::refuses([&] { makeTask(taskNamed("pixels"), {.data = {.pictures = folder / "none"}}); },
                        "there is no such folder"));
}

TEST_CASE("pixels: a text that is no picture has black pixels in place of other tokens", "[training]") {
    const WrittenPicture layout{.rows = 1, .columns = 3, .channels = 3, .levels = 2};
    CHECK(layout.tokens() == 10);
    // Ids 0 and 1 are red, 2 and 3 green, 4 and 5 blue, 6 a kind.
    const std::vector<int> tokens{6, 1, 3, 4, 3, 3, 5, 1, 6};
    CHECK(pictureIn(layout, tokens).rgb == std::vector<uint8_t>{255, 255, 0, 0, 255, 255, 255, 0, 0});
    CHECK(pictureIn(layout, std::span(tokens).first(2)).rgb == std::vector<uint8_t>{255, 0, 0, 0, 0, 0, 0, 0, 0});
    const std::vector<int> longer{6, 1, 3, 5, 1, 3, 5, 1, 3, 5, 0, 0, 0};
    CHECK(pictureIn(layout, longer).rgb == std::vector<uint8_t>(9, 255));
    CHECK(pictureIn(layout, {}).rgb == std::vector<uint8_t>(9, 0));
}

TEST_CASE("pixels: what is trained opens as a model that writes pictures, and says the bits that training measured",
          "[training][gpu]") {
    Recipe (*const recipe)() = GENERATE(pixelRecipe, blockRecipe, axialRecipe);
    Trainer trainer(recipe(), {.softwareThreads = 0});
    const auto before = trainer.evaluate(Split::Validation, 64);
    CHECK(before.metric == Approx(before.loss / std::log(2.0)));
    for (int i = 0; i < 40; ++i) trainer.step();
    const auto after = trainer.evaluate(Split::Validation, 16);
    CHECK(after.metric < before.metric - 1);

    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    REQUIRE(model.config().picture);
    const WrittenPicture layout = *model.config().picture;
    CHECK(layout == *sequencesOf(trainer)->instance().picture());
    CHECK(model.info().writtenPicture == layout);

    // The bits of held-out pictures, token by token, as the model that writes would pay for them.
    double bits = 0;
    constexpr uint64_t kPictures = 16;
    for (uint64_t i = 0; i < kPictures; ++i) {
        const Example example = sequencesOf(trainer)->instance().example(Split::Validation, i);
        model.truncate(0);
        model.feed(example.prompt);
        for (const int32_t token : example.answer) {
            double sum = 0;
            for (const float logit : model.logits()) sum += std::exp(static_cast<double>(logit));
            bits -= std::log2(std::exp(static_cast<double>(model.logits()[static_cast<size_t>(token)])) / sum);
            model.feed(std::array{token});
        }
        CHECK(std::ssize(model.tokens()) == layout.tokens()); // a whole picture fits into the context
    }
    CHECK(after.metric == Approx(bits / static_cast<double>(kPictures * static_cast<uint64_t>(layout.values())))
                              .epsilon(1e-3)); // sums of 768 losses in single precision
}

TEST_CASE("pixels: attention that looks at a grid in order trains on pictures of pixels", "[training]") {
    const Recipe recipe =
        suggestedRecipe(AttentionSpec::parse("position=learned_2d, mask=causal & local2d(8, 8, 2, 2, 1, 1)"));
    CHECK(recipe.task == "pixels");
    CHECK(recipe.architecture.attention ==
          "position=learned_2d(rows = 12, columns = 12, leading = 1), mask=causal & local2d(12, 12, 2, 2, 1, 1, 1)");
    CHECK_NOTHROW(check(recipe));
}

TEST_CASE("pixels: a mask that expects blocks trains on pictures that are written in them", "[training]") {
    const auto attention = [](const char* block) {
        return suggestedRecipe(AttentionSpec::parse(std::string("position=learned_2d, mask=causal & local2d(8, 8, ") +
                                                    block + ", 2, 2, 0, 1)"));
    };
    const Recipe recipe = attention("5, 3");
    CHECK(recipe.settings.values ==
          std::map<std::string, double, std::less<>>{{"size", 15}, {"block_height", 5}, {"block_width", 3}});
    CHECK(recipe.architecture.attention ==
          "position=learned_2d(rows = 15, columns = 15, leading = 1, block_height = 5, "
          "block_width = 3), mask=causal & local2d(15, 15, 5, 3, 2, 2, 1, 1)");
    CHECK_NOTHROW(check(recipe));
    // No picture of the task can be made of such blocks, and so it is written row by row.
    CHECK(attention("7, 5").architecture.attention.ends_with("local2d(12, 12, 7, 5, 2, 2, 1)"));
}

TEST_CASE("pixels: attention-cli prints bits per dimension, and saves what a model writes as a PNG file",
          "[training][gpu]") {
    const TemporaryFolder folder;
    const std::string run = "'" + (folder.path() / "run").string() + "'";
    const auto file = folder.path() / "picture.png";
    const test::Answer trained =
        test::runProgram("train --task pixels --set size=4 --set colour=1 --set levels=3 "
                         "--layers 1 --heads 2 --width 16 --steps 80 --lr 1e-2 --batch 4 --out " +
                         run);
    CAPTURE(trained.text);
    REQUIRE(trained.code == 0);
    double loss = 0, bits = 0;
    const size_t at = trained.text.find("validation loss ");
    REQUIRE(at != std::string::npos);
    REQUIRE(std::sscanf(trained.text.c_str() + at, "validation loss %lf bits per dimension %lf", &loss, &bits) == 2);
    CHECK(bits == Approx(loss / std::log(2.0)).margin(2e-4)); // both have four digits

    const bool isSearch = GENERATE(false, true);
    const test::Answer written = test::runProgram("generate " + run + " --prompt cross --picture '" + file.string() +
                                                      "'" + (isSearch ? " --beams 2" : " --temperature 1 --seed 4"),
                                                  " 2>/dev/null");
    REQUIRE(written.code == 0);
    const auto task = test::task("pixels", {{"size", 4}, {"levels", 3}, {"colour", 1}});
    const std::vector<int> tokens = task->tokenizer().encode((isSearch ? "cross " : "") + written.text).ids;
    CHECK(tokens.size() == 49);
    CHECK(decodeImage(file) == pictureIn({.rows = 4, .columns = 4, .channels = 3, .levels = 3}, tokens));
    test::checkProgram("generate builtin:sort --picture '" + file.string() + "'", 1, {"this model writes no pictures"});
}
