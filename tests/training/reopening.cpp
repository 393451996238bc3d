#include "engine/attention/catalogue.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/tree_inputs.h"
#include "engine/models/vision_grid.h"
#include "engine/session/session.h"
#include "engine/training/answers.h"
#include "engine/training/attention_recipe.h"
#include "engine/training/checkpoint.h"
#include "engine/training/run.h"
#include "engine/training/starting_model.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/image_task.h"
#include "tests/io/files.h"
#include "tests/session/session_test.h"
#include "tests/training/short_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <set>

// Whatever trains for a step opens again, in every way in which the programs open a model, with the same numbers.

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

namespace {

/// A kind of model that composed attention can be trained in.
struct Kind {
    const char* name;
    Recipe recipe;
    const char* mask = ""; ///< what a mask's term is added to
};

/// A text of short lines, a blank line after every third.
fs::path writtenText(const TemporaryFolder& folder) {
    std::string text;
    for (int i = 0; i < 120; ++i)
        text += fmt::format("the {} fox of house {} saw a {} dog{}\n", i % 3 == 0 ? "quick" : "old", i % 11,
                            i % 2 == 0 ? "red" : "blue", i % 3 == 2 ? "\n" : "");
    writeFile(folder / "text.txt", text);
    return folder / "text.txt";
}

fs::path writtenLabels(const TemporaryFolder& folder) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += fmt::format("{}\tthe number {}\n", i % 2 == 0 ? "even" : "odd", i);
    writeFile(folder / "labels.tsv", text);
    return folder / "labels.tsv";
}

/// IDX files of pictures of 8 x 8: small ones, as drawing takes longer than training.
fs::path writtenPictures(const TemporaryFolder& folder) {
    const auto bigEndian = [](uint32_t value) {
        std::string bytes;
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
        return bytes;
    };
    for (const char* part : {"train", "t10k"}) {
        constexpr uint32_t kCount = 60;
        std::string images = std::string("\x00\x00\x08\x03", 4) + bigEndian(kCount) + bigEndian(8) + bigEndian(8),
                    labels = std::string("\x00\x00\x08\x01", 4) + bigEndian(kCount);
        for (uint32_t i = 0; i < kCount; ++i) {
            for (uint32_t pixel = 0; pixel < 64; ++pixel)
                images += static_cast<char>((i * i * 31 + pixel * (i + 7)) % 251);
            labels += static_cast<char>(i % 4);
        }
        writeFile(folder / (std::string(part) + "-images-idx3-ubyte"), images);
        writeFile(folder / (std::string(part) + "-labels-idx1-ubyte"), labels);
    }
    return folder.path();
}

Recipe small(std::string task, Architecture architecture) {
    architecture.heads = 2;
    architecture.width = 16;
    architecture.initialDeviation = 0.2;
    return {.task = std::move(task),
            .architecture = std::move(architecture),
            .schedule = {.rate = 1e-2, .finalRate = 1e-2, .warmUp = 0, .steps = 1000},
            .batch = 2,
            .evaluateEvery = 1'000'000,
            .checkpointEvery = 1'000'000};
}

std::vector<Kind> kinds(const TemporaryFolder& folder) {
    std::vector<Kind> all{
        {"gpt2", small("copy", {.family = "gpt2", .layers = 1}), "causal"},
        {"llama", small("reverse", {.family = "llama", .layers = 2}), "causal"},
        {"prefix", small("prefix-lm", {.family = "gpt2", .layers = 1}), "causal"},
        {"pixels", small("pixels", {.family = "gpt2", .layers = 2}), "causal"},
        {"bert", small("masked-text", {.family = "bert", .layers = 1, .activation = "gelu"})},
        {"classes", small("classify", {.family = "bert", .layers = 2, .activation = "gelu"})},
        {"labels of a decoder", small("classify", {.family = "gpt2", .layers = 1}), "causal"},
        {"vit", small("images", {.family = "vit", .layers = 1, .patch = 2})},
        {"vit, mean", small("images", {.family = "vit", .layers = 2, .patch = 2, .pooling = "mean"})},
        {"swin",
         small("images", {.family = "vit", .layers = 2, .patch = 1, .pooling = "mean", .window = 4, .merges = 1})}};
    for (Kind& kind : all) {
        Recipe& recipe = kind.recipe;
        const Task& task = taskNamed(recipe.task);
        if (task.hasImages()) recipe.settings.data.pictures = writtenPictures(folder);
        if (task.readsText)
            recipe.settings.data.text = recipe.task == "classify" ? writtenLabels(folder) : writtenText(folder);
        const auto set = [&](const char* id, double value) {
            if (std::ranges::find(task.params, id, &Param::id) != task.params.end()) recipe.settings.values[id] = value;
        };
        set("context", 24);
        set("vocabulary", 80);
        if (recipe.task == "copy" || recipe.task == "reverse") set("length", 3);
        if (recipe.task == "pixels") set("size", 4);
    }
    return all;
}

