#include "engine/training/recipe.h"

#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/core/globs.h"
#include "engine/io/json_file.h"
#include "engine/models/trainable_family.h"
#include "engine/training/composed_sites.h"
#include "engine/training/recipe_fields.h"
#include "engine/training/segment_problem.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attn {
namespace {

std::string placeOf(std::string_view field) { return fmt::format("recipe: {}", field); }

[[noreturn]] void fail(std::string_view field, std::string what, std::string hint = {}) {
    throw Error({.what = std::move(what), .where = placeOf(field), .hint = std::move(hint)});
}

constexpr std::string_view kTrainedChoices = "\"all\" or \"norms and readout\"";

bool canLearn(const TrainableFamily& family, const Task& task) {
    const bool readsPatches = family.axis == AxisKind::Patches;
    if (readsPatches || task.hasImages()) return readsPatches && task.hasImages();
    return family.hasSource == task.hasSource && family.permutes == task.permutes &&
           std::ranges::find(family.readouts, task.readout) != family.readouts.end();
}

/// The settings for tasks that learn what this one does.
Recipe usualRecipe(const Task& task) {
    Recipe recipe{.task = std::string(task.id),
                  .optimiser = {.beta2 = 0.98},
                  .schedule = {.rate = 3e-3, .warmUp = 50, .steps = 1000}};
    recipe.architecture.family = familiesFor(task).front();
    if (task.readout != TextReadout::NextToken || task.hasSource) { // norms behind the sublayers need a warm-up
        recipe.architecture.layers = task.hasSource ? 2 : 4;
        recipe.architecture.initialDeviation = 0.05;
        if (!task.hasSource) recipe.architecture.activation = "gelu";
        recipe.optimiser.decay = 0.01;
        recipe.schedule = {.rate = 2e-3, .finalRate = 1e-4, .warmUp = 200, .steps = 3000};
        recipe.batch = task.hasSource ? 64 : 32;
        recipe.evaluateEvery = 250;
    } else if (task.hasImages()) {
        recipe.architecture = {
            .family = recipe.architecture.family, .layers = 4, .activation = "gelu", .initialDeviation = 0.05};
        recipe.optimiser.decay = 0.05;
        recipe.schedule = {.rate = 2e-3, .finalRate = 2e-5, .warmUp = 200, .steps = 4000};
        recipe.evaluateEvery = recipe.checkpointEvery = 500;
    } else if (task.readsText) { // nanoGPT's for a laptop. @source Karpathy 2022, github.com/karpathy/nanoGPT
        recipe.architecture = {.layers = 4, .width = 128, .activation = "gelu", .bias = false};
        recipe.optimiser.beta2 = 0.99;
        recipe.schedule = {.rate = 1e-3, .finalRate = 1e-4, .warmUp = 100, .steps = 2000};
        recipe.batch = 12;
    }
    return recipe;
}

} // namespace

std::vector<std::string_view> familiesFor(const Task& task) {
    std::vector<std::string_view> ids;
    for (const TrainableFamily* family : trainableFamilies())
        if (canLearn(*family, task)) ids.push_back(family->id);
    return ids;
}

Recipe suggestedRecipe(const Task& task) {
    Recipe recipe = usualRecipe(task);
    if (task.suggest) task.suggest(recipe);
    return recipe;
}

Recipe suggestedRecipe(const Task& task, const std::string& model) {
    Recipe recipe = suggestedRecipe(task);
    if (model.empty()) return recipe;
    recipe.start.model = model;
    recipe.architecture = {.init = recipe.architecture.init,
                           .initialDeviation = recipe.architecture.initialDeviation}; // the model has its own
    if (task.readsText) recipe.settings.data.tokens = kModelTokens;
    recipe.schedule = {
        .rate = recipe.schedule.rate, .finalRate = recipe.schedule.rate / 10, .warmUp = 20, .steps = 500};
    recipe.evaluateEvery = 50;
    return recipe;
}

