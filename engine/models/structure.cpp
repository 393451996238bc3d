#include "engine/models/structure.h"

#include "engine/models/hook_names.h"
#include "engine/models/model_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

/// A site whose queries and keys are rows of the same stream.
Site siteOf(const LayerAttention& attention, const std::string& block, int layer, int stream) {
    const auto [heads, groups] = attention.heads();
    return {.name = block + ".attn",
            .block = block,
            .layer = layer,
            .queryStream = stream,
            .keyStream = stream,
            .heads = static_cast<int>(heads),
            .keyValueHeads = static_cast<int>(groups),
            .headWidth = static_cast<int>(attention.headWidth)};
}

} // namespace

std::string Site::hook(std::string_view hook) const { return inSite(fmt::format("hook_{}", hook)); }
std::string Site::inSite(std::string_view part) const { return fmt::format("{}.{}", name, part); }
std::string Site::inBlock(std::string_view part) const { return fmt::format("{}.{}", block, part); }
std::string Site::stack() const { return block.substr(0, block.find('.')); }
std::string Site::inStack(std::string_view part) const {
    return block == blockName(layer) ? std::string(part) : fmt::format("{}.{}", stack(), part);
}

const Axis& ModelStructure::queryAxis(int site) const {
    const Stream& stream = streams.at(static_cast<size_t>(sites.at(static_cast<size_t>(site)).queryStream));
    return axes.at(static_cast<size_t>(stream.axis));
}

const Axis& ModelStructure::keyAxis(int site) const {
    const Stream& stream = streams.at(static_cast<size_t>(sites.at(static_cast<size_t>(site)).keyStream));
    return axes.at(static_cast<size_t>(stream.axis));
}

int ModelStructure::axisOf(const std::string& hook, char letter) const {
    if (const auto index = siteOf(hook)) {
        const Site& site = sites[static_cast<size_t>(*index)];
        return streams[static_cast<size_t>(letter == 'S' ? site.keyStream : site.queryStream)].axis;
    }
    for (const Stream& stream : streams)
        if (hook.starts_with(stream.name + ".")) return stream.axis;
    return streams.back().axis;
}

std::optional<int> ModelStructure::siteOf(const std::string& hook) const {
    const auto isIn = [&](const Site& site) { return hook.starts_with(site.name + "."); };
    const auto found = std::ranges::find_if(sites, isIn);
    return found == sites.end() ? std::nullopt : std::optional(static_cast<int>(found - sites.begin()));
}

bool ModelStructure::hasTwoStacks() const {
    return std::ranges::any_of(sites, [](const Site& each) { return each.queryStream != each.keyStream; });
}

bool ModelStructure::isCross(int site) const {
    const Site& at = sites.at(static_cast<size_t>(site));
    return at.queryStream != at.keyStream;
}

std::string ModelStructure::labelOf(int site) const {
    const Site& at = sites.at(static_cast<size_t>(site));
    const char* const kind = !hasTwoStacks()       ? ""
                             : isCross(site)       ? "Cross "
                             : at.queryStream == 0 ? "Encoder "
                                                   : "Decoder ";
    return fmt::format("{}L{}", kind, at.layer);
}

std::string ModelStructure::blockLabelOf(int site) const {
    const auto& block = sites.at(static_cast<size_t>(site)).block;
    return labelOf(static_cast<int>(std::ranges::find(sites, block, &Site::block) - sites.begin()));
}

int ModelStructure::mostHeads() const { return sites.empty() ? 0 : std::ranges::max(sites, {}, &Site::heads).heads; }

std::vector<int> ModelStructure::firstSites() const {
    std::vector<int> first;
    for (size_t site = 0; site < sites.size(); ++site)
        if (site == 0 || sites[site].block != sites[site - 1].block) first.push_back(static_cast<int>(site));
    return first;
}

std::vector<std::string> ModelStructure::blocks() const {
    std::vector<std::string> names;
    for (const int site : firstSites()) names.push_back(sites[static_cast<size_t>(site)].block);
    return names;
}

std::vector<int> ModelStructure::sitesOf(int stream) const {
    std::vector<int> found;
    for (size_t site = 0; site < sites.size(); ++site)
        if (sites[site].queryStream == stream) found.push_back(static_cast<int>(site));
    return found;
}

std::string_view nameOf(AxisKind kind) { return kind == AxisKind::Tokens ? "tokens" : "patches"; }

namespace {

ModelStructure structureOfPatches(const ModelSpec& config) {
    ModelStructure structure;
    for (int64_t layer = 0; layer <= config.lastLayer(); ++layer) {
        const int64_t tokens = config.patches.tokensOf(layer), width = config.widthOf(layer);
        const bool begins = structure.streams.empty() || structure.axes.back().length != tokens ||
                            structure.streams.back().width != width;
        if (begins) {
            structure.axes.push_back({.kind = AxisKind::Patches, .length = tokens});
            structure.streams.push_back({.name = fmt::format("stage {}", structure.streams.size() + 1),
                                         .axis = static_cast<int>(structure.axes.size()) - 1,
                                         .width = width});
        }
        structure.sites.push_back(siteOf(config.layers[static_cast<size_t>(layer)], blockName(layer),
                                         static_cast<int>(layer), static_cast<int>(structure.streams.size()) - 1));
    }
    if (structure.streams.size() == 1) structure.streams.front().name = "encoder";
    if (config.classes > 0)
        structure.readouts.push_back({.kind = Readout::Kind::Class,
                                      .stream = static_cast<int>(structure.streams.size()) - 1,
                                      .choices = config.classes});
    return structure;
}

/// Adds a stream of tokens with its sites. @param stack "encoder" or "decoder" of a model with both, else "blocks"
void addTokens(ModelStructure& structure, const StreamSpec& stream, const char* name, const char* stack,
               int64_t length) {
    const auto index = static_cast<int>(structure.streams.size());
    structure.axes.push_back({.kind = AxisKind::Tokens, .length = length});
    structure.streams.push_back({.name = name, .axis = index, .width = stream.modelWidth});
    for (size_t layer = 0; layer < stream.layers.size(); ++layer) {
        const auto at = static_cast<int>(layer);
        const std::string block = blockName(at, stack);
        structure.sites.push_back(siteOf(stream.layers[layer], block, at, index));
        if (stream.crossAttention.empty()) continue;
        Site& cross = structure.sites.emplace_back(siteOf(stream.crossAttention[layer], block, at, index));
        cross.name = block + ".cross_attn";
        cross.keyStream = index - 1;
    }
}

} // namespace

ModelStructure structureOf(const ModelSpec& config, int64_t length) {
    if (config.axis == AxisKind::Patches) return structureOfPatches(config);
    ModelStructure structure;
    if (config.encoder)
        addTokens(structure, *config.encoder, "encoder", "encoder", std::min(length, config.encoder->context));
    addTokens(structure, config, isEncoder(config) ? "encoder" : "decoder", config.encoder ? "decoder" : "blocks",
              length);
    if (predictsTokens(config.readout))
        structure.readouts.push_back(
            {.kind = config.readout == TextReadout::MaskedToken ? Readout::Kind::MaskedToken : Readout::Kind::NextToken,
             .stream = static_cast<int>(structure.streams.size()) - 1,
             .choices = config.tokens.vocabulary});
    return structure;
}

} // namespace attn
