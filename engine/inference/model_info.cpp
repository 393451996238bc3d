#include "engine/inference/model_info.h"

#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"

#include <fmt/format.h>

#include <array>

namespace attn {
namespace {

std::string positionsOf(const ModelSpec& config) {
    const LayerAttention& first = config.layers.front();
    const Part& part = first.spec.part(Slot::Position);
    const bool isPicture = config.axis == AxisKind::Patches;
    if (!isPicture && part.position.rotation) {
        const Rotation rotation = part.position.rotation(first.spec.values(Slot::Position), first.headWidth);
        return fmt::format("rotary: {} of {} features turn in pairs, {}", rotation.frequencies.size() * 2,
                           first.headWidth, rotation.isInterleaved ? "each with its neighbour" : "one of each half");
    }
    if (!isPicture && !part.hooks.empty()) return std::string(part.title);
    if (isPicture && config.positions == Positions::None) return first.spec.id(Slot::Position);
    static constexpr std::array kAdded{"none", "learned", "sinusoidal"};
    return kAdded.at(static_cast<size_t>(config.positions));
}

std::string poolingOf(PatchPooling pooling) {
    if (pooling == PatchPooling::Cls) return "CLS";
    return pooling == PatchPooling::Mean ? "mean of patches" : "CLS and mean of patches";
}

} // namespace

bool ModelInfo::predicts(Readout::Kind kind) const {
    return std::ranges::any_of(structure.readouts, [kind](const Readout& each) { return each.kind == kind; });
}

std::string ModelInfo::labelOf(int index) const {
    const auto at = static_cast<size_t>(index);
    return at < labels.size() && !labels[at].empty() ? labels[at] : "class " + std::to_string(index);
}

namespace {

/// What only models of text have.
void describeText(ModelInfo& info, const ModelSource& source, int64_t capacity) {
    const ModelSpec& config = source.config();
    info.readsSource = config.source(AxisKind::Tokens) != nullptr;
    info.writtenPicture = config.picture;
    info.vocabulary = static_cast<int>(config.tokens.vocabulary);
    info.contextLength = static_cast<int>(capacity);
    info.ownContext = config.context;
    if (config.context > capacity)
        info.warnings.push_back(fmt::format("Attention Lab reads at most {} of this model's {} tokens",
                                            groupDigits(static_cast<size_t>(capacity)),
                                            groupDigits(static_cast<size_t>(config.context))));
    info.readsTrees = treeSpec(config) != nullptr;
    if (readsOneRow(config.readout())) {
        info.labels = config.classReadout().labels;
        info.classes = static_cast<int>(info.labels.size());
    }
    const Tokenizer* tokenizer = source.tokenizer();
    info.hasTokenizer = tokenizer != nullptr;
    info.tokenizerProblem = source.tokenizerProblem();
    info.rules = source.generation();
    if (!info.tokenizerProblem.empty())
        info.warnings.push_back(
            fmt::format("the tokenizer cannot be read, so the model takes token ids: {}", info.tokenizerProblem));
    if (!tokenizer) return;
    info.tokenizerSummary = tokenizer->summary();
    if (info.predicts(Readout::Kind::MaskedToken)) info.maskToken = tokenizer->maskId();
    info.readsPairs = !info.writesText();
    for (int id = 0; id < tokenizer->vocabularySize(); ++id) info.tokenTexts.push_back(tokenizer->tokenText(id));
    const auto noteExcess = [&](const Tokenizer& each, int64_t rows) {
        if (const std::string exceeds = each.whatExceeds(rows); !exceeds.empty())
            info.warnings.push_back(exceeds + ": some texts cannot be run");
    };
    noteExcess(*tokenizer, config.tokens.vocabulary);
    const StreamSpec* read = config.source(AxisKind::Tokens);
    if (const Tokenizer* other = source.sourceTokenizer(); read != nullptr && other != tokenizer)
        noteExcess(*other, read->tokens.vocabulary);
}

/// What only models of pictures have.
void describePictures(ModelInfo& info, const ModelSpec& config) {
    const PatchEmbedding& patches = config.patches;
    info.image = patches.image;
    info.grid = patches.grid();
    info.patch = static_cast<int>(patches.patch);
    info.channels = static_cast<int>(patches.channels);
    info.prefix = patches.prefixNames();
    const ReadoutSpec& readout = config.classReadout();
    info.pooling = poolingOf(readout.pooling);
    info.classes = static_cast<int>(readout.classes);
    info.labels = readout.labels;
}

} // namespace

ModelInfo modelInfo(const ModelSource& source, int64_t capacity) {
    const ModelSpec& config = source.config();
    ModelInfo info;
    info.name = config.name;
    info.family = config.family;
    info.familyTitle = source.familyTitle();
    info.configJson = source.configText();
    info.dtype = source.dtype();
    info.structure = structureOf(config, capacity);
    info.warnings = source.warnings();
    info.leftOut = source.leftOut();
    info.layers = static_cast<int>(config.layers.size());
    info.heads = info.structure.mostHeads();
    info.modelWidth = static_cast<int>(config.modelWidth);
    info.feedForwardWidth = static_cast<int>(config.feedForward.width);
    info.positions = positionsOf(config);
    for (int site = 0; site < info.siteCount(); ++site) info.attentions.push_back(siteAttention(config, site).spec);
    info.settings = settingsOf(source, capacity);
    info.activation = config.classReadout().activation;
    if (config.axis == AxisKind::Patches)
        describePictures(info, config);
    else
        describeText(info, source, capacity);
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