namespace {

/// Whether check() finds nothing to say about another composition in the recipe.
bool isAccepted(Recipe recipe, const std::string& attention) try {
    recipe.architecture.attention = attention;
    check(recipe);
    return true;
} catch (const Error& error) {
    return error.where() != placeOf("attention");
}

void checkArchitecture(const Recipe& recipe, const Task& task) {
    const Architecture& a = recipe.architecture;
    if (a.width % a.heads != 0)
        fail("width", fmt::format("{} cannot be divided into {} heads", a.width, a.heads),
             "choose a multiple of the number of heads");
    const TrainableFamily& family = trainableFamilyNamed(a.family);
    if (!canLearn(family, task))
        fail("family", fmt::format("{} cannot learn the task {}", a.family, task.id),
             fmt::format("choose {}", fmt::join(familiesFor(task), " or ")));
    if (!family.composes && !a.attention.empty())
        fail("attention", fmt::format("the format of {} has no composed attention", a.family), "leave it empty");
    if (!family.mayLackBiases && !a.bias)
        fail("bias", fmt::format("the layers of {} have biases", a.family), "choose true");
    if (std::ranges::find(family.positions, a.positions) == family.positions.end())
        fail("positions", fmt::format("{} cannot have the positions \"{}\"", a.family, a.positions),
             family.positions.size() == 1 ? "choose learned, which means the family's own"
                                          : fmt::format("choose {}", fmt::join(family.positions, " or ")));
    if (a.keyValueHeads > 0 && a.heads % a.keyValueHeads != 0)
        fail("key_value_heads", fmt::format("{} does not divide {} heads", a.keyValueHeads, a.heads));
    if (!family.hasKeyValueHeads && a.keyValueHeads != 0 && a.keyValueHeads != a.heads)
        fail("key_value_heads", fmt::format("{} needs as many key/value heads as heads", a.family), "choose llama");
    if (!family.mayLackMlps && a.attentionOnly) fail("attention_only", "only gpt2 can have no MLPs", "choose gpt2");
    if (family.check)
        if (auto problem = family.check(a)) fail(problem->field, std::move(problem->what), std::move(problem->hint));
    attentionOf(a); // throws if an expression cannot be read
    if (const auto problem = attentionProblem(a)) {
        std::string hint = "the nearest valid composition: " + problem->nearest;
        if (problem->nearest.empty() || !isAccepted(recipe, problem->nearest))
            hint = family.looksAhead || family.hasSource
                       ? "no composition near this one is known to work; choose another"
                       : "choose another composition, or a task that reads in both directions such as masked-text";
        fail("attention", problem->sentence, std::move(hint));
    }
    if (task.hasPrefix && !canHavePrefix(decoderOf(a, 8, 8)))
        fail("attention", "this attention cannot show a prefix in both directions",
             "leave it empty, or compose one with the mask causal and without a bias of the scores");
}

void checkAdapters(const StartingPoint& start) {
    const LowRankAdapters& adapters = start.adapters;
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
    for (const RecipeField& field : recipeFields())
        if (start.model.empty() || !field.describesModel) field.check(recipe);
    if (start.model.empty()) checkArchitecture(recipe, task);
    if (const Segments segments = segmentsOf(task, recipe.settings); start.model.empty() && segments.count > 0) {
        const int64_t context = (segments.end() + 7) / 8 * 8;
        const ModelSpec model = decoderOf(recipe.architecture, 8, context);
        if (const auto problem = segmentProblem(model.layers, context, segments))
            fail("attention", problem->sentence, problem->remedy);
    }
    if (task.readsText && recipe.settings.data.tokens == kModelTokens && start.model.empty())
        fail("tokenizer", "there is no model whose tokens the text can have", "choose chars, or a model to start from");
    if (splitAtCommas(start.trained).empty())
        fail("trained", "names no parameters", fmt::format("choose {}, or name parameters", kTrainedChoices));
    checkAdapters(start);
    if (recipe.smoothing > 0 && task.activation != ClassActivation::Softmax)
        fail("smoothing", "label smoothing is of one class of several, and the task has several labels or numbers",
             "choose 0");
    if (recipe.batch % recipe.accumulation != 0)
        fail("accumulation",
             fmt::format("a batch of {} cannot be divided into {} equal parts", recipe.batch, recipe.accumulation));
    const Schedule& s = recipe.schedule;
    const auto hasWindow = [](const AttentionSpec& spec) { return spec.mask != spec.mask.narrowed(2); };
    if (s.stages > 1 && start.model.empty() && std::ranges::none_of(attentionOf(recipe.architecture), hasWindow))
        fail("window_stages", "no mask of the attention has a window that could grow",
             "choose 1, or an attention with a window such as \"mask=causal & window(32)\"");
}

namespace {

/// Whether the architecture is that of a model which is yet to be opened.
bool isOfUnknownModel(const StartingPoint& start) { return !start.model.empty() && start.hash.empty(); }

} // namespace

nlohmann::json toJson(const Recipe& recipe) {
    nlohmann::json json{{"values", recipe.settings.values}};
    for (const RecipeField& field : recipeFields()) {
        if (field.describesModel && isOfUnknownModel(recipe.start) && !recipe.start.asked.contains(field.id)) continue;
        nlohmann::json& at = json[field.id];
        std::visit([&](const auto& value) { at = value; }, field.value(recipe));
        if (field.kind == RecipeField::Kind::Whole) at = at.get<int64_t>();
    }
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

namespace {

/// recipeFromJson() without check().
Recipe uncheckedFromJson(const nlohmann::json& json, const std::string& file) {
    const nlohmann::json all = withFields(toJson(Recipe{}), json, file);
    Recipe recipe;
    for (const auto& [id, value] : all.at("values").items()) {
        if (!value.is_number()) fail(id, "the value of a task's parameter must be a number");
        recipe.settings.values[id] = value.get<double>();
    }
    for (const RecipeField& field : recipeFields()) {
        const nlohmann::json& value = all.at(field.id);
        field.set(recipe, value.is_boolean()  ? RecipeValue(value.get<bool>())
                          : value.is_number() ? RecipeValue(value.get<double>())
                                              : RecipeValue(value.get<std::string>()));
    }
    for (const RecipeField& field : recipeFields())
        if (field.describesModel && isOfUnknownModel(recipe.start) && json.contains(field.id))
            recipe.start.asked.emplace(field.id);
    return recipe;
}

} // namespace

Recipe recipeFromJson(const nlohmann::json& json, const std::string& file) {
    Recipe recipe = uncheckedFromJson(json, file);
    check(recipe);
    return recipe;
}

std::string draftToText(const Recipe& recipe) { return toJson(recipe).dump(); }

Recipe draftFromText(const std::string& text) {
    constexpr const char* kName = "recipe";
    Recipe recipe = uncheckedFromJson(parseJson(text, kName), kName);
    taskNamed(recipe.task);
    recipe.start.asked.clear(); // nobody has demanded these of the model
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

ModelSpec decoderOf(const Architecture& a, int64_t vocabulary, int64_t context) {
    ModelSpec config = trainableFamilyNamed(a.family).describe(a, vocabulary, context);
    if (config.readsStream()) {
        composeSites(config, a.attention);
        return config;
    }
    const std::vector<AttentionSpec> specs = attentionOf(a);
    if (specs.empty()) return config;
    config.family = "attention-lab";
    config.positions = Positions::None;
    for (size_t layer = 0; layer < config.layers.size(); ++layer) {
        config.layers[layer].spec = specs[layer % specs.size()];
        config.layers[layer].headWidth = headWidth(config.layers[layer].spec, a.width);
    }
    return config;
}

} // namespace attn
