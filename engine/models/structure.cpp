#include "engine/models/structure.h"

#include "engine/models/decoder.h"
#include "engine/models/hook_names.h"
#include "engine/models/vision_config.h"

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

const Axis& ModelStructure::queryAxis(int site) const {
    const Stream& stream = streams.at(static_cast<size_t>(sites.at(static_cast<size_t>(site)).queryStream));
    return axes.at(static_cast<size_t>(stream.axis));
}

const Axis& ModelStructure::keyAxis(int site) const {
    const Stream& stream = streams.at(static_cast<size_t>(sites.at(static_cast<size_t>(site)).keyStream));
    return axes.at(static_cast<size_t>(stream.axis));
}

int ModelStructure::axisOf(const std::string& hook, char letter) const {
    for (const Site& site : sites)
        if (hook.starts_with(site.name + "."))
            return streams[static_cast<size_t>(letter == 'S' ? site.keyStream : site.queryStream)].axis;
    for (const Stream& stream : streams)
        if (hook.starts_with(stream.name + ".")) return stream.axis;
    return streams.back().axis;
}

bool ModelStructure::isCross(int site) const {
    const Site& at = sites.at(static_cast<size_t>(site));
    return at.queryStream != at.keyStream;
}

std::string ModelStructure::labelOf(int site) const {
    const Site& at = sites.at(static_cast<size_t>(site));
    const bool hasTwo = std::ranges::any_of(sites, [](const Site& each) { return each.queryStream != each.keyStream; });
    const char* const kind = !hasTwo ? "" : isCross(site) ? "Cross " : at.queryStream == 0 ? "Encoder " : "Decoder ";
    return fmt::format("{}L{}", kind, at.layer);
}

int ModelStructure::mostHeads() const { return sites.empty() ? 0 : std::ranges::max(sites, {}, &Site::heads).heads; }

std::vector<std::string> ModelStructure::blocks() const {
    std::vector<std::string> names;
    for (const Site& site : sites)
        if (names.empty() || names.back() != site.block) names.push_back(site.block);
    return names;
}

std::string_view nameOf(AxisKind kind) { return kind == AxisKind::Tokens ? "tokens" : "patches"; }

ModelStructure structureOf(const DecoderConfig& config, int64_t length) {
    ModelStructure structure;
    if (config.hasEncoder()) {
        const DecoderConfig& encoder = config.encoder.front();
        structure.axes.push_back({.kind = AxisKind::Tokens, .length = std::min(length, encoder.context)});
        structure.streams.push_back({.name = "encoder", .axis = 0, .width = encoder.modelWidth});
        for (size_t layer = 0; layer < encoder.layers.size(); ++layer) {
            const auto at = static_cast<int>(layer);
            structure.sites.push_back(siteOf(encoder.layers[layer], blockName(at, "encoder"), at, 0));
        }
    }
    const auto stream = static_cast<int>(structure.streams.size());
    structure.axes.push_back({.kind = AxisKind::Tokens, .length = length});
    structure.streams.push_back(
        {.name = isEncoder(config) ? "encoder" : "decoder", .axis = stream, .width = config.modelWidth});
    if (predictsTokens(config.readout))
        structure.readouts.push_back(
            {.kind = config.readout == TextReadout::MaskedToken ? Readout::Kind::MaskedToken : Readout::Kind::NextToken,
             .stream = stream,
             .choices = config.vocabulary});
    for (size_t layer = 0; layer < config.layers.size(); ++layer) {
        const auto at = static_cast<int>(layer);
        const std::string block = config.hasEncoder() ? blockName(at, "decoder") : blockName(at);
        structure.sites.push_back(siteOf(config.layers[layer], block, at, stream));
        if (!config.hasEncoder()) continue;
        Site& cross = structure.sites.emplace_back(siteOf(config.crossAttention[layer], block, at, stream));
        cross.name = block + ".cross_attn";
        cross.keyStream = 0;
    }
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

} // namespace attn
