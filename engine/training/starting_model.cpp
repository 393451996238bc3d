#include "engine/training/starting_model.h"

#include "engine/core/error.h"
#include "engine/core/globs.h"
#include "engine/data/image_data.h"
#include "engine/data/labelled_rows.h"
#include "engine/data/parallel_text.h"
#include "engine/io/content_hash.h"
#include "engine/io/input_file.h"
#include "engine/io/weight_source.h"
#include "engine/models/bundled.h"
#include "engine/models/config_reader.h"
#include "engine/models/folder_writer.h"
#include "engine/models/trainable_family.h"
#include "engine/models/vision_family.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"
#include "engine/training/composed_sites.h"
#include "engine/training/composed_start.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMostTokenizerBytes = uint64_t{64} << 20;

/// Whether a part of a name, such as "ln1" in "blocks.0.ln1.w", names a norm.
bool isNorm(const std::string& parameter) {
    return parameter.starts_with("ln") || parameter.find(".ln") != std::string::npos;
}

/// Whether the name of a parameter outside the blocks is that of an embedding.
bool isEmbedding(const std::string& parameter) {
    return parameter.find("unembed") == std::string::npos && parameter.find("embed") != std::string::npos;
}

bool isReadout(const std::string& parameter) {
    constexpr std::array kReadouts{"unembed", "mlm_head", "head.", "classifier", "pooler"};
    return std::ranges::any_of(kReadouts, [&](const char* begin) { return parameter.starts_with(begin); });
}

/// The labels of a model that a task may keep: of one that answers in the way that the task teaches.
std::vector<std::string> labelsFor(const Task& task, const ModelSpec& model) {
    const ReadoutSpec& own = model.classReadout();
    return own.activation == task.activation ? own.labels : std::vector<std::string>();
}

} // namespace

TaskSettings settingsFor(const Recipe& recipe, const std::optional<StartingModel>& start) {
    TaskSettings settings = recipe.settings;
    if (!start) return settings;
    settings.data.modelTokenizer = start->tokenizerJson;
    settings.data.modelPictures = start->source->preprocessing();
    settings.data.modelLabels = labelsFor(taskNamed(recipe.task), start->source->config());
    return settings;
}

std::vector<float> StartingModel::read(const std::string& parameter, const Shape& shape) const {
    return readDense([&](const std::string& name, const Shape& wanted,
                         const RowWriter& write) { source->read(name, wanted, write); },
                     parameter, shape);
}

std::vector<float> NewRows::fill(const StartingModel& start, const std::string& parameter, const Shape& shape,
                                 std::vector<float> fresh) const {
    std::vector<int64_t> extents = shape.extents();
    extents.front() = rowsBefore;
    const std::vector<float> old = start.read(parameter, Shape(extents));
    const auto width = static_cast<std::ptrdiff_t>(shape.elements() / shape[0]);
    for (std::ptrdiff_t row = 0; row < std::ssize(before); ++row)
        if (const auto known = before[static_cast<size_t>(row)])
            std::copy_n(old.begin() + *known * width, width, fresh.begin() + row * width);
    return fresh;
}

namespace {

/// Reads the tokenizer of a model of text.
void readTokenizer(StartingModel& model, const std::string& path) {
    const fs::path tokenizer = WeightSource(modelFolder(path)).folder() / "tokenizer.json";
    std::error_code error;
    if (!fs::exists(tokenizer, error))
        throw Error({.what = "has no tokenizer.json, which training writes to its folder",
                     .where = path,
                     .hint = "choose a model that has one"});
    if (model.source->tokenizer() == nullptr)
        throw Error({.what = fmt::format("training writes tokens, but {}", model.source->tokenizerProblem()),
                     .where = path,
                     .hint = "choose a model whose tokenizer this program can read"});
    model.tokenizerJson = wholeTokenizerJson(tokenizer.parent_path());
    for (const char* name :
         {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "generation_config.json"})
        if (fs::exists(tokenizer.parent_path() / name, error))
            model.smallFiles.emplace(name, readTextFile(tokenizer.parent_path() / name, kMostTokenizerBytes));
    if (const std::string exceeds = model.source->tokenizer()->whatExceeds(model.source->config().tokens.vocabulary);
        !exceeds.empty())
        throw Error({.what = exceeds, .where = tokenizer.string(), .hint = "choose another model"});
}

} // namespace

