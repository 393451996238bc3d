#include "engine/training/recipe_fields.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/models/trainable_family.h"
#include "engine/training/initial_weights.h"
#include "engine/training/precision.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace attn {
namespace {

using Kind = RecipeField::Kind;
using Section = RecipeField::Section;

constexpr double kMostUpdates = 1e9;

[[noreturn]] void fail(std::string_view field, std::string what, std::string hint = {}) {
    throw Error({.what = std::move(what), .where = fmt::format("recipe: {}", field), .hint = std::move(hint)});
}

// The kinds in the order of their choices.
constexpr std::array kOptimisers{Optimiser::Kind::AdamW, Optimiser::Kind::Adam, Optimiser::Kind::Sgd};
constexpr std::array kSchedules{Schedule::Kind::Constant, Schedule::Kind::InverseSquareRoot, Schedule::Kind::Cosine,
                                Schedule::Kind::Linear};

template <class T, size_t N> size_t indexOf(const std::array<T, N>& kinds, T kind) {
    return static_cast<size_t>(std::ranges::find(kinds, kind) - kinds.begin());
}

size_t choiceNamed(const RecipeField& field, const std::string& id) {
    const auto found = std::ranges::find(field.choices, id, &RecipeChoice::id);
    if (found == field.choices.end())
        fail(field.id, fmt::format("there is no \"{}\"", id),
             "choose one of: " + joined(field.choices, &RecipeChoice::id));
    return static_cast<size_t>(found - field.choices.begin());
}

std::vector<RecipeChoice> familyChoices() {
    std::vector<RecipeChoice> choices;
    for (const TrainableFamily* family : trainableFamilies())
        choices.push_back({family->id, std::string(family->title)});
    return choices;
}

std::vector<RecipeChoice> initChoices() {
    std::vector<RecipeChoice> choices;
    for (const Initialisation& rule : initialisations())
        choices.push_back(
            {rule.id, std::string(rule.title),
             fmt::format("{}\n{}\n{} {}", rule.idea, rule.formula, rule.source.authors, rule.source.year)});
    return choices;
}

std::vector<RecipeChoice> precisionChoices() {
    std::vector<RecipeChoice> choices;
    for (const Precision& precision : precisions()) choices.push_back({precision.id, std::string(precision.title)});
    return choices;
}

std::vector<RecipeChoice> taskChoices() {
    std::vector<RecipeChoice> choices;
    for (const Task* task : taskCatalogue()) choices.push_back({task->id, std::string(task->title)});
    return choices;
}

bool hasPictures(const Task& task) { return task.hasImages(); }
bool hasText(const Task& task) { return !task.hasImages(); }
bool hasOneText(const Task& task) { return !task.hasImages() && !task.hasSource; }
bool hasPicturesOrSource(const Task& task) { return task.hasImages() || task.hasSource; }
bool readsText(const Task& task) { return task.readsText; }
bool readsTranslation(const Task& task) { return task.readsTranslation; }
bool readsLanguages(const Task& task) { return task.readsLanguages; }
bool splitsText(const Task& task) { return task.splitsText; }
bool readsData(const Task& task) { return task.readsData || !task.withoutData.empty(); }

const TrainableFamily& familyOf(const Recipe& r) { return trainableFamilyNamed(r.architecture.family); }

/// A model of the family. @return nullopt of pictures, whose models have what is asked for
std::optional<ModelSpec> exampleOf(const Recipe& r, std::string_view activation = "gelu") {
    const TrainableFamily& family = familyOf(r);
    if (!family.describe) return {};
    return family.describe({.family = r.architecture.family, .activation = std::string(activation)}, 16, 16);
}

/// Whether models of the family have the activation that is asked for; Llama's and T5's have one of their own.
bool choosesActivation(const Recipe& r) {
    const auto one = exampleOf(r), other = exampleOf(r, "relu");
    return !one || one->feedForward.activation != other->feedForward.activation;
}

/// Whether models of the family have biases that could be left out; Llama's and T5's have none.
bool choosesBiases(const Recipe& r) {
    const auto example = exampleOf(r);
    return familyOf(r).mayLackBiases && (!example || example->layers.front().queryKeyValueBias);
}

bool endsAtFinalRate(const Recipe& r) {
    return r.schedule.kind == Schedule::Kind::Cosine || r.schedule.kind == Schedule::Kind::Linear;
}

bool hasAdapters(const Recipe& r) { return r.start.adapters.rank > 0; }
bool isAdam(const Recipe& r) { return r.optimiser.kind != Optimiser::Kind::Sgd; }

const std::vector<RecipeField>& table() {
    // clang-format off
    static const std::vector<RecipeField> kFields{
        // ---- the task and its data
        {.id = "task", .option = "--task TASK", .help = "task to train", .kind = Kind::Choice,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.task; }, .choices = taskChoices()},
        {.id = "text", .option = "--text FILE",
         .help = "file to learn from, or builtin:stories; for classify, text-labels, text-numbers, tag, answer and next-sentence a file as the list of tasks says",
         .kind = Kind::Path, .slot = [](Recipe& r) -> RecipeSlot { return &r.settings.data.text; },
         .uses = "tasks over a text", .appliesTo = readsText},
        {.id = "translation", .option = "--translation FILE",
         .help = "file whose lines translate those of --text; without it, --text holds both languages",
         .kind = Kind::Path, .slot = [](Recipe& r) -> RecipeSlot { return &r.settings.data.translation; },
         .uses = "the task translation", .appliesTo = readsTranslation},
        {.id = "languages", .option = "--languages FROM-TO", .help = "codes of two languages, such as en-de",
         .slot = [](Recipe& r) -> RecipeSlot { return &r.settings.data.languages; },
         .uses = "the tasks numbers, dates and translation (TMX)", .appliesTo = readsLanguages},
        {.id = "tokenizer", .option = "--tokenizer KIND", .title = "Tokens",
         .help = "how to split the text into tokens",
         .slot = [](Recipe& r) -> RecipeSlot { return &r.settings.data.tokens; },
         .choices = {{"chars", "Characters"}, {"bytes", "Bytes"}, {"bpe:500", "500 learned pieces (BPE)"},
                     {"bpe:2000", "2000 learned pieces (BPE)"}, {kModelTokens, "Those of the model to start from"}},
         .values = "chars, bytes, bpe:N with N learned pieces, or model for those of --from",
         .uses = "the tasks text, prefix-lm, span-corruption and denoising", .appliesTo = splitsText},
        {.id = "data", .option = "--data DIR", .help = "folder of pictures; for picture-labels and picture-numbers also a table in it", .kind = Kind::Path,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.settings.data.pictures; },
         .uses = "the tasks images, picture-labels, picture-numbers, fashion-mnist and pixels", .appliesTo = readsData},

