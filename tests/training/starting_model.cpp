#include "engine/training/starting_model.h"
#include "engine/inference/language_model.h"
#include "engine/io/decode_image.h"
#include "engine/io/image_preprocessing.h"
#include "engine/io/input_file.h"
#include "engine/models/bundled.h"
#include "engine/training/answers.h"
#include "engine/training/checkpoint.h"
#include "engine/training/run.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/training_summary.h"
#include "tests/io/files.h"
#include "tests/training/short_runs.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>

using namespace attn;
using attn::test::onOneThread;
using attn::test::sentenceOf;
namespace fs = std::filesystem;

namespace {

const char* const kLine = "There was a clever girl. She was afraid of the dark, and her father had a lamp.\n";

/// A text of its own, and a recipe that trains a model on it further.
class Start {
public:
    explicit Start(const std::string& model = "builtin:stories") {
        std::string text;
        for (int i = 0; i < 20; ++i) text += kLine;
        test::writeFile(folder_ / "text.txt", text);
        recipe_ = suggestedRecipe(taskNamed("text"), model);
        recipe_.settings.data.text = folder_ / "text.txt";
        recipe_.settings.values = {{"context", 24}};
        recipe_.batch = 2;
    }
    Recipe& recipe() { return recipe_; }
    Recipe with(StartingPoint start) const {
        Recipe recipe = recipe_;
        start.model = recipe.start.model;
        recipe.start = std::move(start);
        return recipe;
    }
    std::filesystem::path folder() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
    Recipe recipe_;
};

std::map<std::string, std::vector<float>> parametersOf(const Trainer& trainer) {
    std::map<std::string, std::vector<float>> values;
    for (const Trainer::Named& parameter : trainer.parameters()) values[parameter.name] = trainer.read(parameter.name);
    return values;
}

std::set<std::string> changedBy(Trainer& trainer, int steps) {
    const auto before = parametersOf(trainer);
    for (int i = 0; i < steps; ++i) trainer.step();
    std::set<std::string> changed;
    for (const auto& [name, values] : parametersOf(trainer))
        if (values != before.at(name)) changed.insert(name);
    return changed;
}

/// The loss of the model itself on the rows of a split, by whole patterns instead of the kernels for training.
double lossOf(const std::string& path, const TaskInstance& task, Split split) {
    LanguageModel model(openModelSource(path), {.device = onOneThread()});
    const int rows = static_cast<int>(task.rowCount(split).value());
    const Batch batch = task.batch(split, 0, rows);
    double loss = 0;
    int64_t targets = 0;
    for (int row = 0; row < rows; ++row) {
        const auto begin = batch["inputs"].begin() + row * batch.width("targets");
        const std::vector<float> logits = model.formedLogits(std::vector<int>(begin, begin + batch.width("targets")));
        const auto choices = static_cast<size_t>(model.choices());
        for (int column = 0; column < batch.width("targets"); ++column) {
            const int target = batch["targets"][static_cast<size_t>(row * batch.width("targets") + column)];
            if (target == Batch::kIgnored) continue;
            const auto at = logits.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(column) * choices);
            double sum = 0;
            for (size_t i = 0; i < choices; ++i) sum += std::exp(static_cast<double>(at[static_cast<int>(i)]));
            loss += std::log(sum) - static_cast<double>(at[target]);
            ++targets;
        }
    }
    return loss / static_cast<double>(targets);
}

} // namespace

TEST_CASE("training from a model: before the first step the loss is the model's own", "[training][gpu]") {
    const char* model = GENERATE("builtin:stories", "builtin:english");
    INFO(model);
    Start start(model);
    Trainer trainer(start.recipe(), onOneThread());
    CHECK(sequencesOf(trainer)->hasNewTokens() == false);
    const double loss = trainer.evaluate(Split::Validation, 1024).loss;
    CHECK(loss == Approx(lossOf(model, sequencesOf(trainer)->instance(), Split::Validation)).epsilon(1e-4));
    CHECK(loss < std::log(sequencesOf(trainer)->config().tokens.vocabulary) - 1); // a new model is at the logarithm
    for (int i = 0; i < 20; ++i) trainer.step();
    CHECK(trainer.evaluate(Split::Validation, 1024).loss < loss - 1);
}

