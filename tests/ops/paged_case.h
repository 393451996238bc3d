#pragma once

#include "engine/ops/paged_attention.h"
#include "tests/ops/case.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace attn::test {

struct PagedCase {
    AttentionInputs inputs;
    PagedSequences sequences;
    AttentionRule rule;
};

/// Rows of several sequences, some of which share pages or have no keys, over a cache whose pages lie in any order.
inline PagedCase pagedCase(Case& t) {
    const int64_t groups = randomSize(3), heads = groups * randomSize(5),
                  D = randomSize(3) == 1   ? randomSize(40)
                      : randomSize(9) == 1 ? 260
                                           : 4 * randomSize(16),
                  T = randomSize(9), B = randomSize(T), N = randomSize(4), P = N + randomSize(6);
    const bool isLive = randomSize(2) == 1;
    PagedCase test{
        .inputs = attentionCase(t, T, P * kPageRows, heads, groups, D, false),
        .sequences = {.sequence = t.integers("sequence", {T}, B),
                      .pages = t.integers("pages", {B, N}, P),
                      .lengths = t.integers("lengths", {B}, N * kPageRows + 1)},
        .rule = {.scale = 0.3, .causal = randomSize(3) > 1, .window = randomSize(2) == 1 ? randomSize(60) : 0}};
    if (isLive) test.inputs.q = t.real("live q", {T, heads, D}, StepScalar::QueryLength);
    return test;
}

} // namespace attn::test
