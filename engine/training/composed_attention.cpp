// Architecture::attention: the composed attention of a recipe.
#include "engine/attention/block/block_flow.h"
#include "engine/attention/execution.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"
#include "engine/core/bit_row.h"
#include "engine/core/error.h"
#include "engine/models/site_problem.h"
#include "engine/models/trainable_family.h"
#include "engine/models/vision_grid.h"
#include "engine/training/composed_sites.h"
#include "engine/training/recipe.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

[[noreturn]] void fail(std::string what, std::string hint) {
    throw Error({.what = std::move(what), .where = "recipe: attention", .hint = std::move(hint)});
}

constexpr std::string_view kSameHeads = "use the same number in both, or remove the heads from the expression";
std::string otherHeads(const HeadCounts& counts, const Architecture& a) {
    return fmt::format("attention has {} heads but the model has {}", counts.heads, a.heads);
}

/// Fills in the architecture's heads if the expression has none.
void shareHeads(AttentionSpec& spec, const Architecture& a) {
    if (spec.parts.at(Slot::Heads) == AttentionSpec().parts.at(Slot::Heads))
        setHeads(spec, {a.heads, a.keyValueHeads == 0 ? a.heads : a.keyValueHeads});
}

/// The queries to which a mask shows nothing in any head of a layer, at the lengths of AttentionUse. None for a mask
/// that is undefined there.
std::vector<int64_t> queriesWithoutKeys(const MaskExpression& mask, int layer) try {
    constexpr int kHeads = 64; // masks repeat from head to head much earlier
    const int64_t tokens = AttentionUse().queries;
    std::vector<int64_t> empty;
    BitRow row;
    const MaskExpression fixed = mask.staticPart();
    for (int64_t query = 0; query < tokens; ++query) {
        bool sees = false;
        for (int head = 0; head < (fixed.dependsOnHead() ? kHeads : 1) && !sees; ++head) {
            fixed.row({.queries = tokens, .keys = tokens, .head = head, .heads = kHeads, .layer = layer}, query, row);
            sees = row.any();
        }
        if (!sees) empty.push_back(query);
    }
    return empty;
} catch (const Error&) {
    return {};
}

bool showsNothing(const MaskExpression& mask, int layer) {
    return std::ssize(queriesWithoutKeys(mask, layer)) == AttentionUse().queries;
}

/// Why layers cannot have a residual that moves rows between them; empty if they can or have another.
std::string movedRowsProblem(std::span<const AttentionSpec> all, const Architecture& a) {
    const Part* residual = all.empty() ? nullptr : all.front().blockPart(Slot::Residual);
    if (!residual || !residual->block->lastKey) return {};
    if (trainableFamilyNamed(a.family).axis == AxisKind::Patches)
        return fmt::format("{} is a decoder, but the task reads pictures", residual->title);
    for (const AttentionSpec& spec : all)
        if (spec.parts.at(Slot::Residual) != all.front().parts.at(Slot::Residual))
            return "all layers must have the same numbers in the residual, but the expressions differ";
    const int64_t least = residual->block->leastLayers(all.front().values(Slot::Residual));
    if (a.layers >= least) return {};
    return fmt::format("{} needs {} layers or more, of which the last are the inner decoder, but the model has {}",
                       residual->title, least, a.layers);
}

} // namespace

std::vector<std::string> expressionsOf(const std::string& attention) {
    std::vector<std::string> expressions;
    for (size_t begin = 0; begin < attention.size();) {
        const size_t end = std::min(attention.find(';', begin), attention.size());
        expressions.push_back(attention.substr(begin, end - begin));
        begin = end + 1;
    }
    return expressions;
}

std::vector<AttentionSpec> specsIn(const std::string& attention) {
    std::vector<AttentionSpec> specs;
    for (const std::string& expression : expressionsOf(attention))
        specs.push_back(AttentionSpec::parse(std::string(withoutSites(expression))));
    return specs;
}

bool saysPositions(const Architecture& a) {
    return std::ranges::any_of(expressionsOf(a.attention), [](const std::string& text) {
        return slotsIn(withoutSites(text)).contains(Slot::Position);
    });
}

std::string emptyRowsWarning(const Architecture& a) {
    if (trainableFamilyNamed(a.family).hasSource) return {};
    const std::vector<AttentionSpec> specs = specsIn(a.attention);
    for (int layer = 0; layer < a.layers && !specs.empty(); ++layer) {
        AttentionSpec spec = specs[static_cast<size_t>(layer) % specs.size()];
        if (trainableFamilyNamed(a.family).axis == AxisKind::Patches)
            setGrid(spec, {8, 8}); // as many patches as there are queries here
        const std::vector<int64_t> empty = queriesWithoutKeys(spec.mask, layer);
        if (empty.empty()) continue;
        return fmt::format(
            "In layer {}, {} of the first {} tokens see nothing (the first is token {}), so attention gives "
            "them zeros. To let each token see itself, add | window(1) to the mask.",
            layer, empty.size(), AttentionUse().queries, empty.front());
    }
    return {};
}