StartingModel openStartingModel(const StartingPoint& start, const Task& task) {
    StartingModel model;
    model.source = openModelSource(start.model);
    const bool isVision = model.source->config().axis == AxisKind::Patches;
    if (isVision != task.hasImages())
        throw Error({.what = isVision ? "a model of pictures cannot learn from text"
                                      : "a model of text cannot learn from pictures",
                     .where = start.model,
                     .hint = isVision ? "choose a model of text, or a task with pictures"
                                      : "choose a model that classifies pictures, or a task with text"});
    requireWritable(model.source->config(), start.model);
    if (!isVision) readTokenizer(model, start.model);
    const WeightSource weights(modelFolder(start.model));
    std::set<fs::path> files{weights.configFile()};
    if (!isVision) files.insert(weights.folder() / "tokenizer.json");
    for (const std::string& name : weights.names()) files.insert(weights.fileOf(name));
    model.hash = contentHash(std::vector(files.begin(), files.end()));
    if (!start.hash.empty() && start.hash != model.hash)
        throw Error({.what = fmt::format("is not the model from which the training run started: its hash begins "
                                         "with {:.12}, not {:.12}",
                                         model.hash, start.hash),
                     .where = start.model,
                     .hint = "restore the model, or start a new training run"});
    return model;
}

namespace {

/// The family whose models have all but the attention of a composed model.
std::string plainFamilyOf(const ModelSpec& config) {
    for (const TrainableFamily* family : trainableFamilies())
        if (family->composes && family->describe && family->looksAhead == isEncoder(config) &&
            family->hasSource == config.readsStream() && family->describe({}, 1, 1).norm == config.norm &&
            family->describe({}, 1, 1).embeddingNorm == config.embeddingNorm)
            return std::string(family->id);
    return Architecture().family; // none that this program has written
}

Architecture architectureOfText(const ModelSpec& config) {
    const LayerAttention& first = config.layers.front();
    const HeadCounts heads = first.heads();
    const bool isComposed = config.family == "attention-lab", isGated = config.feedForward.gated;
    return {.family = isComposed ? plainFamilyOf(config) : config.family,
            .layers = static_cast<int64_t>(config.layers.size()),
            .heads = heads.heads,
            .keyValueHeads = heads.groups == heads.heads ? 0 : heads.groups,
            .width = config.modelWidth,
            .feedForward = config.feedForward.width,
            .activation = isGated ? Architecture{}.activation : activationName(config.feedForward.activation),
            .bias = first.queryKeyValueBias || first.outputBias || config.feedForward.bias,
            .attentionOnly = config.feedForward.width == 0,
            .attention = !isComposed            ? std::string()
                         : config.readsStream() ? siteCompositionOf(config)
                                                : compositionOf(config.layers)};
}

Architecture architectureOfPictures(const ModelSpec& config) {
    return {.family = std::string(kTrainsVit.id),
            .layers = static_cast<int64_t>(config.layers.size()),
            .heads = config.layers.front().heads().heads,
            .width = config.modelWidth,
            .feedForward = config.feedForward.width,
            .activation = activationName(config.feedForward.activation),
            .attention = hasPlainAttention(config) ? std::string() : compositionOf(config.layers),
            .patch = config.patches.patch,
            .pooling = config.classReadout().pooling == PatchPooling::Cls ? "cls" : "mean",
            .positions = config.positions == Positions::Learned      ? "learned"
                         : config.positions == Positions::Sinusoidal ? "sinusoidal"
                                                                     : "none",
            .window = config.patches.windows.empty() ? 0 : config.patches.windows.front().size,
            .merges = static_cast<int64_t>(config.patches.merges.size()),
            .pooledTokens = config.patches.pools.empty() ? 0 : config.patches.pools.front().tokens};
}

} // namespace