        // ---- where training starts
        {.id = "from", .option = "--from MODEL",
         .help = "model to start from, a folder or builtin:NAME, in place of new parameters; it sets the architecture, of which only --attention can replace what it names",
         .kind = Kind::Path, .section = Section::Start, .slot = [](Recipe& r) -> RecipeSlot { return &r.start.model; }},
        {.id = "from_hash", .help = "hash of that model's files", .section = Section::Start,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.start.hash; }},
        {.id = "trained", .option = "--trained WHAT", .title = "Trained parameters",
         .help = "parameters that training changes; the others stay as they are",
         .section = Section::Start, .slot = [](Recipe& r) -> RecipeSlot { return &r.start.trained; },
         .choices = {{"all", "All"}, {"norms and readout", "Only norms and readout"}},
         .values = "all, 'norms and readout', or names such as 'blocks.3.*,ln_final.*'"},
        {.id = "lora_rank", .option = "--lora RANK", .title = "Low-rank adapters (LoRA)",
         .help = "instead of the parameters of the model to start from, train two narrow matrices A and B beside each matrix of queries and values, whose product is added to it. The number is their rank; 0: no adapters",
         .kind = Kind::Whole, .section = Section::Start,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.start.adapters.rank; }, .maximum = 4096, .usualMaximum = 64},
        {.id = "lora_alpha", .option = "--lora-alpha X", .help = "adapters count alpha / rank times; 0: once",
         .kind = Kind::Real, .section = Section::Start,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.start.adapters.alpha; }, .maximum = 1e6, .uses = "--lora",
         .matters = hasAdapters},
        {.id = "lora_matrices", .option = "--lora-matrices NAMES",
         .help = "matrices that get adapters, such as '*.W_Q,*.W_V,blocks.3.mlp.*'", .section = Section::Start,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.start.adapters.matrices; }, .uses = "--lora",
         .matters = hasAdapters},

        // ---- the model
        {.id = "family", .option = "--family NAME", .title = "Family",
         .help = "kind of model, with the positions, norms and activation of its layers", .kind = Kind::Choice,
         .section = Section::Model, .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.family; },
         .choices = familyChoices(), .appliesTo = hasText, .describesModel = true},
        {.id = "layers", .option = "--layers N", .title = "Layers",
         .help = "number of layers, each with attention and an MLP", .kind = Kind::Whole, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.layers; }, .minimum = 1, .maximum = 96,
         .usualMaximum = 12, .describesModel = true},
        {.id = "heads", .option = "--heads N", .title = "Heads",
         .help = "attention heads per layer, which share the width of the model", .kind = Kind::Whole,
         .section = Section::Model, .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.heads; },
         .minimum = 1, .maximum = 128, .usualMaximum = 16, .describesModel = true},
        {.id = "key_value_heads", .option = "--key-value-heads N", .title = "Key/value heads",
         .help = "key and value heads per layer. If they are fewer than the heads, groups of heads share them; 0: as many as heads",
         .kind = Kind::Whole, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.keyValueHeads; }, .maximum = 128,
         .usualMaximum = 16, .uses = "llama", .appliesTo = hasOneText,
         .matters = [](const Recipe& r) { return familyOf(r).hasKeyValueHeads; }, .describesModel = true},
        {.id = "patch", .option = "--patch N", .title = "Patch",
         .help = "side of a patch in pixels. Each patch becomes one token", .kind = Kind::Whole,
         .section = Section::Model, .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.patch; },
         .minimum = 1, .maximum = 512, .usualMaximum = 32, .uses = "vit", .appliesTo = hasPictures,
         .describesModel = true},
        {.id = "pooling", .option = "--pooling HOW", .title = "Source of the answer",
         .help = "what the classifier reads from the last layer", .kind = Kind::Choice, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.pooling; },
         .choices = {{"cls", "A CLS token"}, {"mean", "The mean of the patches"}}, .uses = "vit",
         .appliesTo = hasPictures, .describesModel = true},
        {.id = "positions", .option = "--positions KIND", .title = "Positions",
         .help = "how the model knows the position of a patch or a token",
         .kind = Kind::Choice, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.positions; },
         .choices = {{"learned", "The family's own"}, {"sinusoidal", "Sines of row and column"}, {"none", "None"}},
         .uses = "vit; t5 and bart, without sinusoidal", .appliesTo = hasPicturesOrSource, .describesModel = true},
        {.id = "window", .option = "--window N", .title = "Window",
         .help = "side of Swin's attention windows in tokens, which every other layer shifts; needs the mean of the patches as the source of the answer; 0: no windows",
         .kind = Kind::Whole, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.window; }, .maximum = 64, .usualMaximum = 16,
         .uses = "vit", .appliesTo = hasPictures, .describesModel = true},
        {.id = "merges", .option = "--merges N", .title = "Merges",
         .help = "how many times 2 x 2 tokens are merged into one of twice the width, as in Swin; needs the mean of the patches as the source of the answer",
         .kind = Kind::Whole, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.merges; }, .maximum = 6, .usualMaximum = 3,
         .uses = "vit", .appliesTo = hasPictures, .describesModel = true},
        {.id = "pooled_tokens", .option = "--pooled-tokens N", .title = "Pooled tokens",
         .help = "number of tokens from the middle layer on, after similar ones are merged; 0: all",
         .kind = Kind::Whole, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.pooledTokens; }, .maximum = 65536,
         .usualMaximum = 256, .uses = "vit", .appliesTo = hasPictures, .describesModel = true},
        {.id = "width", .option = "--width N", .title = "Width", .help = "numbers in each token's vector",
         .kind = Kind::Whole, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.width; }, .minimum = 1, .maximum = 8192,
         .step = 8, .usualMaximum = 512, .describesModel = true},
        {.id = "feed_forward", .option = "--feed-forward N", .title = "Feed-forward width",
         .help = "inner width of the feed-forward layers; 0: 4 times the width, for llama 8/3 of it",
         .kind = Kind::Whole, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.feedForward; }, .maximum = 65536, .step = 8,
         .usualMaximum = 2048, .describesModel = true},
        {.id = "activation", .option = "--activation NAME", .title = "Activation",
         .help = "activation of the feed-forward layers", .kind = Kind::Choice, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.activation; },
         .choices = {{"gelu_new", "GELU (tanh)"}, {"gelu", "GELU (exact)"}, {"relu", "ReLU"}},
         .uses = "all but llama and t5", .matters = choosesActivation, .describesModel = true},
        {.id = "bias", .option = "--no-bias", .title = "Biases", .help = "a model without biases keeps each of them at zero",
         .kind = Kind::Toggle, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.bias; }, .uses = "gpt2",
         .matters = choosesBiases, .describesModel = true},
        {.id = "attention_only", .option = "--attention-only", .title = "Attention only",
         .help = "leave out the feed-forward layers", .kind = Kind::Toggle, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.attentionOnly; }, .uses = "gpt2",
         .appliesTo = hasOneText, .matters = [](const Recipe& r) { return familyOf(r).mayLackMlps; },
         .describesModel = true},
        {.id = "attention", .option = "--attention SPEC",
         .help = "compose the attention, for example 'position=alibi, mask=causal & window(32)'; several compositions, separated by semicolons, alternate from layer to layer; in a model with an encoder, 'encoder:' or 'cross:' before one says for which attention it is",
         .section = Section::Model, .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.attention; }},
        {.id = "init", .option = "--init RULE", .title = "Initial weights",
         .help = "rule of the random numbers with which matrices begin", .kind = Kind::Choice,
         .section = Section::Model, .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.init; },
         .choices = initChoices()},
        {.id = "initial_deviation", .option = "--initial-deviation X", .title = "Initial deviation",
         .help = "standard deviation of matrices before training, for the rules scaled_normal, normal and zero_residual",
         .kind = Kind::Real, .section = Section::Model,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.architecture.initialDeviation; }, .maximum = 1,
         .step = 0.001,
         .matters = [](const Recipe& r) { return initialisationNamed(r.architecture.init).hasDeviation; }},

        // ---- training
        {.id = "steps", .option = "--steps N", .title = "Steps", .help = "number of updates of the parameters",
         .kind = Kind::Whole, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.schedule.steps; }, .maximum = kMostUpdates},
        {.id = "batch", .option = "--batch N", .title = "Batch", .help = "examples per step: texts or pictures",
         .kind = Kind::Whole, .section = Section::Training, .slot = [](Recipe& r) -> RecipeSlot { return &r.batch; },
         .minimum = 1, .maximum = 65536, .usualMaximum = 256},
        {.id = "accumulation", .option = "--accumulation N", .title = "Accumulation",
         .help = "number of equal parts of the batch that run one after another", .kind = Kind::Whole,
         .section = Section::Training, .slot = [](Recipe& r) -> RecipeSlot { return &r.accumulation; }, .minimum = 1,
         .maximum = 4096, .usualMaximum = 16},
        {.id = "learning_rate", .option = "--lr X", .title = "Learning rate", .help = "learning rate after the warm-up",
         .kind = Kind::Real, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.schedule.rate; }, .maximum = 100, .step = 0.00001},
        {.id = "final_learning_rate", .option = "--final-lr X", .title = "Final learning rate",
         .help = "learning rate at the last step", .kind = Kind::Real, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.schedule.finalRate; }, .maximum = 100, .step = 0.00001,
         .uses = "the schedules cosine and linear", .matters = endsAtFinalRate},
        {.id = "warm_up", .option = "--warmup N", .title = "Warm-up",
         .help = "number of steps in which the learning rate rises", .kind = Kind::Whole, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.schedule.warmUp; }, .maximum = kMostUpdates},
        {.id = "schedule", .option = "--schedule KIND", .title = "Schedule", .help = "how the learning rate changes after the warm-up",
         .kind = Kind::Choice, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.schedule.kind; },
         .choices = {{"constant", "Constant"}, {"inverse-square-root", "Inverse square root"}, {"cosine", "Cosine"},
                     {"linear", "Linear"}}},
        {.id = "window_stages", .option = "--window-stages N", .title = "Window stages",
         .help = "equal parts of the training run, as Longformer was trained: in each the windows of masks are twice as wide as in the one before and the learning rate is half as high; 1: windows do not grow",
         .kind = Kind::Whole, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.schedule.stages; }, .minimum = 1, .maximum = 16,
         .usualMaximum = 8},
        {.id = "optimiser", .option = "--optimiser NAME", .title = "Optimiser", .help = "how gradients become updates",
         .kind = Kind::Choice, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.optimiser.kind; },
         .choices = {{"adamw", "AdamW"}, {"adam", "Adam"}, {"sgd", "SGD with momentum"}}},
        {.id = "beta1", .option = "--beta1 X", .title = "Beta1", .help = "how long Adam remembers gradients",
         .kind = Kind::Real, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.optimiser.beta1; }, .maximum = 0.99999, .step = 0.001,
         .uses = "adamw and adam", .matters = isAdam},
        {.id = "beta2", .option = "--beta2 X", .title = "Beta2", .help = "how long Adam remembers the size of gradients",
         .kind = Kind::Real, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.optimiser.beta2; }, .maximum = 0.9999999, .step = 0.0001,
         .uses = "adamw and adam", .matters = isAdam},
        {.id = "epsilon", .option = "--epsilon X", .help = "smallest size of gradients by which Adam divides",
         .kind = Kind::Real, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.optimiser.epsilon; }, .minimum = 1e-20, .maximum = 1,
         .uses = "adamw and adam", .matters = isAdam},
        {.id = "momentum", .option = "--momentum X", .title = "Momentum", .help = "momentum of SGD", .kind = Kind::Real,
         .section = Section::Training, .slot = [](Recipe& r) -> RecipeSlot { return &r.optimiser.momentum; },
         .maximum = 0.99999, .step = 0.01, .uses = "sgd", .matters = [](const Recipe& r) { return !isAdam(r); }},
        {.id = "weight_decay", .option = "--weight-decay X", .title = "Weight decay",
         .help = "how strongly weight matrices are pulled towards zero", .kind = Kind::Real,
         .section = Section::Training, .slot = [](Recipe& r) -> RecipeSlot { return &r.optimiser.decay; },
         .maximum = 10, .step = 0.01, .usualMaximum = 1},
        {.id = "clip", .option = "--clip X", .title = "Gradient clip", .help = "largest norm of the gradient; 0: no limit",
         .kind = Kind::Real, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.optimiser.clip; }, .maximum = 1e6, .step = 0.1,
         .usualMaximum = 10},
        {.id = "layer_decay", .option = "--layer-decay X", .title = "Layer decay",
         .help = "factor of the learning rate for each layer below the last; 1: all layers learn alike",
         .kind = Kind::Real, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.start.layerDecay; }, .maximum = 1, .step = 0.05},
        {.id = "dropout", .option = "--dropout X", .title = "Dropout",
         .help = "share of activations that are set to zero at random", .kind = Kind::Real,
         .section = Section::Training, .slot = [](Recipe& r) -> RecipeSlot { return &r.dropout; }, .maximum = 0.95,
         .step = 0.01, .usualMaximum = 0.5},
        {.id = "smoothing", .option = "--smoothing X", .title = "Label smoothing",
         .help = "share of each target's probability that is spread over all tokens", .kind = Kind::Real,
         .section = Section::Training, .slot = [](Recipe& r) -> RecipeSlot { return &r.smoothing; }, .maximum = 0.999,
         .step = 0.01, .usualMaximum = 0.5},
        {.id = "precision", .option = "--precision KIND", .title = "Precision",
         .help = "how many bits activations and their gradients have from the forward to the backward pass; with 16 bits a step needs less memory",
         .kind = Kind::Choice, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.precision; }, .choices = precisionChoices()},
        {.id = "gradient_checkpointing", .option = "--gradient-checkpointing", .title = "Gradient checkpointing",
         .help = "compute each layer's activations again in the backward pass: less memory, more time, identical results",
         .kind = Kind::Toggle, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.gradientCheckpointing; }},
        {.id = "seed", .option = "--seed N", .title = "Seed",
         .help = "random seed of initial parameters, examples and dropout", .kind = Kind::Whole,
         .section = Section::Training, .slot = [](Recipe& r) -> RecipeSlot { return &r.settings.seed; },
         .maximum = 1e15},
        {.id = "evaluate_every", .option = "--evaluate-every N", .title = "Measure every",
         .help = "steps between measurements on examples outside the training data", .kind = Kind::Whole,
         .section = Section::Training, .slot = [](Recipe& r) -> RecipeSlot { return &r.evaluateEvery; }, .minimum = 1,
         .maximum = kMostUpdates},
        {.id = "checkpoint_every", .option = "--checkpoint-every N", .title = "Checkpoint every",
         .help = "steps between the checkpoints", .kind = Kind::Whole, .section = Section::Training,
         .slot = [](Recipe& r) -> RecipeSlot { return &r.checkpointEvery; }, .minimum = 1, .maximum = kMostUpdates},
    };
    // clang-format on
    return kFields;
}

} // namespace

