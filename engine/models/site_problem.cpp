#include "engine/models/site_problem.h"

#include "engine/attention/execution.h"
#include "engine/attention/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace attn {
namespace {

/// The shapes of the parameters of a model for texts of so many tokens.
std::map<std::string, Shape> shapesAt(const ModelSpec& config, int64_t rows) {
    const ModelGraph graph = buildModel(config, {.queries = rows, .source = rows + 8});
    std::map<std::string, Shape> shapes;
    for (const Node* node : storedParameters(*graph.graph)) shapes[node->name] = node->outputs[0].shape;
    return shapes;
}

std::string layerProblem(const AttentionSpec& spec, const LayerAttention& layer, std::string_view kind, int index) {
    const bool isCross = kind == "cross";
    for (const Slot slot : kBlockSlots)
        if (const Part* part = spec.blockPart(slot))
            return fmt::format("a model with an encoder keeps its own blocks, so it cannot have {}", part->title);
    if (isCross) {
        for (const Slot slot : {Slot::Projections, Slot::Position, Slot::Memory, Slot::Mixer})
            if (spec.parts.at(slot) != AttentionSpec().parts.at(slot))
                return fmt::format("{} works within one sequence, but cross-attention reads another", spec.title(slot));
        const auto terms = spec.mask.contentTerms();
        if (spec.mask.staticPart() != MaskExpression() ||
            !std::ranges::all_of(terms, [](const auto& term) { return term.part->mask.readsOtherSequence; }))
            return fmt::format("the mask {} compares positions of one sequence, but cross-attention reads another",
                               spec.mask.text());
        if (spec.part(Slot::Heads).sharesQueryKey)
            return "cross-attention cannot make keys of its queries, because they come from another sequence";
        if (!spec.part(Slot::Normaliser).mix.isSoftmax)
            return fmt::format("cross-attention needs softmax; {} works within one sequence",
                               spec.title(Slot::Normaliser));
    }
    const AttentionUse use{
        .isCausalTask = kind == "decoder", .isCross = isCross, .headWidth = layer.headWidth, .layer = index};
    if (const auto problems = check(spec, use); !problems.empty()) return problems.front().sentence;
    const Part& core = coreOf(spec);
    if (kind == "encoder" && !core.mix.usesScores && !core.mix.ignoresZeroRows)
        return fmt::format("{} computes no scores that could hide the padding of short texts", core.title);
    return {};
}

} // namespace

std::optional<std::string> siteProblem(const ModelSpec& config) {
    using Kind = std::pair<std::string_view, const std::vector<LayerAttention>*>;
    for (const auto& [kind, layers] : {Kind{"encoder", &config.encoder->layers}, Kind{"decoder", &config.layers},
                                       Kind{"cross", &config.crossAttention}})
        for (size_t layer = 0; layer < layers->size(); ++layer)
            if (const std::string problem =
                    layerProblem((*layers)[layer].spec, (*layers)[layer], kind, static_cast<int>(layer));
                !problem.empty())
                return fmt::format("{}: {}", kind, problem);
    if (shapesAt(config, 8) != shapesAt(config, 16))
        return "a part has parameters for each position, but texts and sources have any length";
    return {};
}

} // namespace attn
