#include "engine/data/image_data.h"
#include "engine/inference/vision_model.h"
#include "engine/io/decode_image.h"
#include "engine/training/answers.h"
#include "engine/training/checkpoint.h"
#include "engine/training/tasks/image_task.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/training/short_runs.h"
#include "tests/training/tasks_test.h"

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

namespace {

std::unique_ptr<ImageTaskInstance> shapes(std::map<std::string, double, std::less<>> values = {}, uint64_t seed = 0) {
    return makeImageTask(taskNamed("shapes"), {.values = std::move(values), .seed = seed});
}

Recipe smallRecipe() {
    Recipe recipe{.task = "shapes", .batch = 32};
    recipe.settings.values = {{"odd", 1}, {"arrow", 0}, {"clutter", 0}, {"shapes", 1}};
    recipe.architecture = {.family = "vit",
                           .layers = 2,
                           .heads = 2,
                           .width = 32,
                           .activation = "gelu",
                           .patch = 16,
                           .initialDeviation = 0.1};
    recipe.optimiser.beta2 = 0.98;
    recipe.schedule = {.rate = 3e-3, .finalRate = 1e-3, .warmUp = 10, .steps = 100};
    recipe.settings.seed = 0;
    return recipe;
}

std::string bigEndian(uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

/// IDX files of so many pictures of 8 x 8, each of one grey, whose class is the last digit of its number.
void writeIdx(const TemporaryFolder& folder, const std::string& part, uint32_t count) {
    std::string images = std::string("\x00\x00\x08\x03", 4) + bigEndian(count) + bigEndian(8) + bigEndian(8),
                labels = std::string("\x00\x00\x08\x01", 4) + bigEndian(count);
    for (uint32_t i = 0; i < count; ++i) {
        images += std::string(64, static_cast<char>(i));
        labels += static_cast<char>(i % 10);
    }
    writeFile(folder / (part + "-images-idx3-ubyte"), images);
    writeFile(folder / (part + "-labels-idx1-ubyte"), labels);
}

} // namespace

TEST_CASE("images: shuffling reaches every place once, by another way for each key", "[training]") {
    const uint64_t count = GENERATE(as<uint64_t>{}, 1, 2, 3, 7, 64, 1000);
    std::set<uint64_t> places;
    int moved = 0;
    for (uint64_t i = 0; i < count; ++i) {
        places.insert(shuffledIndex(i, count, 5));
        moved += shuffledIndex(i, count, 5) != shuffledIndex(i, count, 6) ? 1 : 0;
    }
    CHECK(places.size() == count);
    CHECK(*places.rbegin() == count - 1);
    if (count >= 64) CHECK(moved > static_cast<int>(count) / 2);
}

TEST_CASE("images: augmentation keeps the size and only does what it was told", "[training]") {
    const Image picture = shapes()->example(Split::Train, 0).picture;
    std::set<std::vector<uint8_t>> seen;
    for (uint64_t i = 0; i < 20; ++i) {
        Draws none(1, i, 0), flip(1, i, 0), shift(1, i, 0), crop(1, i, 0);
        CHECK(augmented(picture, {}, none) == picture);
        const Image flipped = augmented(picture, {.flips = true}, flip);
        seen.insert(flipped.rgb);
        for (int64_t column = 0; column < picture.width; ++column)
            CHECK((flipped.at(9, column, 0) == picture.at(9, column, 0) ||
                   flipped.at(9, column, 0) == picture.at(9, picture.width - 1 - column, 0)));
        CHECK(augmented(picture, {.shift = 3}, shift).size() == picture.size());
        CHECK(augmented(picture, {.crop = 0.5}, crop).size() == picture.size());
    }
    CHECK(seen.size() == 2); // as it is, and mirrored
}

TEST_CASE("images: shapes are repeatable, spread over classes and apart in splits", "[training]") {
    for (const auto& [odd, arrow] : {std::pair{1.0, 0.0}, {0.0, 1.0}, {1.0, 1.0}}) {
        const auto task = shapes({{"odd", odd}, {"arrow", arrow}}), same = shapes({{"odd", odd}, {"arrow", arrow}});
        CHECK(task->labels() == std::vector<std::string>{"circle", "square", "triangle", "cross"});
        CHECK(task->size() == ImageSize{64, 64});
        std::array<int, 4> counts{};
        std::set<std::vector<uint8_t>> pictures;
        for (const Split split : {Split::Train, Split::Validation, Split::Test})
            for (uint64_t i = 0; i < 100; ++i) {
                const LabelledImage example = task->example(split, i);
                CHECK(example == same->example(split, i));
                ++counts.at(static_cast<size_t>(example.label));
                pictures.insert(example.picture.rgb);
            }
        CHECK(pictures.size() == 300);
        for (const int count : counts) CHECK(count > 45);
    }
    CHECK(shapes({}, 1)->example(Split::Train, 0) != shapes({}, 2)->example(Split::Train, 0));
    // Normalised numbers have mean 0 and deviation 1.
    const auto task = shapes();
    double sum = 0, squares = 0, count = 0;
    for (uint64_t i = 0; i < 200; ++i)
        for (const float value : pixelsOf(task->example(Split::Train, i).picture, task->preprocessing())) {
            sum += static_cast<double>(value);
            squares += static_cast<double>(value) * static_cast<double>(value);
            ++count;
        }
    CHECK(sum / count == Approx(0).margin(0.05));
    CHECK(squares / count == Approx(1).margin(0.1));
}

TEST_CASE("images: IDX files become splits", "[training]") {
    const TemporaryFolder folder;
    writeIdx(folder, "train", 60);
    writeIdx(folder, "t10k", 20);
    const ImageData data = readImageData(folder.path(), {});
    CHECK(data.channels == 1);
    CHECK(data.size == ImageSize{8, 8});
    CHECK(data.splits[0].size() == 54);
    CHECK(data.splits[1].size() == 6);
    CHECK(data.splits[2].size() == 20);
    CHECK(data.splits[1].front() == 54);
    CHECK(data.classes[data.splits[2][3]] == 3);
    CHECK(data.picture(7).rgb == std::vector<uint8_t>(192, 7));
    const auto task = makeImageTask(taskNamed("images"), {.data = {.pictures = folder.path()}});
    CHECK(task->channels() == 1);
    CHECK(task->rowCount(Split::Train) == 54u);
    std::set<std::vector<uint8_t>> epoch;
    for (uint64_t n = 54; n < 108; ++n) epoch.insert(task->trainingExample(n).picture.rgb);
    CHECK(epoch.size() == 54);

    const TemporaryFolder other;
    writeIdx(other, "train", 60);
    CHECK_THAT(sentenceOf([&] { readImageData(other.path(), {}); }), CONTAINS("has no file t10k-images"));
    writeIdx(other, "t10k", 20);
    writeFile(other / "t10k-labels-idx1-ubyte", std::string("\x00\x00\x08\x01", 4) + bigEndian(2) + "ab");
    CHECK_THAT(sentenceOf([&] { readImageData(other.path(), {}); }),
               CONTAINS("has labels for 2 pictures but there are 20"));

    const TemporaryFolder few; // a tenth of them is for validation
    writeIdx(few, "train", 5);
    writeIdx(few, "t10k", 20);
    CHECK_THAT(sentenceOf([&] { readImageData(few.path(), {}); }), CONTAINS("leaves a split empty"));
}

TEST_CASE("images: a folder for each class, CIFAR's batches, and what is neither", "[training]") {
    const TemporaryFolder folder;
    for (const char* name : {"cat", "dog"}) {
        fs::create_directories(folder / name);
        for (int i = 0; i < 30; ++i)
            writePpm(folder / (std::string(name) + "/" + std::to_string(i) + ".ppm"),
                     {.height = 4, .width = 6, .rgb = std::vector<uint8_t>(72, *name == 'c' ? 10 : 200)});
    }
    const ImageData data = readImageData(folder.path(), {8, 8});
    CHECK(data.names == std::vector<std::string>{"cat", "dog"});
    CHECK(data.splits[0].size() + data.splits[1].size() + data.splits[2].size() == 60);
    for (size_t i = 0; i < 60; ++i) CHECK(data.picture(i).at(7, 7, 2) == (data.classes[i] == 0 ? 10 : 200));
    writeFile(folder / "cat/broken.png", "no picture");
    CHECK_THAT(sentenceOf([&] { readImageData(folder.path(), {8, 8}); }), CONTAINS("broken.png"));

    const TemporaryFolder cifar;
    std::string records;
    for (int i = 0; i < 20; ++i)
        records += static_cast<char>(i % 10) + std::string(1024, '\x01') + std::string(1024, '\x02') +
                   std::string(1024, '\x03');
    writeFile(cifar / "data_batch_1.bin", records);
    CHECK_THAT(sentenceOf([&] { readImageData(cifar.path(), {}); }), CONTAINS("test_batch.bin"));
    writeFile(cifar / "test_batch.bin", records);
    const ImageData pictures = readImageData(cifar.path(), {});
    CHECK(pictures.names.at(8) == "ship");
    CHECK(pictures.picture(5).at(31, 31, 0) == 1);
    CHECK(pictures.picture(5).at(31, 31, 2) == 3);
    CHECK(pictures.splits[2].size() == 20);
    writeFile(cifar / "test_batch.bin", records.substr(1));
    CHECK_THAT(sentenceOf([&] { readImageData(cifar.path(), {}); }), CONTAINS("whole records of 3073"));
    writeFile(cifar / "data_batch_1.bin", records.substr(0, 5 * 3073));
    writeFile(cifar / "test_batch.bin", records);
    CHECK_THAT(sentenceOf([&] { readImageData(cifar.path(), {}); }), CONTAINS("leaves a split empty"));

    const TemporaryFolder empty;
    CHECK_THAT(sentenceOf([&] { readImageData(empty.path(), {8, 8}); }), CONTAINS("no training pictures"));
    CHECK_THAT(sentenceOf([&] { readImageData(empty / "nothing", {8, 8}); }), CONTAINS("no such folder"));
    CHECK_THAT(sentenceOf([&] { makeImageTask(taskNamed("images")); }), CONTAINS("no folder of pictures is given"));
}

TEST_CASE("images: training repeats to the bit, and continues from a checkpoint", "[training][gpu]") {
    const char* pooling = GENERATE("cls", "mean");
    Recipe recipe = smallRecipe();
    recipe.architecture.pooling = pooling;
    recipe.dropout = 0.1;
    Trainer a(recipe, onOneThread()), b(recipe, onOneThread());
    const auto steps = [](Trainer& trainer, int count) {
        std::vector<double> losses;
        for (int i = 0; i < count; ++i) losses.push_back(trainer.step().loss);
        return losses;
    };
    const std::vector<double> first = steps(a, 5);
    CHECK(first == steps(b, 5));
    const TemporaryFolder folder;
    startRun(folder.path(), recipe);
    saveCheckpoint(folder.path(), a);
    Trainer resumed(readRecipe(folder.path() / "recipe.json"), onOneThread());
    resume(resumed, checkpoints(folder.path()).back());
    b.evaluate(Split::Validation, 64); // changes nothing
    const std::vector<double> on = steps(a, 5);
    CHECK(on == steps(resumed, 5));
    CHECK(on == steps(b, 5));
}

TEST_CASE("images: training lowers the loss", "[training][gpu]") {
    Trainer trainer(smallRecipe(), onOneThread());
    std::vector<double> losses;
    for (int i = 0; i < 100; ++i) losses.push_back(trainer.step().loss);
    const auto mean = [](const auto begin, const auto end) { return std::accumulate(begin, end, 0.0) / 10; };
    CHECK(mean(losses.end() - 10, losses.end()) < mean(losses.begin(), losses.begin() + 10) - 0.5);
}

TEST_CASE("images: a checkpoint opens as a vision model that sees what the trainer sees", "[training][gpu]") {
    struct Case {
        const char *pooling, *positions, *attention, *family;
        int64_t window = 0, merges = 0, pooled = 0;
    };
    for (const Case& each : {Case{"cls", "learned", "", "vit"}, Case{"mean", "sinusoidal", "", "attention-lab-vit"},
                             Case{"mean", "none", "mask=axial(4, 4)", "attention-lab-vit"},
                             Case{"cls", "learned", "normaliser=linear", "attention-lab-vit"},
                             Case{"mean", "none", "", "attention-lab-vit", 2, 1},
                             Case{"mean", "learned", "heads=grouped_query(2, 1)", "attention-lab-vit", 3, 0},
                             Case{"cls", "learned", "", "attention-lab-vit", 0, 0, 6},
                             Case{"mean", "learned", "", "attention-lab-vit", 0, 0, 15}, // as many rows with padding
                             Case{"mean", "learned", "normaliser=linear", "attention-lab-vit", 0, 0, 3}}) {
        CAPTURE(std::string(each.attention), std::string(each.pooling), each.window, each.merges, each.pooled);
        Recipe recipe = smallRecipe();
        recipe.architecture.pooling = each.pooling;
        recipe.architecture.positions = each.positions;
        recipe.architecture.attention = each.attention;
        recipe.architecture.window = each.window;
        recipe.architecture.merges = each.merges;
        recipe.architecture.pooledTokens = each.pooled;
        Trainer trainer(recipe, onOneThread());
        for (int i = 0; i < 3; ++i) trainer.step();
        const TemporaryFolder folder;
        const fs::path checkpoint = saveCheckpoint(folder.path(), trainer);
        CHECK(axisOfModel(checkpoint.string()) == AxisKind::Patches);
        CHECK(axisOfModel(folder.path().string()) == AxisKind::Patches); // a run that continues
        VisionModel model(openModelSource(checkpoint.string()), {.device = {.softwareThreads = 0, .validation = true}});
        CHECK(model.info().family == each.family);
        CHECK(model.info().warnings.empty());
        CHECK(model.info().labels == imagesOf(trainer)->instance().labels());
        for (const ImagePrediction& prediction : predictionsOf(trainer, Split::Validation, 0, 3)) {
            const auto seen = probabilitiesOf(model.predict(model.patchesOf(prediction.example.picture)));
            REQUIRE(seen.size() == prediction.said.size());
            for (size_t i = 0; i < seen.size(); ++i)
                CHECK(static_cast<double>(seen[i]) == Approx(static_cast<double>(prediction.said[i])).margin(1e-5));
        }
        CHECK(fs::exists(checkpoint / "examples"));
    }
}

TEST_CASE("images: a grid begins after CLS, and a position part replaces the model's own", "[training][gpu]") {
    Recipe recipe = smallRecipe();
    recipe.architecture.attention = "mask=axial(4, 4)";
    REQUIRE(recipe.architecture.pooling == "cls");
    const auto config = [&] {
        return visionOf(recipe.architecture, *makeImageTask(taskNamed(recipe.task), recipe.settings));
    };
    CHECK(config().layers.front().spec.mask.text() == "axial(4, 4, 1)");
    CHECK(config().positions == Positions::Learned);
    for (const char* attention : {"position=none", "position=alibi", "position=learned_2d(4, 4)"}) {
        recipe.architecture.attention = attention;
        CHECK(config().positions == Positions::None);
    }
    CHECK(config().layers.front().spec.values(Slot::Position).integer("leading") == 1);
    recipe.architecture.attention = "mask=axial(2, 8)";
    CHECK_THROWS_WITH(config(), CONTAINS("layer 0 has a grid of 4 rows and 4 columns"));
    recipe.architecture.attention = "mask=axial(4, 4)";
    recipe.architecture.pooledTokens = 6;
    CHECK_THROWS_WITH(config(), CONTAINS("pooled tokens have none"));

    recipe.architecture.pooledTokens = 0;
    Trainer trainer(recipe, onOneThread());
    const TemporaryFolder folder;
    VisionModel model(openModelSource(saveCheckpoint(folder.path(), trainer).string()),
                      {.device = {.softwareThreads = 0}});
    const Image picture = predictionsOf(trainer, Split::Validation, 0, 1).front().example.picture;
    const auto hooks = model.capture(model.patchesOf(picture), "blocks.0.attn.hook_pattern");
    REQUIRE(hooks.size() == 1);
    const auto sees = [&](int64_t query, int64_t key) {
        return hooks.front().values[static_cast<size_t>(query * 17 + key)] > 0;
    };
    for (int64_t token = 0; token < 17; ++token) CHECK((sees(0, token) && sees(token, 0))); // CLS
    for (int64_t i = 0; i < 16; ++i)
        for (int64_t j = 0; j < 16; ++j) CHECK(sees(1 + i, 1 + j) == (i / 4 == j / 4 || i % 4 == j % 4));
}

TEST_CASE("images: evaluation counts what is taken for what", "[training][gpu]") {
    Trainer trainer(smallRecipe(), onOneThread());
    const Evaluation evaluation = trainer.evaluate(Split::Validation, 100);
    CHECK(evaluation.examples == 100);
    REQUIRE(evaluation.confusion.size() == 16);
    CHECK(std::accumulate(evaluation.confusion.begin(), evaluation.confusion.end(), int64_t{0}) == 100);
    int64_t diagonal = 0;
    for (size_t label = 0; label < 4; ++label) diagonal += evaluation.confusion[5 * label];
    CHECK(static_cast<double>(diagonal) / 100 == Approx(evaluation.metric).margin(1e-9));
    int right = 0;
    for (const ImagePrediction& prediction : predictionsOf(trainer, Split::Validation, 0, 100)) {
        const auto best = std::ranges::max_element(prediction.said) - prediction.said.begin();
        right += best == prediction.example.label ? 1 : 0;
        CHECK(std::accumulate(prediction.said.begin(), prediction.said.end(), 0.0) == Approx(1).margin(1e-5));
    }
    CHECK(right == static_cast<int>(std::lround(evaluation.metric * 100)));
}

TEST_CASE("images: recipes that cannot work say why", "[training]") {
    const auto problemOf = [](const auto& change) {
        Recipe recipe = smallRecipe();
        change(recipe);
        return sentenceOf([&] { Trainer(recipe, onOneThread()); });
    };
    CHECK_THAT(problemOf([](Recipe& r) { r.architecture.family = "gpt2"; }), CONTAINS("choose vit"));
    CHECK_THAT(problemOf([](Recipe& r) { r.task = "sort"; }), CONTAINS("choose gpt2 or llama"));
    CHECK_THAT(problemOf([](Recipe& r) { r.architecture.patch = 10; }), CONTAINS("do not divide"));
    CHECK_THAT(problemOf([](Recipe& r) { r.architecture.pooling = "sum"; }), CONTAINS("cls, mean"));
    CHECK_THAT(problemOf([](Recipe& r) { r.settings.values["odd"] = 0; }), CONTAINS("both questions are off"));
    CHECK_THAT(problemOf([](Recipe& r) { r.architecture.positions = "rotary"; }), CONTAINS("learned, sinusoidal"));
}