Recipe startingFrom(const StartingModel& model, Recipe recipe) {
    Architecture fresh = std::move(recipe.architecture);
    recipe.start.hash = model.hash;
    const ModelSpec& config = model.source->config();
    recipe.architecture =
        config.axis == AxisKind::Patches ? architectureOfPictures(config) : architectureOfText(config);
    requireAsked(recipe.start, recipe.task, fresh, recipe.architecture);
    if (recipe.start.asked.contains("key_value_heads")) fresh.attention = withKeyValueHeads(fresh, recipe.architecture);
    recipe.start.asked.clear(); // now recorded with all others
    if (config.readsStream()) {
        if (!fresh.attention.empty()) recipe.architecture.attention = fresh.attention;
        recipe.architecture.init = fresh.init;
        recipe.architecture.initialDeviation = fresh.initialDeviation;
        return recipe;
    }
    const std::vector<LayerAttention>& own = config.layers;
    if (!fresh.attention.empty() && fresh.attention != compositionOf(own))
        if (std::string wanted = compositionFrom(own, fresh.attention); !wanted.empty())
            recipe.architecture.attention = std::move(wanted);
    recipe.architecture.init = fresh.init;
    recipe.architecture.initialDeviation = fresh.initialDeviation;
    return recipe;
}

int blockOf(std::span<const std::string> blocks, const std::string& parameter) {
    const auto found =
        std::ranges::find_if(blocks, [&](const std::string& block) { return parameter.starts_with(block + "."); });
    return found == blocks.end() ? -1 : static_cast<int>(found - blocks.begin());
}

std::string kindsOf(std::span<const std::string> parameters, std::span<const std::string> blocks) {
    std::set<std::string> kinds;
    for (const std::string& name : parameters) {
        const int block = blockOf(blocks, name);
        const std::string own = block < 0 ? std::string() : blocks[static_cast<size_t>(block)];
        kinds.insert(own.empty() ? name : own.substr(0, own.rfind('.')) + ".*" + name.substr(own.size()));
    }
    return fmt::format("{}", fmt::join(kinds, ", "));
}

std::vector<std::string> trainedParameters(const StartingPoint& start, std::span<const std::string> parameters,
                                           std::span<const std::string> blocks,
                                           const std::function<bool(const std::string&)>& isNew) {
    std::vector<std::string> result;
    if (start.adapters.rank > 0) {
        std::ranges::copy_if(parameters, std::back_inserter(result), isNew);
        return result;
    }
    if (start.trained == "all") return {parameters.begin(), parameters.end()};
    if (start.trained == "norms and readout") {
        const bool isTied = std::ranges::find(parameters, "unembed.W_U") == parameters.end();
        std::ranges::copy_if(parameters, std::back_inserter(result), [&](const std::string& name) {
            return isNorm(name) || isReadout(name) || isNew(name) || (name == "embed.W_E" && isTied);
        });
        return result;
    }
    const std::vector<std::string> globs = splitAtCommas(start.trained);
    for (const std::string& glob : globs) {
        const auto matches = [&](const std::string& name) { return matchesGlob(glob, name); };
        if (std::ranges::none_of(parameters, matches))
            throw Error({.what = fmt::format("no parameter matches \"{}\"", glob),
                         .where = "recipe: trained",
                         .hint = fmt::format("choose \"all\", \"norms and readout\", or from: {}",
                                             kindsOf(parameters, blocks))});
    }
    std::ranges::copy_if(parameters, std::back_inserter(result), [&](const std::string& name) {
        return std::ranges::any_of(globs, [&](const std::string& glob) { return matchesGlob(glob, name); });
    });
    return result;
}

double rateFactor(const StartingPoint& start, const std::string& parameter, std::span<const std::string> blocks) {
    const int block = blockOf(blocks, parameter);
    const auto count = static_cast<int>(blocks.size());
    const int below = block >= 0 ? count - 1 - block : isEmbedding(parameter) ? count : 0;
    return std::pow(start.layerDecay, static_cast<double>(below));
}

