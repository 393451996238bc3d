#include "engine/models/structure.h"

#include "engine/models/decoder.h"
#include "engine/models/hook_names.h"
#include "engine/models/vision_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

/// A site whose queries and keys are rows of the same stream.
Site selfAttention(const LayerAttention& attention, int layer, int stream) {
    const auto [heads, groups] = attention.heads();
    return {.name = siteName(layer),
            .block = blockName(layer),
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

const Axis& ModelStructure::queryAxis(int site) const {
    const Stream& stream = streams.at(static_cast<size_t>(sites.at(static_cast<size_t>(site)).queryStream));
    return axes.at(static_cast<size_t>(stream.axis));
}

const Axis& ModelStructure::keyAxis(int site) const {
    const Stream& stream = streams.at(static_cast<size_t>(sites.at(static_cast<size_t>(site)).keyStream));
    return axes.at(static_cast<size_t>(stream.axis));
}

int ModelStructure::mostHeads() const { return sites.empty() ? 0 : std::ranges::max(sites, {}, &Site::heads).heads; }

std::string_view nameOf(AxisKind kind) { return kind == AxisKind::Tokens ? "tokens" : "patches"; }

ModelStructure structureOf(const DecoderConfig& config, int64_t length) {
    ModelStructure structure{
        .axes = {{.kind = AxisKind::Tokens, .length = length}},
        .streams = {{.name = isEncoder(config) ? "encoder" : "decoder", .axis = 0, .width = config.modelWidth}},
        .sites = {},
        .readouts = {}};
    if (config.readout != TextReadout::None)
        structure.readouts.push_back(
            {.kind = config.readout == TextReadout::MaskedToken ? Readout::Kind::MaskedToken : Readout::Kind::NextToken,
             .stream = 0,
             .choices = config.vocabulary});
    for (const LayerAttention& layer : config.layers)
        structure.sites.push_back(selfAttention(layer, static_cast<int>(structure.sites.size()), 0));
    return structure;
}

ModelStructure structureOf(const VisionConfig& config) {
    ModelStructure structure;
    for (int64_t layer = 0; layer <= config.lastLayer(); ++layer) {
        const int64_t tokens = config.tokensOf(layer), width = config.widthOf(layer);
        const bool begins = structure.streams.empty() || structure.axes.back().length != tokens ||
                            structure.streams.back().width != width;
        if (begins) {
            structure.axes.push_back({.kind = AxisKind::Patches, .length = tokens});
            structure.streams.push_back({.name = fmt::format("stage {}", structure.streams.size() + 1),
                                         .axis = static_cast<int>(structure.axes.size()) - 1,
                                         .width = width});
        }
        structure.sites.push_back(selfAttention(config.layers[static_cast<size_t>(layer)], static_cast<int>(layer),
                                                static_cast<int>(structure.streams.size()) - 1));
    }
    if (structure.streams.size() == 1) structure.streams.front().name = "encoder";
    if (config.classes > 0)
        structure.readouts.push_back({.kind = Readout::Kind::Class,
                                      .stream = static_cast<int>(structure.streams.size()) - 1,
                                      .choices = config.classes});
    return structure;
}

} // namespace attn
