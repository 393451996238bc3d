#include "engine/training/recipe.h"

#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/core/globs.h"
#include "engine/io/json_file.h"
#include "engine/models/decoder.h"
#include "engine/training/initial_weights.h"
#include "engine/training/precision.h"
#include "engine/training/segment_problem.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

namespace attn {
namespace {

template <typename Kind> using Names = std::vector<std::pair<std::string_view, Kind>>;
const Names<Schedule::Kind> kSchedules{{"constant", Schedule::Kind::Constant},
                                       {"inverse-square-root", Schedule::Kind::InverseSquareRoot},
                                       {"cosine", Schedule::Kind::Cosine},
                                       {"linear", Schedule::Kind::Linear}};
const Names<Optimiser::Kind> kOptimisers{
    {"sgd", Optimiser::Kind::Sgd}, {"adam", Optimiser::Kind::Adam}, {"adamw", Optimiser::Kind::AdamW}};
const Names<Activation> kActivations{
    {"gelu_new", Activation::GeluTanh}, {"gelu", Activation::GeluErf}, {"relu", Activation::Relu}};

using Families = std::vector<std::string_view>;
const Families kWithEncoder{"t5", "bart", "marian"};
/// The families that can learn each kind of task.
const struct {
    Families families;
    bool (*learn)(const Task& task);
} kFamilies[] = {{{"vit"}, [](const Task& task) { return task.hasImages(); }},
                 {{"xlnet"}, [](const Task& task) { return task.permutes; }},
                 {{"bert", "gpt2", "llama"}, [](const Task& task) { return task.readout == TextReadout::TextClass; }},
                 {{"bert"}, [](const Task& task) { return task.readout != TextReadout::NextToken; }},
                 {kWithEncoder, [](const Task& task) { return task.hasSource; }},
                 {{"gpt2", "llama"}, [](const Task&) { return true; }}};

bool isOneOf(std::string_view family, const Families& families) {
    return std::ranges::find(families, family) != families.end();
}

[[noreturn]] void fail(std::string_view field, std::string what, std::string hint = {}) {
    throw Error({.what = std::move(what), .where = fmt::format("recipe: {}", field), .hint = std::move(hint)});
}

template <typename Kind> Kind kindNamed(const Names<Kind>& names, std::string_view field, const std::string& text) {
    std::string all;
    for (const auto& [name, kind] : names) {
        if (name == text) return kind;
        all += all.empty() ? name : fmt::format(", {}", name);
    }
    fail(field, fmt::format("there is no \"{}\"", text), fmt::format("choose one of: {}", all));
}

template <typename Kind> std::string nameOf(const Names<Kind>& names, Kind kind) {
    for (const auto& [name, value] : names)
        if (value == kind) return std::string(name);
    return {};
}

void within(std::string_view field, double value, double minimum, double maximum) {
    if (!(value >= minimum && value <= maximum))
        fail(field, fmt::format("is {:g} but must be from {:g} to {:g}", value, minimum, maximum));
}

constexpr double kMostStages = 16;
constexpr std::string_view kTrainedChoices = "\"all\" or \"norms and readout\"";

} // namespace

std::vector<std::string_view> familiesFor(const Task& task) {
    return std::ranges::find_if(kFamilies, [&](const auto& use) { return use.learn(task); })->families;
}

Recipe suggestedRecipe(const Task& task) {
    Recipe recipe{.task = std::string(task.id),
                  .optimiser = {.beta2 = 0.98},
                  .schedule = {.rate = 3e-3, .warmUp = 50, .steps = 1000}};
    if (task.readout != TextReadout::NextToken) { // norms behind the sublayers need a warm-up
        if (task.id == "dependencies")
            return {.task = recipe.task,
                    .architecture = {.family = "bert",
                                     .layers = 1,
                                     .heads = 2,
                                     .width = 32,
                                     .activation = "gelu",
                                     .attention = "position=dependency_tree",
                                     .initialDeviation = 0.1},
                    .optimiser = {.beta2 = 0.98, .decay = 0.01},
                    .schedule = {.rate = 1e-2, .warmUp = 20, .steps = 400},
                    .batch = 32,
                    .evaluateEvery = 50};
        const std::string attention = task.segments ? segmentedAttention(segmentsOf(task, {})) : std::string();
        return {.task = recipe.task,
                .architecture = {.family = task.permutes ? "xlnet" : "bert",
                                 .layers = 4,
                                 .heads = 4,
                                 .width = 64,
                                 .activation = "gelu",
                                 .attention = attention,
                                 .initialDeviation = 0.05},
                .optimiser = {.beta2 = 0.98, .decay = 0.01},
                .schedule = {.rate = 2e-3, .finalRate = 1e-4, .warmUp = 200, .steps = 3000},
                .batch = 32,
                .evaluateEvery = 250};
    }
    if (task.hasSource)
        return {.task = recipe.task,
                .architecture = {.family = "t5", .layers = 2, .heads = 4, .width = 64, .initialDeviation = 0.05},
                .optimiser = {.beta2 = 0.98, .decay = 0.01},
                .schedule = {.rate = 2e-3, .finalRate = 1e-4, .warmUp = 200, .steps = 3000},
                .batch = 64,
                .evaluateEvery = 250};
    if (task.readsText) // nanoGPT's settings for a laptop. @source Karpathy 2022, github.com/karpathy/nanoGPT
        return {.task = recipe.task,
                .architecture = {.layers = 4, .heads = 4, .width = 128, .activation = "gelu", .bias = false},
                .optimiser = {.beta2 = 0.99},
                .schedule = {.rate = 1e-3, .finalRate = 1e-4, .warmUp = 100, .steps = 2000},
                .batch = 12};
    if (task.id == "stories") {
        recipe.architecture = {.family = "llama", .layers = 5, .heads = 8, .keyValueHeads = 4, .width = 128};
        recipe.schedule = {.rate = 4e-3, .finalRate = 1e-4, .warmUp = 100, .steps = 2500};
        recipe.batch = 8;
    }
    if (task.id == "pixels") {
        recipe.batch = 16;
        recipe.schedule.finalRate = 1e-4;
    }
    if (task.hasImages()) {
        recipe.architecture = {
            .family = "vit", .layers = 4, .heads = 4, .width = 64, .activation = "gelu", .initialDeviation = 0.05};
        recipe.optimiser = {.beta2 = 0.98, .decay = 0.05};
        recipe.schedule = {.rate = 2e-3, .finalRate = 2e-5, .warmUp = 200, .steps = 4000};
        recipe.evaluateEvery = recipe.checkpointEvery = 500;
    }
    if (task.id == "shapes") { // needs larger initial weights; with a rate of 3e-3 it stays at chance
        recipe.architecture.layers = 2;
        recipe.architecture.patch = 16;
        recipe.architecture.initialDeviation = 0.1;
        recipe.schedule = {.rate = 1.5e-3, .finalRate = 0, .warmUp = 100, .steps = 2500};
        recipe.evaluateEvery = recipe.checkpointEvery = 250;
    }
    if (task.id == "fashion-mnist") { // large patches allow many epochs in the same time
        recipe.architecture.layers = 3;
        recipe.architecture.patch = 7;
        recipe.schedule.steps = 6500;
    }
    if (task.id == "compare") { // one layer, so that both heads must find their place in a single step
        recipe.architecture = {.layers = 1, .heads = 2, .width = 64, .initialDeviation = 0.12};
        recipe.optimiser.decay = 0.01;
        recipe.batch = 192;
    }
    return recipe;
}

Recipe suggestedRecipe(const Task& task, const std::string& model) {
    Recipe recipe = suggestedRecipe(task);
    if (model.empty()) return recipe;
    recipe.start.model = model;
    recipe.architecture = {.init = recipe.architecture.init,
                           .initialDeviation = recipe.architecture.initialDeviation}; // the model has its own
    if (task.readsText) recipe.settings.tokens = kModelTokens;
    recipe.schedule = {
        .rate = recipe.schedule.rate, .finalRate = recipe.schedule.rate / 10, .warmUp = 20, .steps = 500};
    recipe.evaluateEvery = 50;
    return recipe;
}

namespace {

void checkArchitecture(const Architecture& a, const Task& task) {
    within("layers", static_cast<double>(a.layers), 1, 96);
    within("heads", static_cast<double>(a.heads), 1, 128);
    within("width", static_cast<double>(a.width), 1, 8192);
    within("feed_forward", static_cast<double>(a.feedForward), 0, 65536);
    if (a.width % a.heads != 0)
        fail("width", fmt::format("{} cannot be divided into {} heads", a.width, a.heads),
             "choose a multiple of the number of heads");
    if (std::ranges::none_of(kFamilies, [&](const auto& use) { return isOneOf(a.family, use.families); }))
        fail(
            "family", fmt::format("cannot train \"{}\"", a.family),
            "choose gpt2 or llama, vit for pictures, bert for masked text and classes, xlnet for permuted text, or t5, "
            "bart or marian for a source");
    const auto families = familiesFor(task);
    if (!isOneOf(a.family, families))
        fail("family", fmt::format("{} cannot learn the task {}", a.family, task.id),
             fmt::format("choose {}", fmt::join(families, " or ")));
    const bool hasEncoder = task.hasSource, isPlain = hasEncoder || a.family == "xlnet";
    if (isPlain && !a.attention.empty())
        fail("attention", fmt::format("the format of {} has no composed attention", a.family), "leave it empty");
    if ((isPlain || a.family == "bert") && a.family != "t5" && !a.bias)
        fail("bias", fmt::format("the layers of {} have biases", a.family), "choose true");
    if (hasEncoder && a.positions != "learned" && (a.positions != "none" || a.family == "marian"))
        fail("positions", fmt::format("{} cannot have the positions \"{}\"", a.family, a.positions),
             a.family == "marian" ? "choose learned, which means the family's own" : "choose learned or none");
    within("patch", static_cast<double>(a.patch), 1, 512);
    if (a.pooling != "cls" && a.pooling != "mean")
        fail("pooling", fmt::format("there is no \"{}\"", a.pooling), "choose one of: cls, mean");
    within("window", static_cast<double>(a.window), 0, 64);
    within("merges", static_cast<double>(a.merges), 0, 6);
    within("pooled_tokens", static_cast<double>(a.pooledTokens), 0, 65536);
    if ((a.window > 0 || a.merges > 0) && a.pooling != "mean")
        fail("pooling", "windows and merges need a model without a CLS token", "choose mean");
    if ((a.window > 0 || a.merges > 0) && a.pooledTokens > 0)
        fail("pooled_tokens", "windows and merges need a grid, but pooled tokens have none", "choose 0");
    if (a.merges >= a.layers)
        fail("merges", fmt::format("{} layers have only {} gaps for merges", a.layers, a.layers - 1),
             "choose fewer merges or more layers");
    if (a.pooledTokens > 0 && a.layers < 2)
        fail("pooled_tokens", "pooling needs at least two layers", "choose more layers");
    if (a.positions != "learned" && a.positions != "sinusoidal" && a.positions != "none")
        fail("positions", fmt::format("there is no \"{}\"", a.positions), "choose one of: learned, sinusoidal, none");
    if (a.family == "vit" && a.positions == "sinusoidal" && a.width % 4 != 0)
        fail("width", "sinusoidal positions of a picture need a multiple of 4");
    if (a.family == "llama" && a.width / a.heads % 2 != 0) fail("width", "rotary positions need heads of even width");
    if (a.keyValueHeads < 0 || (a.keyValueHeads > 0 && a.heads % a.keyValueHeads != 0))
        fail("key_value_heads", fmt::format("{} does not divide {} heads", a.keyValueHeads, a.heads));
    if (a.family != "llama" && a.keyValueHeads != 0 && a.keyValueHeads != a.heads)
        fail("key_value_heads", fmt::format("{} needs as many key/value heads as heads", a.family), "choose llama");
    if (a.family != "gpt2" && a.attentionOnly) fail("attention_only", "only gpt2 can have no MLPs", "choose gpt2");
    attentionOf(a); // throws if an expression cannot be read
    if (const auto problem = attentionProblem(a))
        fail("attention", problem->sentence,
             problem->nearest.empty() ? "choose another composition, or a task that reads in both directions such as "
                                        "masked-text"
                                      : "the nearest valid composition: " + problem->nearest);
    if (task.hasPrefix && !canHavePrefix(decoderOf(a, 8, 8)))
        fail("attention", "this attention cannot show a prefix in both directions",
             "leave it empty, or compose one with the mask causal and without a bias of the scores");
    initialisationNamed(a.init);
    within("initial_deviation", a.initialDeviation, 0, 1);
    kindNamed(kActivations, "activation", a.activation);
}

} // namespace

namespace {

void checkAdapters(const StartingPoint& start) {
    const LowRankAdapters& adapters = start.adapters;
    within("lora_rank", static_cast<double>(adapters.rank), 0, 4096);
    within("lora_alpha", adapters.alpha, 0, 1e6);
    if (adapters.rank == 0) return;
    if (start.model.empty())
        fail("lora_rank", "low-rank adapters change a model, and there is none to start from",
             "choose a model to start from, or rank 0");
    if (start.trained != StartingPoint{}.trained)
        fail("trained", "low-rank adapters leave the model's own parameters as they are, so none can be chosen",
             "choose all, or rank 0");
    if (splitAtCommas(adapters.matrices).empty())
        fail("lora_matrices", "names no matrices", fmt::format("choose \"{}\"", LowRankAdapters{}.matrices));
}

} // namespace

void check(const Recipe& recipe) {
    const Task& task = taskNamed(recipe.task);
    const StartingPoint& start = recipe.start;
    if (start.model.empty()) checkArchitecture(recipe.architecture, task);
    if (const Segments segments = segmentsOf(task, recipe.settings); start.model.empty() && segments.count > 0) {
        const int64_t context = (segments.end() + 7) / 8 * 8;
        const DecoderConfig model = decoderOf(recipe.architecture, 8, context);
        if (const auto problem = segmentProblem(model.layers, context, segments))
            fail("attention", problem->sentence, problem->remedy);
    }
    if (task.readsText && recipe.settings.tokens == kModelTokens && start.model.empty())
        fail("tokenizer", "there is no model whose tokens the text can have", "choose chars, or a model to start from");
    if (splitAtCommas(start.trained).empty())
        fail("trained", "names no parameters", fmt::format("choose {}, or name parameters", kTrainedChoices));
    within("layer_decay", start.layerDecay, 0, 1);
    checkAdapters(start);
    within("batch", recipe.batch, 1, 65536);
    within("accumulation", recipe.accumulation, 1, 4096);
    if (recipe.batch % recipe.accumulation != 0)
        fail("accumulation",
             fmt::format("a batch of {} cannot be divided into {} equal parts", recipe.batch, recipe.accumulation));
    within("smoothing", recipe.smoothing, 0, 0.999);
    within("dropout", recipe.dropout, 0, 0.95);
    within("evaluate_every", static_cast<double>(recipe.evaluateEvery), 1, 1e9);
    within("checkpoint_every", static_cast<double>(recipe.checkpointEvery), 1, 1e9);
    const Schedule& s = recipe.schedule;
    within("learning_rate", s.rate, 0, 100);
    within("final_learning_rate", s.finalRate, 0, 100);
    within("warm_up", static_cast<double>(s.warmUp), 0, 1e9);
    within("steps", static_cast<double>(s.steps), 0, 1e9);
    within("window_stages", static_cast<double>(s.stages), 1, kMostStages);
    const auto hasWindow = [](const AttentionSpec& spec) { return spec.mask != spec.mask.narrowed(2); };
    if (s.stages > 1 && start.model.empty() && std::ranges::none_of(attentionOf(recipe.architecture), hasWindow))
        fail("window_stages", "no mask of the attention has a window that could grow",
             "choose 1, or an attention with a window such as \"mask=causal & window(32)\"");
    const Optimiser& o = recipe.optimiser;
    within("beta1", o.beta1, 0, 0.99999);
    within("beta2", o.beta2, 0, 0.9999999);
    within("epsilon", o.epsilon, 1e-20, 1);
    within("momentum", o.momentum, 0, 0.99999);
    within("weight_decay", o.decay, 0, 10);
    within("clip", o.clip, 0, 1e6);
}

std::span<const std::string_view> modelFields() {
    static constexpr std::array<std::string_view, 15> kFields{
        "family", "layers", "heads",   "key_value_heads", "width",  "feed_forward",  "activation",    "bias",
        "patch",  "window", "pooling", "positions",       "merges", "pooled_tokens", "attention_only"};
    return kFields;
}

namespace {

/// Whether the architecture is that of a model which is yet to be opened.
bool isOfUnknownModel(const StartingPoint& start) { return !start.model.empty() && start.hash.empty(); }

} // namespace

nlohmann::json toJson(const Recipe& recipe) {
    nlohmann::json values = nlohmann::json::object();
    for (const auto& [id, value] : recipe.settings.values) values[id] = value;
    const Architecture& a = recipe.architecture;
    const Optimiser& o = recipe.optimiser;
    const Schedule& s = recipe.schedule;
    nlohmann::json json{{"task", recipe.task},
                        {"values", values},
                        {"text", recipe.settings.text.string()},
                        {"translation", recipe.settings.translation.string()},
                        {"languages", recipe.settings.languages},
                        {"tokenizer", recipe.settings.tokens},
                        {"data", recipe.settings.data.string()},
                        {"seed", recipe.settings.seed},
                        {"from", recipe.start.model},
                        {"from_hash", recipe.start.hash},
                        {"trained", recipe.start.trained},
                        {"layer_decay", recipe.start.layerDecay},
                        {"lora_rank", recipe.start.adapters.rank},
                        {"lora_alpha", recipe.start.adapters.alpha},
                        {"lora_matrices", recipe.start.adapters.matrices},
                        {"family", a.family},
                        {"layers", a.layers},
                        {"heads", a.heads},
                        {"key_value_heads", a.keyValueHeads},
                        {"width", a.width},
                        {"feed_forward", a.feedForward},
                        {"activation", a.activation},
                        {"bias", a.bias},
                        {"attention_only", a.attentionOnly},
                        {"attention", a.attention},
                        {"patch", a.patch},
                        {"pooling", a.pooling},
                        {"positions", a.positions},
                        {"window", a.window},
                        {"merges", a.merges},
                        {"pooled_tokens", a.pooledTokens},
                        {"init", a.init},
                        {"initial_deviation", a.initialDeviation},
                        {"optimiser", nameOf(kOptimisers, o.kind)},
                        {"beta1", o.beta1},
                        {"beta2", o.beta2},
                        {"epsilon", o.epsilon},
                        {"momentum", o.momentum},
                        {"weight_decay", o.decay},
                        {"clip", o.clip},
                        {"schedule", nameOf(kSchedules, s.kind)},
                        {"learning_rate", s.rate},
                        {"final_learning_rate", s.finalRate},
                        {"warm_up", s.warmUp},
                        {"steps", s.steps},
                        {"window_stages", s.stages},
                        {"batch", recipe.batch},
                        {"accumulation", recipe.accumulation},
                        {"smoothing", recipe.smoothing},
                        {"dropout", recipe.dropout},
                        {"precision", precisionOf(recipe.precision).id},
                        {"gradient_checkpointing", recipe.gradientCheckpointing},
                        {"evaluate_every", recipe.evaluateEvery},
                        {"checkpoint_every", recipe.checkpointEvery}};
    for (const std::string_view field : modelFields())
        if (isOfUnknownModel(recipe.start) && !recipe.start.asked.contains(std::string(field))) json.erase(field);
    return json;
}

namespace {

/// A recipe's JSON with some fields replaced. @throws Error naming the field that is unknown or of another type
nlohmann::json withFields(nlohmann::json all, const nlohmann::json& fields, const std::string& file) {
    constexpr const char* kHint = "'attention-cli train --help' lists the fields";
    if (!fields.is_object())
        throw Error({.what = "is not a recipe: it must be a JSON object", .where = file, .hint = kHint});
    const nlohmann::json known = toJson(Recipe{});
    for (const auto& [field, value] : fields.items()) {
        const auto usual = known.find(field);
        if (usual == known.end())
            throw Error({.what = fmt::format("has the unknown field \"{}\"", field), .where = file, .hint = kHint});
        const bool isNumber = usual->is_number() && value.is_number();
        if (!isNumber && usual->type() != value.type())
            throw Error(
                {.what = fmt::format("field \"{}\" is {} but must be {}", field, value.type_name(), usual->type_name()),
                 .where = file,
                 .hint = kHint});
        all[field] = value;
    }
    return all;
}

} // namespace

Recipe recipeFromJson(const nlohmann::json& json, const std::string& file) {
    const nlohmann::json all = withFields(toJson(Recipe{}), json, file);
    const auto integer = [&](const char* field) {
        const double value = all.at(field).get<double>();
        if (value != std::floor(value) || std::abs(value) > 1e15)
            fail(field, fmt::format("is {:g} but must be a whole number", value));
        return static_cast<int64_t>(value);
    };
    const auto number = [&](const char* field) { return all.at(field).get<double>(); };
    const auto text = [&](const char* field) { return all.at(field).get<std::string>(); };
    Recipe recipe;
    recipe.task = text("task");
    for (const auto& [id, value] : all.at("values").items()) {
        if (!value.is_number()) fail(id, "the value of a task's parameter must be a number");
        recipe.settings.values[id] = value.get<double>();
    }
    recipe.settings.text = text("text");
    recipe.settings.translation = text("translation");
    recipe.settings.languages = text("languages");
    recipe.settings.tokens = text("tokenizer");
    recipe.settings.data = text("data");
    within("seed", number("seed"), 0, 1e15);
    recipe.settings.seed = static_cast<uint64_t>(integer("seed"));
    recipe.start = {
        .model = text("from"),
        .hash = text("from_hash"),
        .trained = text("trained"),
        .layerDecay = number("layer_decay"),
        .adapters = {.rank = integer("lora_rank"), .alpha = number("lora_alpha"), .matrices = text("lora_matrices")}};
    for (const std::string_view field : modelFields())
        if (isOfUnknownModel(recipe.start) && json.contains(field)) recipe.start.asked.emplace(field);
    recipe.architecture = {.family = text("family"),
                           .layers = integer("layers"),
                           .heads = integer("heads"),
                           .keyValueHeads = integer("key_value_heads"),
                           .width = integer("width"),
                           .feedForward = integer("feed_forward"),
                           .activation = text("activation"),
                           .bias = all.at("bias").get<bool>(),
                           .attentionOnly = all.at("attention_only").get<bool>(),
                           .attention = text("attention"),
                           .patch = integer("patch"),
                           .pooling = text("pooling"),
                           .positions = text("positions"),
                           .window = integer("window"),
                           .merges = integer("merges"),
                           .pooledTokens = integer("pooled_tokens"),
                           .init = text("init"),
                           .initialDeviation = number("initial_deviation")};
    recipe.optimiser = {.kind = kindNamed(kOptimisers, "optimiser", text("optimiser")),
                        .beta1 = number("beta1"),
                        .beta2 = number("beta2"),
                        .epsilon = number("epsilon"),
                        .momentum = number("momentum"),
                        .decay = number("weight_decay"),
                        .clip = number("clip")};
    recipe.schedule = {.kind = kindNamed(kSchedules, "schedule", text("schedule")),
                       .rate = number("learning_rate"),
                       .finalRate = number("final_learning_rate"),
                       .warmUp = integer("warm_up"),
                       .steps = integer("steps"),
                       .stages = integer("window_stages")};
    for (const char* field : {"batch", "accumulation"}) within(field, number(field), 1, 65536); // both are int
    recipe.batch = static_cast<int>(integer("batch"));
    recipe.accumulation = static_cast<int>(integer("accumulation"));
    recipe.smoothing = number("smoothing");
    recipe.dropout = number("dropout");
    recipe.precision = precisionNamed(text("precision")).dtype;
    recipe.gradientCheckpointing = all.at("gradient_checkpointing").get<bool>();
    recipe.evaluateEvery = integer("evaluate_every");
    recipe.checkpointEvery = integer("checkpoint_every");
    check(recipe);
    return recipe;
}

Recipe suggestedRecipeWith(const std::string& fields) {
    constexpr const char* kFile = "recipe";
    const nlohmann::json given = parseJson(fields, kFile);
    const nlohmann::json asked = withFields(toJson(Recipe{.task = "reverse"}), given, kFile);
    const nlohmann::json suggested =
        toJson(suggestedRecipe(taskNamed(asked.at("task").get<std::string>()), asked.at("from").get<std::string>()));
    nlohmann::json all = withFields(suggested, given, kFile), values = suggested.at("values");
    values.update(all.at("values"));
    all["values"] = values;
    return recipeFromJson(all, kFile);
}

namespace {

/// An encoder and a decoder of the same size. @source those of engine/models/t5.cpp and engine/models/bart.cpp
DecoderConfig encoderDecoderOf(const Architecture& a, int64_t vocabulary, int64_t context) {
    const bool isT5 = a.family == "t5", isMarian = a.family == "marian", hasPositions = a.positions != "none";
    LayerAttention attention{.spec = plainAttention({a.heads, a.heads}, {}),
                             .headWidth = a.width / a.heads,
                             .queryKeyValueBias = !isT5,
                             .outputBias = !isT5};
    if (isT5) attention.spec.put(Slot::Score, "dot", {1});
    const auto layers = static_cast<size_t>(a.layers);
    DecoderConfig decoder{
        .family = a.family,
        .vocabulary = vocabulary,
        .modelWidth = a.width,
        .context = context,
        .norm = isT5 ? NormKind::RmsNorm : NormKind::LayerNorm,
        .normEpsilon = isT5 ? 1e-6 : 1e-5,
        .finalNorm = isT5,
        .positions = isT5 || !hasPositions ? TextPositions::None
                     : isMarian            ? TextPositions::Sinusoidal
                                           : TextPositions::Learned,
        .embeddingNorm = !isT5 && !isMarian,
        .embeddingScale = isMarian ? std::sqrt(static_cast<double>(a.width)) : 1,
        .postNorm = !isT5,
        .tiedEmbedding = !isT5, // as in version 1.1
        .unembedBias = !isT5,
        .feedForward = {.width = a.feedForward != 0 ? a.feedForward : 4 * a.width,
                        .activation = isT5 ? Activation::GeluTanh : kindNamed(kActivations, "activation", a.activation),
                        .gated = isT5,
                        .bias = !isT5},
        .sharesPositions = isT5,
        .crossAttention = std::vector(layers, attention)};
    if (isT5 && hasPositions) attention.spec.put(Slot::Position, "t5", {32, 128});
    DecoderConfig encoder = decoder;
    encoder.readout = TextReadout::None;
    encoder.unembedBias = false;
    encoder.crossAttention.clear();
    encoder.layers.assign(layers, attention);
    attention.spec.mask = MaskExpression::causal();
    decoder.layers.assign(layers, attention);
    decoder.encoder.push_back(std::move(encoder));
    return decoder;
}

} // namespace

DecoderConfig decoderOf(const Architecture& a, int64_t vocabulary, int64_t context) {
    if (isOneOf(a.family, kWithEncoder)) return encoderDecoderOf(a, vocabulary, context);
    const bool isLlama = a.family == "llama", isBert = a.family == "bert", isXlnet = a.family == "xlnet",
               isEncoder = isBert || isXlnet;
    constexpr int64_t kXlnetContext = 512; // as engine/models/xlnet.cpp: it has no parameters by position
    const auto roundUp = [](int64_t value) { return (value + 7) / 8 * 8; };
    LayerAttention attention{.spec = plainAttention({a.heads, a.keyValueHeads == 0 ? a.heads : a.keyValueHeads},
                                                    isEncoder ? MaskExpression() : MaskExpression::causal()),
                             .headWidth = a.width / a.heads,
                             .queryKeyValueBias = !isLlama && !isXlnet,
                             .outputBias = !isLlama && !isXlnet};
    if (isLlama) attention.spec.put(Slot::Position, "rope", {});
    if (isXlnet) attention.spec.put(Slot::Position, "transformer_xl", {static_cast<double>(a.width)});
    const std::vector<AttentionSpec> specs = attentionOf(a);
    std::vector<LayerAttention> layers(static_cast<size_t>(a.layers), attention);
    for (size_t layer = 0; layer < layers.size() && !specs.empty(); ++layer) {
        layers[layer].spec = specs[layer % specs.size()];
        layers[layer].headWidth = headWidth(layers[layer].spec, a.width);
    }
    return {
        .name = {},
        .family = specs.empty() ? a.family : "attention-lab",
        .vocabulary = vocabulary,
        .modelWidth = a.width,
        .context = isXlnet ? std::max(context, kXlnetContext) : context,
        .norm = isLlama ? NormKind::RmsNorm : NormKind::LayerNorm,
        .normEpsilon = isEncoder ? 1e-12 : 1e-5,
        .finalNorm = !isEncoder,
        .positions = !isLlama && !isXlnet && specs.empty() ? TextPositions::Learned : TextPositions::None,
        .tokenTypes = isBert ? 2 : 0,
        .embeddingNorm = isBert,
        .postNorm = isEncoder,
        .readout = isEncoder ? TextReadout::MaskedToken : TextReadout::NextToken,
        .hasMaskedHead = !isXlnet,
        .unembedBias = isEncoder,
        .feedForward = {.width = a.attentionOnly      ? 0
                                 : a.feedForward != 0 ? a.feedForward
                                 : isLlama            ? roundUp(a.width * 8 / 3)
                                                      : 4 * a.width,
                        .activation = isLlama ? Activation::Silu : kindNamed(kActivations, "activation", a.activation),
                        .gated = isLlama,
                        .bias = !isLlama},
        .layers = std::move(layers),
        .hasQueryStream = isXlnet};
}

} // namespace attn
