#include "engine/attention/execution.h"

#include "engine/attention/head_counts.h"
#include "engine/attention/mask/bit_row.h"
#include "engine/attention/spec_hooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

bool hasHooks(const AttentionSpec& spec, Stage stage) {
    bool has = false;
    forHooks(spec, stage, [&](const Hook&, PartValues) { has = true; });
    return has;
}

/// The number of last keys that every query sees under a causal mask: 0 for all of them. Nothing if the mask is
/// another.
std::optional<int64_t> windowOf(const MaskExpression& mask, MaskSize size) {
    BitRow row, expected;
    mask.row(size, size.queries - 1, row);
    const int64_t window = row.count();
    if (window == 0) return {};
    for (size.head = 0; size.head < (mask.dependsOnHead() ? size.heads : 1); ++size.head)
        for (int64_t query = 0; query < size.queries; ++query) {
            mask.row(size, query, row);
            expected.reset(size.keys);
            expected.setRange(query + 1 - window, query + 1);
            if (row != expected) return {};
        }
    return window == size.keys ? 0 : window;
}

/// The rule of the fused kernel that equals a spec's scores and mask; nothing if there is none.
std::optional<AttentionRule> kernelRule(const AttentionSpec& spec, const MaskSize& size, int64_t headWidth) {
    const Part& score = spec.part(Slot::Score);
    if (spec.part(Slot::Mixer).replacesAttention || !spec.part(Slot::Normaliser).isSoftmax || !score.dotScale)
        return {};
    for (const Stage stage : {Stage::Bias, Stage::Mask, Stage::Weights})
        if (hasHooks(spec, stage)) return {};
    const auto window = windowOf(spec.mask, size);
    if (!window) return {};
    return AttentionRule{.scale = score.dotScale(headWidth), .causal = true, .window = *window};
}

} // namespace

bool isFused(const AttentionSpec& spec) {
    if (spec.part(Slot::Mixer).replacesAttention) return false;
    bool isPossible = true;
    const auto require = [&](bool holds) { isPossible = isPossible && holds; };
    for (const Stage stage : {Stage::Scores, Stage::Bias, Stage::Mask, Stage::Normalise})
        forHooks(spec, stage, [&](const Hook& hook, PartValues) { require(hook.fuse != nullptr); });
    forHooks(spec, Stage::Weights, [&](const Hook&, PartValues) { require(false); });
    return isPossible;
}

std::string_view nameOf(StepKind kind) {
    static constexpr std::array<std::string_view, 4> kNames{"kernel", "cache", "state", "whole"};
    return kNames.at(static_cast<size_t>(kind));
}

StepExecution stepExecution(const AttentionSpec& spec, int64_t context, int64_t headWidth, int layer) {
    const Part& mixer = spec.part(Slot::Mixer);
    const Part& core = mixer.replacesAttention ? mixer : spec.part(Slot::Normaliser);
    if (core.masks == MaskSupport::FullOnly)
        return {.reason = fmt::format("every position contributes to every result of {}", core.title)};
    for (const auto& term : spec.mask.contentTerms())
        if (term.part->readsLaterRows)
            return {.reason = fmt::format("with {}, later tokens decide what earlier ones see", term.part->title)};
    const MaskSize size{
        .queries = context, .keys = context, .heads = static_cast<int>(headCounts(spec).heads), .layer = layer};
    const MaskSight shown = spec.mask.sight(size);
    if (shown == MaskSight::Ahead || (shown == MaskSight::All && context > 1))
        return {.reason = fmt::format("the mask {} shows tokens that come later", spec.mask.text())};
    if (core.keepsState) return {.kind = StepKind::State};
    if (const auto rule = kernelRule(spec, size, headWidth)) return {.kind = StepKind::Kernel, .rule = *rule};
    return {.kind = StepKind::Cache};
}

} // namespace attn