std::span<const RecipeField> recipeFields() { return table(); }

const RecipeField* findRecipeField(std::string_view id) {
    const auto found = std::ranges::find(table(), id, &RecipeField::id);
    return found == table().end() ? nullptr : &*found;
}

bool RecipeField::changesSomething(const Recipe& recipe) const {
    return (appliesTo == nullptr || appliesTo(taskNamed(recipe.task))) && (matters == nullptr || matters(recipe));
}

std::vector<std::string> idleOptions(const Recipe& recipe, const std::set<std::string>& given) {
    std::vector<std::string> idle;
    for (const RecipeField& field : table()) {
        if (!given.contains(std::string(field.id)) || field.id == "family") continue; // check() judges the family
        const bool isRead = field.appliesTo == nullptr || field.appliesTo(taskNamed(recipe.task));
        // What a model to start from has is compared with the field once the model is open.
        if (isRead && ((field.describesModel && !recipe.start.model.empty()) || field.changesSomething(recipe)))
            continue;
        const std::string option(field.option.substr(0, field.option.find(' ')));
        const std::string use = field.uses.empty() ? "" : fmt::format("it is for {}", field.uses);
        if (!isRead && field.section == Section::Task) // a person would take the result for that of other data
            throw Error({.what = fmt::format("the task {} reads no {}", recipe.task, option),
                         .where = option,
                         .hint = use.empty() ? "leave it out" : "leave it out; " + use});
        const std::string reason =
            !isRead ? fmt::format("the task {} does not use it", recipe.task)
            : field.section == Section::Model
                ? fmt::format("models of the family {} do not use it", recipe.architecture.family)
                : std::string("the other options leave it no effect");
        idle.push_back(fmt::format("{} changes nothing: {}{}", option, reason, use.empty() ? "" : "; " + use));
    }
    return idle;
}