TEST_CASE("training from a model: the recipe names the model, its hash and its architecture", "[training][gpu]") {
    Start start;
    const Recipe recipe = Trainer(start.recipe(), onOneThread()).recipe();
    CHECK(recipe.start.hash.size() == 64);
    CHECK(recipe.architecture.family == "llama");
    CHECK(recipe.architecture.layers == 5);
    CHECK(recipe.architecture.heads == 8);
    CHECK(recipe.architecture.keyValueHeads == 4);
    CHECK(recipe.architecture.width == 128);
    startRun(start.folder() / "run", recipe);
    CHECK(readRecipe(start.folder() / "run/recipe.json") == recipe);
    CHECK(trainingSummary((start.folder() / "run").string()) == "from builtin:stories, task text");
}

TEST_CASE("training from a model: only the named parameters change", "[training][gpu]") {
    Start start("builtin:reverse");
    start.recipe() = suggestedRecipe(taskNamed("reverse"), "builtin:reverse");
    start.recipe().batch = 4;
    Trainer two(start.with({.trained = "blocks.1.*, ln_final.w"}), onOneThread());
    const auto changed = changedBy(two, 2);
    CHECK(changed.contains("blocks.1.attn.W_Q"));
    CHECK(changed.contains("ln_final.w"));
    for (const std::string& name : changed) CHECK((name.starts_with("blocks.1.") || name == "ln_final.w"));
    for (const auto& [name, values] : parametersOf(two)) CHECK(two.isFrozen(name) == !changed.contains(name));
    Trainer norms(start.with({.trained = "norms and readout"}), onOneThread());
    const auto few = changedBy(norms, 2);
    CHECK(few.contains("blocks.0.ln1.w"));
    CHECK(few.contains("embed.W_E")); // the readout too
    CHECK_FALSE(few.contains("pos_embed.W_pos"));
    for (const std::string& name : few) CHECK((name.find("ln") != std::string::npos || name == "embed.W_E"));
    CHECK(norms.parameterCount() < Trainer(start.recipe(), onOneThread()).parameterCount());
    CHECK_THAT(sentenceOf([&] { Trainer(start.with({.trained = "blocks.9.*"}), onOneThread()); }),
               CONTAINS("no parameter matches \"blocks.9.*\"") && CONTAINS("blocks.*.attn.W_Q"));
    CHECK_THAT(sentenceOf([&] { Trainer(start.with({.trained = " , "}), onOneThread()); }),
               CONTAINS("names no parameters"));
}

TEST_CASE("training: each layer below the last learns at a smaller rate", "[training][gpu]") {
    Recipe recipe = suggestedRecipe(taskNamed("reverse"));
    recipe.architecture = {.layers = 3, .heads = 2, .width = 16, .initialDeviation = 0.1};
    recipe.batch = 4;
    recipe.optimiser = {.kind = Optimiser::Kind::Sgd, .momentum = 0, .decay = 0, .clip = 0};
    recipe.schedule = {.kind = Schedule::Kind::Constant, .rate = 0.5, .warmUp = 0, .steps = 10};
    Trainer whole(recipe, onOneThread());
    recipe.start.layerDecay = 0.25;
    Trainer decayed(recipe, onOneThread());
    const auto before = parametersOf(whole);
    REQUIRE(before == parametersOf(decayed));
    whole.step();
    decayed.step();
    const auto full = parametersOf(whole), small = parametersOf(decayed);
    const int64_t layers = std::ssize(whole.objective().structure().sites);
    const auto factorOf = [&](const std::string& name) {
        if (name.starts_with("blocks.")) return std::pow(0.25, layers - 1 - std::stoi(name.substr(7)));
        return name.starts_with("ln_final") || name.starts_with("unembed") ? 1 : std::pow(0.25, layers);
    };
    double worst = 0, largest = 0;
    for (const auto& [name, values] : before)
        for (size_t i = 0; i < values.size(); ++i) {
            const double step = static_cast<double>(full.at(name)[i]) - static_cast<double>(values[i]);
            const double expected = static_cast<double>(values[i]) + step * factorOf(name);
            worst = std::max(worst, std::abs(static_cast<double>(small.at(name)[i]) - expected));
            largest = std::max(largest, std::abs(step));
        }
    CHECK(largest > 1e-3);
    CHECK(worst < 3e-7); // the rounding of parameters to 24 bits
    CHECK(full.at("ln_final.w") == small.at("ln_final.w"));
    CHECK(full.at("embed.W_E") != small.at("embed.W_E"));
}

