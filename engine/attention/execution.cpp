#include "engine/attention/execution.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/spec_hooks.h"
#include "engine/core/bit_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

/// The number of last keys that every query sees under a causal mask: 0 for all of them. Nothing if the mask is
/// another.
std::optional<int64_t> windowOf(const MaskExpression& mask, MaskSize size) {
    if (const auto band = mask.band()) {
        if (band->ahead > 0 && size.keys > 1) return {};
        return band->behind >= size.keys - 1 ? 0 : band->behind + 1;
    }
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

MaskSize sizeOf(const AttentionSpec& spec, int64_t length, int layer) {
    return {.queries = length, .keys = length, .heads = static_cast<int>(headCounts(spec).heads), .layer = layer};
}

/// Whether some queries read keys and values that no other query reads.
bool hasOwnKeys(const AttentionSpec& spec) { return !spec.part(Slot::Projections).hooks.empty(); }

/// The rule of a softmax of q.k that sees all keys, or the last ones before the query; nothing if a spec is another.
std::optional<AttentionRule> softmaxRule(const AttentionSpec& spec, const MaskSize& size, int64_t headWidth) {
    const Part& score = spec.part(Slot::Score);
    if (spec.part(Slot::Mixer).mix.replacesAttention || !spec.part(Slot::Normaliser).mix.isSoftmax ||
        !score.score.dotScale || hasHooks(spec, Stage::Mask) || hasHooks(spec, Stage::Weights) || hasOwnKeys(spec))
        return {};
    AttentionRule rule{.scale = score.score.dotScale(spec.values(Slot::Score), headWidth)};
    if (const auto window = windowOf(spec.mask, size)) {
        rule.window = *window;
        return rule;
    }
    rule.causal = false;
    return spec.mask.sight(size) == MaskSight::All ? std::optional(rule) : std::nullopt;
}

/// Whether some query sees a key after the last that a residual which moves rows allows.
bool seesBeyond(const AttentionSpec& spec, MaskSize size, const BlockHooks& residual) {
    const MaskExpression mask = spec.mask.staticPart();
    const PartValues values = spec.values(Slot::Residual);
    BitRow row;
    for (size.head = 0; size.head < (mask.dependsOnHead() ? size.heads : 1); ++size.head)
        for (int64_t query = 0; query < size.queries; ++query) {
            mask.row(size, query, row);
            if (row.anyFrom(residual.lastKey(values, size.layer, query) + 1)) return true;
        }
    return false;
}

} // namespace

bool hasHooks(const AttentionSpec& spec, Stage stage) {
    bool has = false;
    forHooks(spec, stage, [&](const Hook&, PartValues) { has = true; });
    return has;
}

std::optional<AttentionRule> kernelRule(const AttentionSpec& spec, int64_t length, int64_t headWidth, int layer) {
    if (hasHooks(spec, Stage::Bias)) return {};
    if (hasHooks(spec, Stage::QueriesKeys) && !spec.part(Slot::Position).position.rotation) return {};
    return softmaxRule(spec, sizeOf(spec, length, layer), headWidth);
}

bool isBare(const AttentionSpec& spec) {
    return !hasHooks(spec, Stage::Inputs) && !hasHooks(spec, Stage::Output) &&
           std::ranges::none_of(kBlockSlots, [&](Slot slot) { return spec.blockPart(slot) != nullptr; });
}

bool isFused(const AttentionSpec& spec) {
    if (spec.part(Slot::Mixer).mix.replacesAttention) return false;
    // Vectors by label are added to keys, which other scores than products change before they meet the queries.
    if (spec.part(Slot::Position).position.labelsCells && !spec.part(Slot::Score).score.dotScale) return false;
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

const Part& coreOf(const AttentionSpec& spec) {
    const Part& mixer = spec.part(Slot::Mixer);
    return mixer.mix.replacesAttention ? mixer : spec.part(Slot::Normaliser);
}

bool looksAhead(const AttentionSpec& spec, int64_t context, int layer) {
    if (coreOf(spec).mix.masks == MaskSupport::FullOnly) return true;
    const MaskSize size = sizeOf(spec, context, layer);
    const MaskSight shown = spec.mask.sight(size);
    const bool isAhead = shown == MaskSight::Ahead || (shown == MaskSight::All && context > 1);
    const Part* residual = spec.blockPart(Slot::Residual);
    return isAhead && (!residual || !residual->block->lastKey || seesBeyond(spec, size, *residual->block));
}

StepExecution stepExecution(const AttentionSpec& spec, int64_t context, int64_t headWidth, int layer) {
    const Part& core = coreOf(spec);
    if (core.mix.masks == MaskSupport::FullOnly)
        return {.reason = fmt::format("every position contributes to every result of {}", core.title)};
    std::vector<const Part*> chosen{&core};
    for (const auto& term : spec.mask.contentTerms()) chosen.push_back(term.part);
    if (const Part* residual = spec.blockPart(Slot::Residual)) chosen.push_back(residual);
    for (const Part* part : chosen)
        if (part->readsLaterRows || (part->block && part->block->lastKey))
            return {.reason = fmt::format("with {}, later tokens decide what earlier ones see", part->title)};
    if (looksAhead(spec, context, layer))
        return {.reason = fmt::format("the mask {} shows tokens that come later", spec.mask.text())};
    if (core.mix.keepsState) return {.kind = StepKind::State};
    if (const auto rule = kernelRule(spec, context, headWidth, layer)) return {.kind = StepKind::Kernel, .rule = rule};
    StepExecution found{.kind = StepKind::Cache};
    if (isFused(spec) && !spec.part(Slot::Position).position.labelsCells)
        found.rule = softmaxRule(spec, sizeOf(spec, context, layer), headWidth);
    return found;
}

} // namespace attn