RecipeValue RecipeField::value(const Recipe& recipe) const {
    const auto read = [&]<class T>(T* at) -> RecipeValue {
        if constexpr (std::is_same_v<T, Optimiser::Kind>)
            return std::string(choices[indexOf(kOptimisers, *at)].id);
        else if constexpr (std::is_same_v<T, Schedule::Kind>)
            return std::string(choices[indexOf(kSchedules, *at)].id);
        else if constexpr (std::is_same_v<T, DType>)
            return std::string(precisionOf(*at).id);
        else if constexpr (std::is_same_v<T, std::filesystem::path>)
            return at->string();
        else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
            return static_cast<double>(*at);
        else
            return *at;
    };
    return std::visit(read, slot(const_cast<Recipe&>(recipe))); // which only names the member
}

void RecipeField::set(Recipe& recipe, const RecipeValue& value) const {
    const auto write = [&]<class T>(T* at) {
        if constexpr (std::is_same_v<T, bool>) {
            *at = std::get<bool>(value);
        } else if constexpr (std::is_arithmetic_v<T>) {
            const double number = std::get<double>(value);
            if constexpr (std::is_integral_v<T>) {
                if (number != std::floor(number) || std::abs(number) > 1e15)
                    fail(id, fmt::format("is {:g} but must be a whole number", number));
                // The range holds for new models too, but a number must fit its member before anything can check it.
                if (!std::in_range<T>(static_cast<int64_t>(number)))
                    fail(id, fmt::format("is {:g} but must be from {:g} to {:g}", number, minimum, maximum));
            }
            *at = static_cast<T>(number);
        } else {
            const std::string& text = std::get<std::string>(value);
            if constexpr (std::is_same_v<T, Optimiser::Kind>)
                *at = kOptimisers[choiceNamed(*this, text)];
            else if constexpr (std::is_same_v<T, Schedule::Kind>)
                *at = kSchedules[choiceNamed(*this, text)];
            else if constexpr (std::is_same_v<T, DType>)
                *at = precisionNamed(text).dtype;
            else
                *at = text;
        }
    };
    std::visit(write, slot(recipe));
}

void RecipeField::check(const Recipe& recipe) const {
    const RecipeValue now = value(recipe);
    if (kind == Kind::Choice) choiceNamed(*this, std::get<std::string>(now));
    if (!isNumber()) return;
    const double number = std::get<double>(now);
    if (!(number >= minimum && number <= maximum))
        fail(id, fmt::format("is {:g} but must be from {:g} to {:g}", number, minimum, maximum));
}

Param RecipeField::param() const {
    const RecipeValue initial = value(Recipe{});
    const double* number = std::get_if<double>(&initial);
    return {.id = id,
            .title = title,
            .help = help,
            .kind = kind == Kind::Toggle ? Param::Kind::Toggle
                    : kind == Kind::Real ? Param::Kind::Real
                                         : Param::Kind::Integer,
            .minimum = minimum,
            .maximum = kind == Kind::Toggle ? 1 : maximum,
            .step = step,
            .initial = number                    ? *number
                       : std::get<bool>(initial) ? 1.0
                                                 : 0.0,
            .usualMaximum = usualMaximum};
}

} // namespace attn
