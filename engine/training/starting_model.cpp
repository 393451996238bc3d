#include "engine/training/starting_model.h"

#include "engine/core/error.h"
#include "engine/core/globs.h"
#include "engine/io/content_hash.h"
#include "engine/io/input_file.h"
#include "engine/io/weight_source.h"
#include "engine/models/bundled.h"
#include "engine/models/config_reader.h"
#include "engine/models/folder_writer.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

bool isEmbedding(const std::string& parameter) {
    return splitName(parameter).layer < 0 && !parameter.starts_with("unembed") &&
           parameter.find("embed") != std::string::npos;
}

/// A kind of parameter: "blocks.*.attn.W_Q" of "blocks.3.attn.W_Q".
std::string kindOf(const std::string& parameter) {
    const auto [layer, rest] = splitName(parameter);
    return layer < 0 ? rest : inEveryBlock(rest);
}

} // namespace

StartingModel openStartingModel(const StartingPoint& start) {
    StartingModel model{.source = openModelSource(start.model), .tokenizerJson = {}, .hash = {}};
    const DecoderConfig& config = model.source->config();
    if (config.hasEncoder())
        throw Error({.what = "a model with an encoder and a decoder cannot be trained further",
                     .where = start.model,
                     .hint = "choose a model with one stack of layers"});
    requireWritable(config, start.model);
    const WeightSource weights(modelFolder(start.model));
    const fs::path tokenizer = weights.folder() / "tokenizer.json";
    std::error_code error;
    if (!fs::exists(tokenizer, error))
        throw Error({.what = "has no tokenizer.json, which training writes to its folder",
                     .where = start.model,
                     .hint = "choose a model that has one"});
    model.tokenizerJson = readTextFile(tokenizer, kMostTokenizerBytes);
    if (const int tokens = model.source->tokenizer()->vocabularySize(); tokens > config.vocabulary)
        throw Error(
            {.what = fmt::format("the tokenizer has {} tokens but the model only {}", tokens, config.vocabulary),
             .where = tokenizer.string(),
             .hint = "choose another model"});
    std::set<fs::path> files{weights.configFile(), tokenizer};
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

Recipe startingFrom(const StartingModel& model, Recipe recipe) {
    const DecoderConfig& config = model.source->config();
    const LayerAttention& first = config.layers.front();
    const HeadCounts heads = first.heads();
    const bool isComposed = config.family == "attention-lab", isGated = config.feedForward.gated;
    Architecture& a = recipe.architecture;
    recipe.start.hash = model.hash;
    a = {.family = !isComposed                        ? config.family
                   : config.norm == NormKind::RmsNorm ? "llama"
                                                      : "gpt2",
         .layers = static_cast<int64_t>(config.layers.size()),
         .heads = heads.heads,
         .keyValueHeads = heads.groups == heads.heads ? 0 : heads.groups,
         .width = config.modelWidth,
         .feedForward = config.feedForward.width,
         .activation = isGated ? Architecture{}.activation : activationName(config.feedForward.activation),
         .bias = first.queryKeyValueBias || first.outputBias || config.feedForward.bias,
         .attentionOnly = config.feedForward.width == 0,
         .initialDeviation = a.initialDeviation};
    for (size_t layer = 0; isComposed && layer < config.layers.size(); ++layer)
        a.attention += (layer == 0 ? "" : "; ") + config.layers[layer].spec.text();
    return recipe;
}

std::vector<std::string> trainedParameters(const StartingPoint& start, std::span<const std::string> parameters,
                                           bool hasNewTokens) {
    if (start.trained == "all") return {parameters.begin(), parameters.end()};
    std::vector<std::string> result;
    if (start.trained == "norms and readout") {
        const bool isTied = std::ranges::find(parameters, "unembed.W_U") == parameters.end();
        std::ranges::copy_if(parameters, std::back_inserter(result), [&](const std::string& name) {
            return isNorm(name) || name.starts_with("unembed") || name.starts_with("mlm_head") ||
                   (name == "embed.W_E" && (isTied || hasNewTokens));
        });
        return result;
    }
    const std::vector<std::string> globs = splitAtCommas(start.trained);
    for (const std::string& glob : globs) {
        const auto matches = [&](const std::string& name) { return matchesGlob(glob, name); };
        if (std::ranges::any_of(parameters, matches)) continue;
        std::set<std::string> kinds;
        for (const std::string& name : parameters) kinds.insert(kindOf(name));
        throw Error(
            {.what = fmt::format("no parameter matches \"{}\"", glob),
             .where = "recipe: trained",
             .hint = fmt::format("choose \"all\", \"norms and readout\", or from: {}", fmt::join(kinds, ", "))});
    }
    std::ranges::copy_if(parameters, std::back_inserter(result), [&](const std::string& name) {
        return std::ranges::any_of(globs, [&](const std::string& glob) { return matchesGlob(glob, name); });
    });
    return result;
}

double rateFactor(const StartingPoint& start, const std::string& parameter, int64_t layers) {
    const int layer = splitName(parameter).layer;
    const int64_t below = layer >= 0 ? layers - 1 - layer : isEmbedding(parameter) ? layers : 0;
    return std::pow(start.layerDecay, static_cast<double>(below));
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
