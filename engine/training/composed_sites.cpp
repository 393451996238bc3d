#include "engine/training/composed_sites.h"

#include "engine/attention/head_counts.h"
#include "engine/core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

namespace attn {
namespace {

constexpr std::array<std::string_view, 3> kKinds{"encoder", "decoder", "cross"};

std::vector<LayerAttention>& layersOf(ModelSpec& config, std::string_view kind) {
    return kind == "encoder" ? config.encoder->layers : kind == "cross" ? config.crossAttention : config.layers;
}

} // namespace

std::string textNaming(const AttentionSpec& spec, const std::function<bool(Slot)>& isNamed) {
    std::string text = spec.text();
    const auto said = slotsIn(text);
    for (const Slot slot : kSpecSlots)
        if (slot != Slot::Heads && !said.contains(slot) && isNamed(slot))
            text += fmt::format(", {}={}", nameOf(slot), spec.id(slot));
    if (!said.contains(Slot::Mask) && isNamed(Slot::Mask))
        text += fmt::format(", {}={}", nameOf(Slot::Mask), spec.mask.text());
    return text;
}

std::string_view withoutSites(std::string_view expression, std::string_view* kind) {
    const size_t begin = std::min(expression.find_first_not_of(' '), expression.size());
    for (const std::string_view each : kKinds) {
        const std::string_view rest = expression.substr(begin);
        const size_t colon = rest.find_first_not_of(' ', std::min(each.size(), rest.size()));
        if (!rest.starts_with(each) || colon == std::string_view::npos || rest[colon] != ':') continue;
        if (kind) *kind = each;
        return rest.substr(colon + 1);
    }
    if (kind) *kind = {};
    return expression;
}

AttentionSpec specWith(AttentionSpec spec, const std::string& expression) {
    const AttentionSpec asked = AttentionSpec::parse(expression);
    for (const auto& [slot, text] : slotsIn(expression))
        if (slot == Slot::Mask)
            spec.mask = asked.mask;
        else
            spec.parts[slot] = asked.parts.at(slot);
    return spec;
}

bool composeSites(ModelSpec& config, const std::string& attention) {
    const ModelSpec before = config;
    std::map<std::string_view, std::vector<std::string>> byKind;
    for (const std::string& text : expressionsOf(attention)) {
        std::string_view kind;
        const std::string_view expression = withoutSites(text, &kind);
        byKind[kind.empty() ? "decoder" : kind].emplace_back(expression);
    }
    for (const auto& [kind, expressions] : byKind) {
        std::vector<LayerAttention>& layers = layersOf(config, kind);
        for (size_t layer = 0; layer < layers.size(); ++layer) {
            const std::string& expression = expressions[layer % expressions.size()];
            AttentionSpec spec = specWith(layers[layer].spec, expression);
            const HeadCounts now = headCounts(spec), own = layers[layer].heads();
            if (now.heads != own.heads && !mixesStream(spec))
                throw Error({.what = fmt::format("attention has {} heads but the model has {}", now.heads, own.heads),
                             .where = "recipe: attention",
                             .hint = "use the same number in both, or remove the heads from the expression"});
            if (kind != "cross" && slotsIn(expression).contains(Slot::Position) &&
                spec.parts.at(Slot::Position) != layers[layer].spec.parts.at(Slot::Position))
                (kind == "encoder" ? *config.encoder : config).positions = Positions::None;
            if (mixesStream(spec)) layers[layer].headWidth = config.modelWidth; // without heads
            layers[layer].spec = std::move(spec);
        }
    }
    if (config == before) return false;
    config.family = "attention-lab";
    return true;
}

std::string siteCompositionOf(const ModelSpec& config) {
    ModelSpec all = config;
    std::vector<std::string> expressions;
    for (const std::string_view kind : kKinds)
        for (const LayerAttention& layer : layersOf(all, kind))
            expressions.push_back(fmt::format("{}: {}", kind, textNaming(layer.spec, [](Slot) { return true; })));
    return fmt::format("{}", fmt::join(expressions, "; "));
}

} // namespace attn