/// A part with values of its own, as a composition says it.
struct Variant {
    const Part* part;
    std::vector<double> values;
    bool isFirst; ///< those to begin with
};

/// Every part with the values to begin with, and with each of its switches the other way and each number that is 0 for
/// "none" at another.
std::vector<Variant> variants() {
    std::vector<Variant> all;
    for (const Part* part : partCatalogue()) {
        std::vector<double> values = initialValues(*part);
        if (part->slot == Slot::Heads) values.assign(values.empty() ? 0 : 1, 2);
        if (part->slot == Slot::Heads && part->id == "grouped_query") values = {2, 1};
        all.push_back({part, values, true});
        if (part->slot == Slot::Heads) continue;
        for (size_t at = 0; at < part->params.size() && at < values.size() && !part->takesList; ++at) {
            const Param& param = part->params[at];
            std::vector<double> other = values;
            if (param.kind == Param::Kind::Toggle)
                other[at] = 1 - other[at];
            else if (param.kind == Param::Kind::Integer && param.minimum < 0)
                other[at] = param.minimum;
            else if (param.kind == Param::Kind::Integer && param.initial == 0 && param.id != "seed")
                other[at] = std::min(2.0, param.maximum);
            else
                continue;
            all.push_back({part, other, false});
        }
    }
    return all;
}

/// The attention of a kind of model with a part in it; empty if the kind refuses the part.
std::string attentionWith(const Variant& variant, const Kind& kind) {
    const Part& part = *variant.part;
    Architecture model = kind.recipe.architecture;
    AttentionSpec spec;
    const std::string term = part.slot == Slot::Mask ? termText(part, variant.values) : "";
    spec.mask = MaskExpression::parse(*kind.mask == 0 ? (term.empty() ? "full" : term)
                                                      : kind.mask + (term.empty() ? "" : " & " + term));
    if (part.slot != Slot::Mask) spec.set(part.slot, part.id, variant.values);
    if (part.slot != Slot::Heads) spec.set(Slot::Heads, "multi_head", std::array{2.0});
    if (model.family == "vit") {
        const int64_t side = model.window > 0 ? model.window : 8 / model.patch;
        setGrid(spec, {side, side});
    } else if (kind.recipe.task == "pixels") {
        const WrittenPicture picture = *makeTask(taskNamed("pixels"), kind.recipe.settings)->picture();
        setGrid(spec, {picture.rows, picture.columns * picture.channels}, WrittenPicture::kLeading, blockOf(picture));
    }
    model.attention = spec.text();
    for (int round = 0; round < 8; ++round) {
        const auto problem = attentionProblem(model);
        if (!problem) break;
        if (problem->nearest.empty()) return {};
        model.attention = problem->nearest;
    }
    const AttentionSpec found = AttentionSpec::parse(model.attention);
    const bool isKept = part.slot == Slot::Mask ? model.attention.find(part.id) != std::string::npos
                        : std::ranges::find(kSpecSlots, part.slot) != kSpecSlots.end()
                            ? found.id(part.slot) == part.id
                            : found.blockPart(part.slot) == &part;
    return isKept ? model.attention : std::string();
}

/// The model of a trainer as a source that no file has passed.
std::unique_ptr<LanguageModel> inMemory(const Trainer& trainer) {
    return std::make_unique<LanguageModel>(makeMemorySource(weightsOf(trainer, trainer.objective().describe())),
                                           LanguageModel::Options{.device = onOneThread()});
}

void requireSameParameters(const Trainer& found, const Trainer& expected) {
    REQUIRE(found.parameters().size() == expected.parameters().size());
    for (const Trainer::Named& parameter : expected.parameters()) {
        INFO(parameter.name);
        REQUIRE(found.read(parameter.name) == expected.read(parameter.name));
    }
}

void requireSame(const std::vector<float>& found, const std::vector<float>& expected) {
    REQUIRE_FALSE(expected.empty());
    REQUIRE(std::ranges::all_of(expected, [](float logit) { return std::isfinite(logit); }));
    REQUIRE(found == expected);
}

