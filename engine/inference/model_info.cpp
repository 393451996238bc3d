#include "engine/inference/model_info.h"

#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/models/decoder.h"
#include "engine/models/model_source.h"
#include "engine/models/vision_source.h"

#include <fmt/format.h>

#include <array>

namespace attn {
namespace {

/// The values that models of text and of pictures have alike.
template <class Source> ModelInfo described(const Source& source, ModelStructure structure) {
    const auto& config = source.config();
    ModelInfo info;
    info.name = config.name;
    info.family = config.family;
    info.familyTitle = source.familyTitle();
    info.configJson = source.configText();
    info.dtype = source.dtype();
    info.structure = std::move(structure);
    info.warnings = source.warnings();
    info.leftOut = source.leftOut();
    info.layers = static_cast<int>(config.layers.size());
    info.heads = info.structure.mostHeads();
    info.modelWidth = static_cast<int>(config.modelWidth);
    info.feedForwardWidth = static_cast<int>(config.feedForward.width);
    return info;
}

std::string positionsOf(const DecoderConfig& config) {
    const LayerAttention& first = config.layers.front();
    const Part& part = first.spec.part(Slot::Position);
    if (part.position.rotation) {
        const Rotation rotation = part.position.rotation(first.spec.values(Slot::Position), first.headWidth);
        return fmt::format("rotary, {}, {} of {} features", rotation.isInterleaved ? "interleaved" : "half-split",
                           rotation.frequencies.size() * 2, first.headWidth);
    }
    if (!part.hooks.empty()) return std::string(part.title);
    static constexpr std::array kAdded{"none", "learned", "sinusoidal"};
    return kAdded.at(static_cast<size_t>(config.positions));
}

std::string positionsOf(const VisionConfig& config) {
    if (config.positions == VisionPositions::Learned) return "learned";
    if (config.positions == VisionPositions::Sinusoidal) return "sinusoidal";
    return config.layers.front().spec.id(Slot::Position);
}

std::string poolingOf(VisionPooling pooling) {
    if (pooling == VisionPooling::Cls) return "CLS";
    return pooling == VisionPooling::Mean ? "mean of patches" : "CLS and mean of patches";
}

} // namespace

bool ModelInfo::predicts(Readout::Kind kind) const {
    return std::ranges::any_of(structure.readouts, [kind](const Readout& each) { return each.kind == kind; });
}

std::string ModelInfo::labelOf(int index) const {
    const auto at = static_cast<size_t>(index);
    return at < labels.size() && !labels[at].empty() ? labels[at] : "class " + std::to_string(index);
}

ModelInfo modelInfo(const ModelSource& source, int64_t capacity) {
    const DecoderConfig& config = source.config();
    ModelInfo info = described(source, structureOf(config, capacity));
    for (int site = 0; site < info.siteCount(); ++site) info.attentions.push_back(siteAttention(config, site).spec);
    info.readsSource = config.hasEncoder();
    info.settings = settingsOf(source, capacity);
    info.writtenPicture = config.picture;
    info.positions = positionsOf(config);
    info.vocabulary = static_cast<int>(config.vocabulary);
    info.contextLength = static_cast<int>(capacity);
    info.ownContext = config.context;
    if (config.context > capacity)
        info.warnings.push_back(fmt::format("Attention Lab reads at most {} of this model's {} tokens",
                                            groupDigits(static_cast<size_t>(capacity)),
                                            groupDigits(static_cast<size_t>(config.context))));
    info.readsTrees = treeSpec(config) != nullptr;
    info.activation = config.activation;
    if (!predictsTokens(config.readout) && readsOneRow(config.readout)) {
        info.classes = static_cast<int>(config.labels.size());
        info.labels = config.labels;
    }
    const Tokenizer* tokenizer = source.tokenizer();
    info.hasTokenizer = tokenizer != nullptr;
    info.tokenizerProblem = source.tokenizerProblem();
    info.choice = source.generation().choice;
    info.choiceFile = source.generation().file;
    if (!info.tokenizerProblem.empty())
        info.warnings.push_back(
            fmt::format("the tokenizer cannot be read, so the model takes token ids: {}", info.tokenizerProblem));
    if (!tokenizer) return info;
    info.tokenizerSummary = tokenizer->summary();
    if (info.predicts(Readout::Kind::MaskedToken)) info.maskToken = tokenizer->maskId();
    info.readsPairs = !info.writesText();
    for (int id = 0; id < tokenizer->vocabularySize(); ++id) info.tokenTexts.push_back(tokenizer->tokenText(id));
    if (static_cast<int64_t>(tokenizer->vocabularySize()) > config.vocabulary)
        info.warnings.push_back(
            fmt::format("the tokenizer has {} tokens but the model only {}: some texts cannot be run",
                        tokenizer->vocabularySize(), config.vocabulary));
    return info;
}

ModelInfo modelInfo(const VisionSource& source) {
    const VisionConfig& config = source.config();
    ModelInfo info = described(source, structureOf(config));
    for (const LayerAttention& layer : config.layers) info.attentions.push_back(layer.spec);
    info.positions = positionsOf(config);
    info.settings = settingsOf(source);
    info.image = config.image;
    info.grid = config.grid();
    info.patch = static_cast<int>(config.patch);
    info.channels = static_cast<int>(config.channels);
    info.prefix = prefixNames(config);
    info.pooling = poolingOf(config.pooling);
    info.classes = static_cast<int>(config.classes);
    info.activation = config.activation;
    info.labels = source.labels();
    return info;
}

void ModelInfo::requireHead(int site, int head) const {
    const auto& sites = structure.sites;
    const bool hasSite = site >= 0 && static_cast<size_t>(site) < sites.size();
    if (hasSite && head >= 0 && head < this->site(site).heads) return;
    throw Error({.what = fmt::format("there is no head {} in layer {}", head, hasSite ? this->site(site).layer : site),
                 .where = name,
                 .hint = hasSite ? fmt::format("the layer has {} heads", this->site(site).heads)
                                 : fmt::format("the model has {} layers", sites.size())});
}

} // namespace attn
