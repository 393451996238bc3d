#include "engine/playground/part_growth.h"

#include "engine/attention/catalogue.h"
#include "engine/attention/execution.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/mask/catalogue.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// The initial values of a part. If `tokens` is positive, its grid has that many places.
std::vector<double> valuesAt(const Part& part, int64_t tokens) {
    std::vector<double> values = part.slot == Slot::Heads ? std::vector{2.0} : initialValues(part);
    if (!part.knowsGrid || tokens <= 0) return values;
    double columns = 1;
    while (columns * columns < static_cast<double>(tokens)) columns *= 2;
    for (size_t p = 0; p < std::min(values.size(), part.params.size()); ++p) {
        const std::string_view id = part.params[p].id;
        if (id == "cols" || id == "columns") values[p] = columns;
        if (id == "rows") values[p] = std::ceil(static_cast<double>(tokens) / columns);
    }
    return values;
}

/// Parts that take well under a millisecond at the lengths that are measured.
constexpr struct {
    Slot slot;
    std::string_view part, sentence;
} kRemarks[] = {
    {Slot::Mask, "row",
     "A query has only the 32 or 64 keys of its row, and what it costs whatever their number takes most of the time."},
    {Slot::Mask, "own_segment",
     "A query has only the keys of its segment, so that 4,096 tokens take 0.05 ms, and starting the operations is a "
     "large part of that."},
    {Slot::Normaliser, "aft_simple",
     "From 512 to 4,096 tokens it takes about 0.1 ms, and starting its operations is a large part of that."},
    {Slot::Mixer, "fnet",
     "Its products of matrices are so small that moving the rows takes most of the time, which is linear in T."},
};

} // namespace

std::string_view growthRemark(const Part& part) {
    for (const auto& [slot, id, sentence] : kRemarks)
        if (slot == part.slot && id == part.id) return sentence;
    const AttentionSpec spec = specOfPart(part);
    if (isOfBlock(part) || isFused(spec) || !coreOf(spec).mix.usesScores) return {};
    return "The scores of all pairs lie in memory. Once they outgrow the caches of a processor, time grows faster than "
           "the number of operations.";
}

bool isOfBlock(const Part& part) { return std::ranges::find(kBlockSlots, part.slot) != kBlockSlots.end(); }

AttentionSpec specOfPart(const Part& part, int64_t tokens) {
    AttentionSpec spec;
    setHeads(spec, {2, 2});
    spec.mask = MaskExpression::causal();
    const std::vector<double> values = valuesAt(part, tokens);
    if (part.slot == Slot::Mask)
        spec.mask = MaskExpression::parse(termText(part, values));
    else
        spec.set(part.slot, part.id, values);
    for (int round = 0; round < 8; ++round) {
        const auto problems = check(spec, {.headWidth = 16});
        if (problems.empty() || !problems.front().nearest) break;
        spec = *problems.front().nearest;
    }
    return spec;
}

double growthExponent(std::span<const std::pair<double, double>> points) {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [tokens, value] : points) {
        const double a = std::log2(tokens), b = std::log2(value);
        x += a;
        y += b;
        xx += a * a;
        xy += a * b;
    }
    const auto n = static_cast<double>(points.size());
    return (n * xy - x * y) / (n * xx - x * x);
}

} // namespace attn