/// Opens a folder as `generate`, `classify` and the window do, and compares the logits.
void requireSameText(Session& window, const Trainer& trainer, const fs::path& folder) {
    const GivenText example = exampleInput(trainer);
    TextInput input{.tokens = example.tokens, .parents = example.parents};
    if (trainer.task().hasSource)
        input = {.tokens = {static_cast<int>(sequencesOf(trainer)->config().startToken)}, .source = example.tokens};
    const bool hasTree = treeSpec(sequencesOf(trainer)->config()) != nullptr;
    if (hasTree && input.parents.empty()) { // each word depends on the one before
        input.parents.resize(input.tokens.size());
        std::iota(input.parents.begin(), input.parents.end(), 0);
    }
    const auto before = inMemory(trainer);
    LanguageModel opened(openModelSource(folder.string()), {.device = onOneThread()});
    const auto logitsOf = [&](LanguageModel& model) {
        std::vector<float> logits = model.predict(input);
        if (const auto classes = model.classes())
            logits.insert(logits.end(), classes->logits.begin(), classes->logits.end());
        return logits;
    };
    requireSame(logitsOf(opened), logitsOf(*before));
    if (hasTree && example.parents.empty()) { // the example may be shorter than the tree of the composition
        REQUIRE(after(window, OpenModelCommand{.path = folder.string()})->modelPath == folder.string());
        return;
    }
    const auto shown = succeed(window, OpenModelCommand{.path = folder.string()});
    REQUIRE(shown->sequence);
    std::vector<int> ids, source;
    for (const TokenInfo& token : shown->sequence->tokens) ids.push_back(token.id);
    for (const TokenInfo& token : shown->sequence->source) source.push_back(token.id);
    if (hasTree || ids.empty() || !shown->next || shown->next->logits.empty()) return; // says classes, compared above
    input = {.tokens = ids, .source = source};
    requireSame(shown->next->logits, before->predict(input));
}

void requireSamePictures(Session& window, const Trainer& trainer, const fs::path& folder) {
    const Image picture = imagesOf(trainer)->instance().example(Split::Validation, 0).picture;
    VisionModel before(makeMemorySource(weightsOf(trainer, trainer.objective().describe())), {.device = onOneThread()}),
        after(openModelSource(folder.string()), {.device = onOneThread()});
    const std::vector<float> expected = before.predict(before.patchesOf(picture));
    requireSame(after.predict(after.patchesOf(picture)), expected);
    const auto shown =
        succeed(window, OpenModelCommand{.path = folder.string(),
                                         .given = {.picture = {.image = std::make_shared<const Image>(picture)}}});
    REQUIRE(shown->answer);
    requireSame(shown->answer->logits, expected);
}

/// A run in a folder, after one step; none if the recipe is refused in a sentence, which other tests read.
std::unique_ptr<TrainingRun> begunRun(const fs::path& path, const Recipe& recipe) {
    try {
        check(recipe);
        return std::make_unique<TrainingRun>(path, recipe, onOneThread(), false);
    } catch (const Error& error) {
        CHECK_FALSE(error.message().empty());
        return nullptr;
    }
}

/// Trains one step, writes the model and opens it in every way. @return false if the recipe is refused
bool reopens(Session& window, const Recipe& recipe) {
    const TemporaryFolder folder;
    const fs::path path = folder / "run";
    const auto run = begunRun(path, recipe);
    if (!run) return false;
    Trainer& trainer = run->trainer();
    run->advance();
    run->save();
    writeModel(path, trainer);

    Trainer again(readRecipe(path / "recipe.json"), onOneThread()); // eval
    loadWeights(again, path);
    requireSameParameters(again, trainer);
    for (const Trainer::Named& parameter : again.parameters())
        again.write(parameter.name, std::vector<float>(static_cast<size_t>(parameter.shape.elements())));
    resume(again, checkpoints(path).back()); // --resume
    requireSameParameters(again, trainer);
    Recipe further = recipe; // --from
    further.start.model = path.string();
    Trainer begun(further, onOneThread());
    requireSameParameters(begun, trainer);

    if (imagesOf(trainer))
        requireSamePictures(window, trainer, path);
    else
        requireSameText(window, trainer, path);
    REQUIRE(again.step().loss == trainer.step().loss);
    REQUIRE(std::isfinite(begun.step().loss));
    return true;
}

} // namespace