double unknownShare(std::string_view text, const Tokenizer& tokenizer) {
    const Encoding encoding = tokenizer.encode(text, false);
    std::vector<bool> isWritten(text.size());
    for (size_t i = 0; i < encoding.ids.size(); ++i)
        if (encoding.ids[i] != tokenizer.unknownId())
            std::fill(isWritten.begin() + static_cast<std::ptrdiff_t>(encoding.ranges[i].begin),
                      isWritten.begin() + static_cast<std::ptrdiff_t>(encoding.ranges[i].end), true);
    int64_t all = 0, unknown = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const char32_t character = utf8::next(text, at);
        if (character <= U' ') continue; // tokenizers may leave out blanks
        ++all;
        unknown += isWritten[begin] ? 0 : 1;
    }
    return all == 0 ? 0 : static_cast<double>(unknown) / static_cast<double>(all);
}

std::string unknownWarning(const Recipe& recipe) {
    constexpr size_t kMostBytes = size_t{1} << 20;
    const TaskSettings& settings = recipe.settings;
    const bool isFile = !settings.data.text.empty() && !settings.data.text.string().starts_with("builtin:");
    if (recipe.start.model.empty() || settings.data.tokens != kModelTokens || !taskNamed(recipe.task).readsText ||
        !isFile)
        return {};
    const auto tokenizer = Tokenizer::ofFolder(modelFolder(recipe.start.model));
    if (!tokenizer) return {};
    std::string text = readTextFile(settings.data.text, kMostTokenizerBytes);
    if (text.size() > kMostBytes) text.resize(text.rfind('\n', kMostBytes) + 1); // whole characters
    if (utf8::firstInvalid(text)) return {};                                     // training says so
    const double share = unknownShare(text, *tokenizer);
    if (share <= 0.01) return {};
    return fmt::format("The model's tokens cannot write {:.0f} % of the characters of this text; the model learns "
                       "nothing of them. Choose another text, or other tokens for it.",
                       share * 100);
}

namespace {

/// LabelledTable::remark of a task that reads such a table; else empty.
std::string tableRemark(const Recipe& recipe, const Task& task) {
    if (task.activation == ClassActivation::Softmax) return {};
    const DataSettings& data = recipe.settings.data;
    std::vector<std::string> known;
    if (!recipe.start.model.empty()) known = labelsFor(task, openModelSource(recipe.start.model)->config());
    const LabelledTable table = readLabelledTable(task.hasImages() ? data.pictures : data.text, known,
                                                  labelKindOf(task.activation), task.hasImages());
    if (task.activation != ClassActivation::None) return table.remark;
    constexpr double kFar = 100; // a new readout begins near 0, and a step moves it by about the learning rate
    double least = 0, most = 0;
    for (const LabelledRow& row : table.rows)
        for (const double number : row.targets) least = std::min(least, number), most = std::max(most, number);
    if (most <= kFar && least >= -kFar) return table.remark;
    return fmt::format("{}{}the numbers of the table reach {:g}, and a model begins near 0 and learns in small steps: "
                       "write them in a larger unit, or subtract their mean and divide by their deviation",
                       table.remark, table.remark.empty() ? "" : ". ", most > -least ? most : least);
}

} // namespace

std::string dataWarning(const Recipe& recipe) {
    const DataSettings& data = recipe.settings.data;
    const Task& task = taskNamed(recipe.task);
    const auto joined = [](const std::string& first, const std::string& second) {
        return first + (first.empty() || second.empty() ? "" : " ") + second;
    };
    if (!data.pictures.empty()) return joined(tableRemark(recipe, task), picturesWarning(data.pictures));
    const bool hasFields = !data.text.empty() && (task.readsTranslation || task.hasSubtasks);
    const auto translation = task.readsTranslation ? data.translation : std::filesystem::path();
    return joined(hasFields ? unreadLines(data.text, translation, task.hasSubtasks ? 3 : 2) : tableRemark(recipe, task),
                  unknownWarning(recipe));
}

std::vector<float> readDense(const ReadStored& stored, const std::string& parameter, const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    std::vector<float> rows(static_cast<size_t>(shape.paddedElements()));
    stored(parameter, shape, [&](const auto& fill) { fill(0, rows); });
    const auto columns = static_cast<size_t>(shape.columns()), stride = static_cast<size_t>(shape.rowStride());
    for (size_t i = 0; i < values.size(); ++i) values[i] = rows[i / columns * stride + i % columns];
    return values;
}

} // namespace attn