TEST_CASE("training from a model: a resumed run equals an unbroken one, and a changed model is refused",
          "[training][gpu]") {
    Start start;
    const std::filesystem::path model = start.folder() / "model";
    std::filesystem::copy(ATTN_SOURCE_DIR "/assets/models/stories", model);
    start.recipe().start = {.model = model.string(), .trained = "norms and readout", .layerDecay = 0.5};
    start.recipe().schedule.steps = 6;
    const auto trained = [&](const std::filesystem::path& folder, int stop) {
        TrainingRun run(folder, start.recipe(), onOneThread(), false);
        while (run.trainer().stepsDone() < stop) run.advance();
        run.save();
        return parametersOf(run.trainer());
    };
    const auto unbroken = trained(start.folder() / "a", 6);
    trained(start.folder() / "b", 3);
    const Recipe kept = readRecipe(start.folder() / "b/recipe.json");
    CHECK(kept.start.hash.size() == 64);
    {
        TrainingRun resumed(start.folder() / "b", kept, onOneThread(), true);
        while (!resumed.isFinished()) resumed.advance();
        CHECK(parametersOf(resumed.trainer()) == unbroken);
    }
    CHECK(trained(start.folder() / "c", 6) == unbroken);
    test::writeFile(model / "config.json", readTextFile(model / "config.json", 10'000) + "\n");
    CHECK_THAT(sentenceOf([&] { TrainingRun(start.folder() / "b", kept, onOneThread(), true); }),
               CONTAINS("is not the model from which the training run started"));
}

TEST_CASE("training from a model: another task gets new rows, and rows of known tokens are copied", "[training][gpu]") {
    Recipe recipe = suggestedRecipe(taskNamed("sort"), "builtin:reverse");
    recipe.batch = 4;
    recipe.settings.values = {{"length", 5}};
    Trainer trainer(recipe, onOneThread());
    const auto source = openModelSource("builtin:reverse");
    CHECK(sequencesOf(trainer)->hasNewTokens());
    CHECK_THAT(trainer.objective().startSentence(), CONTAINS(" parameters are the model's; rows of the ") &&
                                                        CONTAINS(" tokens that the model has: embed.W_E"));
    const Tokenizer &now = sequencesOf(trainer)->instance().tokenizer(), &before = *source->tokenizer();
    const ReadStored stored = [&](const std::string& name, const Shape& shape, const RowWriter& write) {
        source->read(name, shape, write);
    };
    const int64_t width = source->config().modelWidth;
    const auto rows = trainer.read("embed.W_E"),
               old = readDense(stored, "embed.W_E", {source->config().tokens.vocabulary, width});
    CHECK(std::ssize(rows) == now.vocabularySize() * width);
    int copied = 0, fresh = 0;
    for (int id = 0; id < now.vocabularySize(); ++id) {
        const auto was = before.idOf(now.token(id).value());
        const auto row = std::span(rows).subspan(static_cast<size_t>(id * width), static_cast<size_t>(width));
        CHECK(std::ranges::any_of(row, [](float value) { return value != 0; }));
        (was ? copied : fresh) += 1;
        if (was)
            CHECK(std::ranges::equal(
                row, std::span(old).subspan(static_cast<size_t>(*was * width), static_cast<size_t>(width))));
    }
    CHECK(copied > 0);
    CHECK(fresh > 0);
    const auto query = trainer.read("blocks.0.attn.W_Q");
    CHECK(query == readDense(stored, "blocks.0.attn.W_Q", {width, width}));
    Recipe frozen = recipe;
    frozen.start.trained = "norms and readout";
    Trainer few(frozen, onOneThread());
    CHECK(changedBy(few, 1).contains("embed.W_E"));
}

TEST_CASE("training from a model: a model of masked tokens learns another text", "[training][gpu]") {
    Recipe recipe = suggestedRecipe(taskNamed("masked-text"), "builtin:masked");
    recipe.settings.data.text = "builtin:stories";
    recipe.settings.values = {{"context", 32}};
    recipe.batch = 2;
    Trainer trainer(recipe, onOneThread());
    CHECK_FALSE(sequencesOf(trainer)->hasNewTokens());
    CHECK(trainer.evaluate(Split::Validation, 32).loss < 3); // ln(1000) is 6.9
    CHECK(trainer.step().loss < 4);
}

TEST_CASE("training from a model: a model with two stacks learns other languages", "[training][gpu]") {
    Recipe recipe = suggestedRecipe(taskNamed("numbers"), "builtin:numbers-de");
    recipe.batch = 4;
    Trainer same(recipe, onOneThread());
    CHECK_FALSE(sequencesOf(same)->hasNewTokens());
    CHECK(same.recipe().architecture.family == "t5");
    CHECK(same.evaluate(Split::Validation, 32).loss < 0.5); // it knows German numbers
    recipe.settings.data.languages = "en-fr";
    recipe.start.layerDecay = 0.5;
    Trainer french(recipe, onOneThread());
    CHECK(sequencesOf(french)->hasNewTokens());
    const double before = french.evaluate(Split::Validation, 32).loss;
    for (int i = 0; i < 30; ++i) french.step();
    CHECK(french.evaluate(Split::Validation, 32).loss < before);
    const TemporaryFolder folder;
    writeModel(folder.path() / "model", french);
    CHECK(openModelSource((folder.path() / "model").string())->config().readsStream());
}

TEST_CASE("training from a model: a model of pictures learns on, with a new readout for other classes",
          "[training][gpu]") {
    Recipe recipe = suggestedRecipe(taskNamed("shapes"), "builtin:vit-shapes");
    recipe.batch = 4;
    recipe.settings.values = {{"odd", 0}};
    Trainer same(recipe, onOneThread());
    CHECK(same.recipe().architecture.family == "vit");
    CHECK_FALSE(same.objective().isNew("head.W_H"));
    CHECK(same.evaluate(Split::Validation, 64).metric > 0.9);
    same.step();

    // Pictures of the same size with classes of their own, one of which the model knows.
    const TemporaryFolder folder;
    const ImageTaskInstance& shapes = imagesOf(same)->instance();
    const std::vector<std::string> labels{shapes.labels()[2], "other"};
    for (const std::string& label : labels) {
        std::filesystem::create_directories(folder.path() / "pictures" / label);
        for (uint64_t i = 0; i < 12; ++i)
            writePpm(folder.path() / "pictures" / label / (std::to_string(i) + ".ppm"),
                     shapes.example(Split::Train, i).picture);
    }
    recipe = suggestedRecipe(taskNamed("images"), "builtin:vit-shapes");
    recipe.batch = 4;
    recipe.settings.data.pictures = folder.path() / "pictures";
    recipe.settings.values = {{"size", static_cast<double>(shapes.size().height)}};
    Trainer other(recipe, onOneThread());
    CHECK(other.objective().isNew("head.W_H"));
    CHECK(imagesOf(other)->config().classReadout().classes == 2);
    const auto rows = other.read("head.W_H"),
               before =
                   Trainer(suggestedRecipe(taskNamed("shapes"), "builtin:vit-shapes"), onOneThread()).read("head.W_H");
    const size_t width = rows.size() / 2;
    const size_t known = imagesOf(other)->instance().labels()[0] == labels[0] ? 0 : 1;
    const auto row = [&](const std::vector<float>& of, size_t at) {
        return std::vector<float>(of.begin() + static_cast<std::ptrdiff_t>(at * width),
                                  of.begin() + static_cast<std::ptrdiff_t>((at + 1) * width));
    };
    CHECK(row(rows, known) == row(before, 2));
    CHECK(std::isfinite(other.step().loss));
    writeModel(folder.path() / "model", other);
    CHECK(openModelSource((folder.path() / "model").string())->config().classReadout().classes == 2);
}

TEST_CASE("training from a model: the run prepares pictures as the model does", "[training]") {
    const TemporaryFolder folder;
    const fs::path base = folder.path() / "base", run = folder.path() / "run", pictures = folder.path() / "pictures";
    fs::copy(modelFolder("builtin:vit-shapes"), base, fs::copy_options::recursive);
    const int64_t side = openModelSource("builtin:vit-shapes")->config().patches.image.height;
    nlohmann::json file = {{"image_processor_type", "CLIPImageProcessor"},
                           {"size", {{"shortest_edge", side + 4}}},
                           {"do_center_crop", true},
                           {"crop_size", side},
                           {"resample", 3},
                           {"do_rescale", false},
                           {"do_normalize", GENERATE(true, false)}};
    test::writeFile(base / "preprocessor_config.json", file.dump());
    const ImagePreprocessing before = openModelSource(base.string())->preprocessing();
    Image picture{.height = 23, .width = 37};
    for (int i = 0; i < 23 * 37 * 3; ++i) picture.rgb.push_back(static_cast<uint8_t>(i * i % 251));
    for (const char* label : {"a", "b"}) {
        fs::create_directories(pictures / label);
        for (int i = 0; i < 12; ++i) writePpm(pictures / label / (std::to_string(i) + ".ppm"), picture);
    }
    Recipe recipe = suggestedRecipe(taskNamed("images"), base.string());
    recipe.batch = 4;
    recipe.settings.data.pictures = pictures;
    recipe.settings.values = {{"size", static_cast<double>(side)}};
    const Trainer trainer(recipe, onOneThread());
    CHECK(imagesOf(trainer)->instance().example(Split::Validation, 0).picture.rgb == fitted(picture, before).rgb);
    writeModel(run, trainer);
    CHECK(openModelSource(run.string())->preprocessing() == before);
}

TEST_CASE("training from a model: the run reads and writes text as the model does", "[training]") {
    const TemporaryFolder folder;
    const fs::path base = folder.path() / "base", run = folder.path() / "run";
    const auto train = [&](const std::string& model, const char* task, const nlohmann::json& tokens) {
        for (const fs::path& each : {base, run}) fs::remove_all(each);
        fs::copy(modelFolder(model), base, fs::copy_options::recursive);
        test::writeFile(base / "tokenizer_config.json", tokens.dump());
        test::writeFile(base / "generation_config.json", R"({"eos_token_id": [5, 7], "bad_words_ids": [[9, 11]]})");
        std::string text;
        for (int i = 0; i < 60; ++i) text += "There was a Clever girl. She was afraid of the Dark.\n";
        test::writeFile(folder.path() / "text.txt", text);
        Recipe recipe = suggestedRecipe(taskNamed(task), base.string());
        recipe.settings.data.text = folder.path() / "text.txt";
        recipe.settings.data.tokens = kModelTokens;
        recipe.settings.values["context"] = 16;
        recipe.batch = 2;
        const Trainer trainer(recipe, onOneThread());
        writeModel(run, trainer);
        const auto now = openModelSource(run.string()), then = openModelSource(base.string());
        for (const char* said : {"There was a Clever girl", "fine", "a b", "the <unk> girl", ""}) {
            CAPTURE(model, said);
            const Encoding right = then->tokenizer()->encode(said);
            CHECK(now->tokenizer()->encode(said) == right);
            CHECK(sequencesOf(trainer)->instance().tokenizer().encode(said) == right); // it learns what it reads
        }
        CHECK(then->tokenizer()->encode("There") != openModelSource(model)->tokenizer()->encode("There"));
        CHECK(now->tokenizer()->endId() == then->tokenizer()->endId());
        CHECK(now->stopTokens() == std::vector<int>{5, 7});
        CHECK(now->generation().barred == std::vector<std::vector<int>>{{9, 11}});
    };
    train("builtin:stories", "text",
          {{"tokenizer_class", "LlamaTokenizer"},
           {"add_prefix_space", false},
           {"add_bos_token", true},
           {"bos_token", "<|endoftext|>"},
           {"add_eos_token", true},
           {"eos_token", "<unk>"}});
    train("builtin:masked", "masked-text", {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", false}});
}

TEST_CASE("training from a model: the share of a text that its tokens cannot write is said", "[training]") {
    const TemporaryFolder folder;
    const auto warning = [&](const std::string& text, const std::string& tokens = kModelTokens) {
        test::writeFile(folder.path() / "text.txt", text);
        Recipe recipe = suggestedRecipe(taskNamed("text"), "builtin:stories");
        recipe.settings.data.text = folder.path() / "text.txt";
        recipe.settings.data.tokens = tokens;
        return unknownWarning(recipe);
    };
    CHECK(warning(kLine).empty());
    CHECK_THAT(warning("there was жжжж\n"), CONTAINS("cannot write 33 % of the characters")); // 4 of 12
    CHECK(warning("there was жжжж\n", "chars").empty());
    Recipe pairs = suggestedRecipe(taskNamed("translation"), "");
    pairs.settings.data.text = folder.path() / "pairs.tsv";
    test::writeFile(folder.path() / "pairs.tsv", "a\tb\tCC-BY\nc\td\ne\tf\tCC-BY\tx\n");
    CHECK(dataWarning(pairs) ==
          "2 of 3 lines have more than 2 fields with tabs between them: training does not read the others.");
    test::writeFile(folder.path() / "lacking.tsv", "a\tb\n\nc\t \n\td\n");
    pairs.settings.data.text = folder.path() / "lacking.tsv";
    CHECK(dataWarning(pairs) ==
          "2 of 4 lines have an empty field, the first of them line 3 of \"lacking.tsv\": training leaves them out.");
    test::writeFile(folder.path() / "text.en", "a\n\n\nc\n \n");
    test::writeFile(folder.path() / "text.de", "b\n\nd\n\nf\n");
    pairs.settings.data.text = folder.path() / "text.en";
    pairs.settings.data.translation = folder.path() / "text.de";
    CHECK(dataWarning(pairs) ==
          "3 of 5 lines have an empty field, the first of them line 3 of \"text.en\": training leaves them out.");
    std::swap(pairs.settings.data.text, pairs.settings.data.translation);
    CHECK_THAT(dataWarning(pairs), CONTAINS("the first of them line 3 of \"text.en\""));
    Recipe tasks = suggestedRecipe(taskNamed("text-to-text"), "");
    tasks.settings.data.text = folder.path() / "pairs.tsv";
    CHECK(dataWarning(tasks) ==
          "1 of 3 lines have more than 3 fields with tabs between them: training does not read the others.");
    Recipe pictures = suggestedRecipe(taskNamed("images"), "");
    pictures.settings.data.pictures = folder.path() / "data";
    fs::create_directories(folder.path() / "data" / "a");
    const std::string head("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08", 25), grey(1, '\0'), clear(1, '\4'),
        rest(7, '\0'),
        animated("\0\0\0\x08"
                 "acTL\0\0\0\2\0\0\0\0crc-"
                 "\0\0\0\0"
                 "fcTLcrc-",
                 32),
        pixels("\0\0\0\0IDAT", 8);
    test::writeFile(folder.path() / "data" / "a" / "1.png", head + grey + rest + pixels);
    CHECK(dataWarning(pictures).empty());
    test::writeFile(folder.path() / "data" / "a" / "2.png", head + clear + rest + animated + pixels);
    CHECK(dataWarning(pictures) ==
          "1 of 2 files are animations: training reads the first picture of each. 1 of 2 files "
          "may have transparent pixels: training reads the colours that they store.");
    pictures.settings.data.pictures = folder.path() / "cifar";
    fs::create_directories(folder.path() / "cifar" / "cifar-10-batches-bin");
    for (const char* each : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_4.bin", "test_batch.bin"})
        test::writeFile(folder.path() / "cifar" / "cifar-10-batches-bin" / each, "x");
    CHECK(dataWarning(pictures) ==
          "Of the 5 batches of CIFAR-10, these are missing, and training does without them: data_batch_3.bin, "
          "data_batch_5.bin.");
    CHECK(unknownShare("a b", Tokenizer::characters({"a", "?"}, "?")) == 0.5);
}

TEST_CASE("training from a model: one whose tokenizer cannot be read is refused", "[training]") {
    const TemporaryFolder folder;
    fs::copy(fs::path(ATTN_TEST_DIR) / "golden" / "llama", folder.path() / "model");
    test::writeFile(folder.path() / "model" / "tokenizer.json", R"({"model": {"type": "Chars"}})");
    test::writeFile(folder.path() / "text.txt", std::string(2000, 'a'));
    Recipe recipe = suggestedRecipe(taskNamed("text"), (folder.path() / "model").string());
    recipe.settings.data.text = folder.path() / "text.txt";
    recipe.settings.data.tokens = kModelTokens;
    CHECK_THAT(sentenceOf([&] { Trainer(recipe, onOneThread()); }),
               CONTAINS("training writes tokens, but ") && CONTAINS("choose a model whose tokenizer"));
}

TEST_CASE("training from a model: what cannot be trained further is refused in a sentence", "[training]") {
    Start start;
    const auto sentence = [&](const std::string& task, const std::string& model, double context = 0) {
        return sentenceOf([&] {
            Recipe recipe = suggestedRecipe(taskNamed(task), model);
            recipe.settings.data.text = start.recipe().settings.data.text;
            if (context > 0) recipe.settings.values["context"] = context;
            Trainer(recipe, onOneThread());
        });
    };
    CHECK_THAT(sentence("shapes", "builtin:vit-fashion"), CONTAINS("reads pictures of 28 x 28 pixels of 1 channel"));
    CHECK_THAT(sentence("shapes", "builtin:stories"), CONTAINS("a model of text cannot learn from pictures"));
    CHECK_THAT(sentence("text", "builtin:vit-shapes", 24), CONTAINS("a model of pictures cannot learn from text"));
    CHECK_THAT(sentence("sort", "builtin:numbers-de"), CONTAINS("cannot learn the task sort"));
    CHECK_THAT(sentence("numbers", "builtin:sort"), CONTAINS("choose a model with an encoder and a decoder"));
    CHECK_THAT(sentence("text", "builtin:masked", 24), CONTAINS("masked cannot learn the task text"));
    CHECK_THAT(sentence("masked-text", "builtin:stories", 16), CONTAINS("has no token that stands for a hidden word"));
    CHECK_THAT(sentence("sort", "builtin:masked"), CONTAINS("masked cannot learn the task sort"));
    CHECK(sentence("text", "builtin:stories", 168) == "accepted"); // its positions are rotations, which have no end
    CHECK_THAT(sentence("text", "builtin:induction", 24), CONTAINS("cannot write models of the family"));
    start.recipe().start = {};
    CHECK_THAT(sentenceOf([&] { Trainer(start.recipe(), onOneThread()); }),
               CONTAINS("there is no model whose tokens the text can have"));
}