TEST_CASE("reopening: a parameter of three axes is read from a matrix, and from a file that has all axes",
          "[training]") {
    const TemporaryFolder folder;
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), 0.0f);
    const std::vector<WrittenTensor> tensors{{.name = "axes", .shape = {2, 3, 4}, .values = values},
                                             {.name = "matrix", .shape = {6, 4}, .values = values},
                                             {.name = "turned", .shape = {3, 2, 4}, .values = values},
                                             {.name = "flat", .shape = {24}, .values = values}};
    writeSafetensors(folder / "model.safetensors", tensors);
    writeFile(folder / "config.json", "{}");
    const WeightSource source(folder.path());
    const auto read = [&](const char* name) {
        return readDense([&](const std::string& parameter, const Shape& shape,
                             const RowWriter& write) { readRecipe(source, {.source = parameter}, shape, write); },
                         name, {2, 3, 4});
    };
    CHECK(read("axes") == values);
    CHECK(read("matrix") == values);
    CHECK_THAT(sentenceOf([&] { read("turned"); }), CONTAINS("is [3, 2, 4] but the config asks for [6, 4]"));
    CHECK_THAT(sentenceOf([&] { read("flat"); }), CONTAINS("is [24] but the config asks for [6, 4]"));
}

TEST_CASE("reopening: every part in every kind of model opens again with the same numbers", "[training][gpu]") {
    const TemporaryFolder folder;
    Session window(kTestDevice);
    std::map<std::string, int> opened;
    std::set<const Part*> reached;
    const std::vector<Kind> all = kinds(folder);
    for (const Variant& variant : variants()) {
        bool isTrained = false;
        for (const Kind& kind : all) {
            if (isTrained && !variant.isFirst) break; // other values once
            Recipe recipe = kind.recipe;
            recipe.architecture.attention = attentionWith(variant, kind);
            if (recipe.architecture.attention.empty()) continue;
            INFO(kind.name << ": " << recipe.architecture.attention);
            recipe.architecture.heads =
                std::max<int64_t>(headCounts(AttentionSpec::parse(recipe.architecture.attention)).heads, 1);
            if (!reopens(window, recipe)) continue;
            isTrained = true;
            reached.insert(variant.part);
            ++opened[kind.name];
        }
    }
    std::string counts, missing;
    for (const auto& [name, count] : opened) counts += fmt::format("{} {}, ", name, count);
    for (const Part* part : partCatalogue())
        if (!reached.contains(part)) missing += fmt::format("{} {}, ", nameOf(part->slot), part->id);
    INFO(counts << "; never: " << missing);
    CHECK(missing == "residual axial, "); // its layers differ: tests/training/pixels.cpp opens such a model
}

TEST_CASE("reopening: a model of every kind is trained further as it is, and opens again", "[training][gpu]") {
    const TemporaryFolder folder;
    Session window(kTestDevice);
    for (const Kind& kind : kinds(folder)) {
        INFO(kind.name);
        CHECK(reopens(window, kind.recipe));
    }
}

TEST_CASE("reopening: a model of each family that is trained further with another part opens again",
          "[training][gpu]") {
    const TemporaryFolder folder;
    Session window(kTestDevice);
    std::map<std::string, int> opened;
    for (const Kind& kind : kinds(folder)) {
        const std::string name = kind.name;
        if (name != "gpt2" && name != "llama" && name != "bert" && name != "vit") continue;
        const fs::path start = folder / ("start " + name);
        {
            Trainer trainer(kind.recipe, onOneThread());
            trainer.step();
            writeModel(start, trainer);
        }
        for (const Variant& variant : variants()) {
            if (!variant.isFirst || variant.part->slot == Slot::Heads) continue;
            Recipe recipe = kind.recipe;
            recipe.start.model = start.string();
            const std::string values =
                variant.values.empty() ? "" : fmt::format("({})", fmt::join(variant.values, ", "));
            const std::string term = termText(*variant.part, variant.values);
            recipe.architecture = {
                .attention = variant.part->slot == Slot::Mask
                                 ? "mask=" + (*kind.mask == 0 ? term : kind.mask + (" & " + term))
                                 : fmt::format("{}={}{}", nameOf(variant.part->slot), variant.part->id, values)};
            INFO(name << ": " << recipe.architecture.attention);
            if (reopens(window, recipe)) ++opened[name];
        }
    }
    for (const auto& [name, count] : opened) {
        INFO(name);
        CHECK(count > 30);
    }
}