std::vector<AttentionSpec> attentionOf(const Architecture& a) {
    std::vector<AttentionSpec> specs = specsIn(a.attention);
    for (AttentionSpec& spec : specs) {
        shareHeads(spec, a);
        const HeadCounts counts = headCounts(spec);
        if (counts.heads != a.heads && !mixesStream(spec)) fail(otherHeads(counts, a), std::string(kSameHeads));
    }
    return specs;
}

namespace {

/// The first problem, with a mend of it that may show the next.
std::optional<AttentionProblem> firstProblem(const Architecture& a) try {
    const TrainableFamily& family = trainableFamilyNamed(a.family);
    if (family.hasSource && !a.attention.empty())
        if (auto problem = siteProblem(decoderOf(a, 8, 64))) return AttentionProblem{std::move(*problem), {}};
    if (family.hasSource) return {};
    for (const std::string& text : expressionsOf(a.attention))
        if (std::string_view kind; withoutSites(text, &kind) != text)
            return AttentionProblem{
                fmt::format("\"{}:\" is for a model with an encoder and a decoder, which {} has not", kind, a.family),
                {}};
    const bool isEncoderOfText = family.looksAhead && family.axis == AxisKind::Tokens;
    const std::vector<AttentionSpec> all = specsIn(a.attention);
    for (const Slot slot : {Slot::Norm, Slot::Residual, Slot::Layers})
        for (const AttentionSpec& spec : all)
            if (spec.blockPart(slot) != all.front().blockPart(slot))
                return AttentionProblem{
                    fmt::format("all layers must have the same {}, but the expressions differ", nameOf(slot)), {}};
    if (const Part* residual = all.empty() ? nullptr : all.front().blockPart(Slot::Residual);
        residual && residual->knowsGrid && isEncoderOfText)
        return AttentionProblem{fmt::format("{} needs patches of pictures", residual->title), {}};
    if (std::string problem = movedRowsProblem(all, a); !problem.empty())
        return AttentionProblem{std::move(problem), {}};
    const Part* layers = all.empty() ? nullptr : all.front().blockPart(Slot::Layers);
    if (layers && layers->block->sharesWeights && all.size() > 1)
        return AttentionProblem{"layers that share parameters cannot alternate between expressions",
                                all.front().text()};
    const auto count = std::max(all.size(), static_cast<size_t>(std::max<int64_t>(a.layers, 0)));
    for (size_t layer = 0; layer < count && !all.empty(); ++layer) { // masks may differ from layer to layer
        const size_t at = layer % all.size();
        const auto with = [&](const AttentionSpec& nearest) {
            std::string text;
            for (size_t i = 0; i < all.size(); ++i)
                text += (i == 0 ? "" : "; ") + (i == at ? nearest.text() : all[i].text());
            return text;
        };
        AttentionSpec spec = all[at];
        shareHeads(spec, a);
        const HeadCounts counts = headCounts(spec);
        if (counts.heads != a.heads && !mixesStream(spec)) {
            AttentionSpec nearest = all[at];
            nearest.reset(Slot::Heads); // the model sets the number
            return AttentionProblem{fmt::format("{}; {}", otherHeads(counts, a), kSameHeads), with(nearest)};
        }
        const auto problems = check(spec, {.isCausalTask = !family.looksAhead,
                                           .headWidth = headWidth(spec, a.width),
                                           .layer = static_cast<int>(layer)});
        if (problems.empty() && showsNothing(spec.mask, static_cast<int>(layer)))
            return AttentionProblem{fmt::format("the mask {} shows nothing to any token", spec.mask.text()), {}};
        if (const Part& core = coreOf(spec); isEncoderOfText && problems.empty() && !core.mix.usesScores &&
                                             !core.mix.ignoresZeroRows && looksAhead(spec, AttentionUse().queries))
            return AttentionProblem{
                fmt::format("{} computes no scores that could hide the padding of short texts", core.title), {}};
        if (problems.empty()) continue;
        AttentionProblem problem{problems.front().sentence, {}};
        if (auto nearest = problems.front().nearest) {
            // Leave out heads that the architecture sets.
            if (nearest->parts.at(Slot::Heads) == spec.parts.at(Slot::Heads))
                nearest->parts.at(Slot::Heads) = all[at].parts.at(Slot::Heads);
            problem.nearest = with(*nearest);
        }
        return problem;
    }
    return {};
} catch (const Error& error) {
    return AttentionProblem{error.hint().empty() ? error.message() : error.message() + "; " + error.hint(), {}};
}

} // namespace

std::optional<AttentionProblem> attentionProblem(const Architecture& a) {
    std::optional<AttentionProblem> problem = firstProblem(a);
    if (!problem) return {};
    Architecture mended = a;
    constexpr int kMostMends = 64; // one for each layer, say
    for (int mends = 0; mends < kMostMends && !problem->nearest.empty(); ++mends) {
        mended.attention = problem->nearest;
        const auto next = firstProblem(mended);
        if (!next) return problem;
        problem->nearest = next->nearest;
    }
    problem->nearest.clear();
    return problem;
}

} // namespace attn
