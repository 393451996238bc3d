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
std::string Site::inStack(std::string_view part) const { return attn::inStack(stack(), part); }

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
    for (const Site& site : sites) // of a block, between its sites
        if (hook.starts_with(site.block + ".")) return streams[static_cast<size_t>(site.queryStream)].axis;
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
    const char* const kind = !hasTwoStacks()           ? ""
                             : isCross(site)           ? "Cross "
                             : at.stack() == "encoder" ? "Encoder "
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

namespace {

/// Adds a stream with its sites: several, where its layers differ in rows or in width.
/// @param length the number of rows where it is free
void addStream(ModelStructure& structure, const StreamSpec& stream, const std::string& name, int64_t length) {
    const std::ptrdiff_t first = std::ssize(structure.streams);
    for (int64_t layer = 0; layer <= std::max<int64_t>(stream.lastLayer(), 0); ++layer) {
        const int64_t rows = stream.numbers() ? stream.rowsOf(layer) : length, width = stream.widthOf(layer);
        if (std::ssize(structure.streams) == first || structure.axes.back().length != rows ||
            structure.streams.back().width != width) {
            structure.axes.push_back({.kind = stream.axis, .length = rows});
            structure.streams.push_back({.name = fmt::format("stage {}", std::ssize(structure.streams) - first + 1),
                                         .axis = static_cast<int>(structure.axes.size()) - 1,
                                         .width = width});
        }
        if (layer > stream.lastLayer()) break;
        const auto at = static_cast<size_t>(layer);
        const auto index = static_cast<int>(structure.streams.size()) - 1;
        const std::string block = blockName(layer, stream.stack);
        structure.sites.push_back(siteOf(stream.layers[at], block, static_cast<int>(layer), index));
        if (!stream.readsStream()) continue;
        Site& cross =
            structure.sites.emplace_back(siteOf(stream.crossAttention[at], block, static_cast<int>(layer), index));
        cross.name = block + ".cross_attn";
        cross.keyStream = static_cast<int>(first) - 1;
    }
    if (std::ssize(structure.streams) == first + 1) structure.streams.back().name = name;
}

} // namespace

ModelStructure structureOf(const ModelSpec& config, int64_t length) {
    ModelStructure structure;
    for (const StreamSpec* stream : config.streams()) {
        const bool isEncoderOfAny = stream->isSource() || stream->axis == AxisKind::Patches || isEncoder(config);
        addStream(structure, *stream, isEncoderOfAny ? "encoder" : "decoder",
                  stream->isSource() ? std::min(length, stream->context) : length);
    }
    const auto add = [&](Readout::Kind kind, int64_t choices) {
        structure.readouts.push_back(
            {.kind = kind, .stream = static_cast<int>(structure.streams.size()) - 1, .choices = choices});
    };
    if (const int64_t classes = config.classReadout().classes; classes > 0) add(Readout::Kind::Class, classes);
    if (predictsTokens(config.readout()))
        add(config.readout() == TextReadout::MaskedToken ? Readout::Kind::MaskedToken : Readout::Kind::NextToken,
            config.tokens.vocabulary);
    return structure;
}

} // namespace attn
