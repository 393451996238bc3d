#include "engine/ops/tensor_ops.h"
#include "tests/ops/on_host.h"
#include "tests/ops/paged_case.h"

using namespace attn;
using namespace attn::test;

namespace {

std::vector<double> whole(std::span<const int64_t> numbers) { return {numbers.begin(), numbers.end()}; }

} // namespace

TEST_CASE("paged attention on the processor gives a row the bits that it has alone over keys in order", "[ops][host]") {
    constexpr int64_t kPages = 7;
    for (const int threads : {1, 3})
        for (const int64_t heads : {1, 2, 6}) {
            host::Pool pool(threads);
            const int64_t groups = heads == 6 ? 2 : 1, D = 20, S = kPages * kPageRows;
            const AttentionRule rule{.scale = 0.3, .causal = true, .window = heads == 2 ? 40 : 0};
            Case step;
            const AttentionInputs in = attentionCase(step, 4, S, heads, groups, D, false);
            const std::vector<int64_t> pages{4, 2, 0, 5, 6, 1, 5, 6, 3}, lengths{90, 64, 33}, sequence{0, 2, 1, 0},
                positions{89, 32, 50, 88};
            step.integers("sequence", {4}, 1);
            step.integers("pages", {3, 3}, 1);
            step.integers("lengths", {3}, 1);
            step.values["sequence"] = whole(sequence);
            step.values["pages"] = whole(pages);
            step.values["lengths"] = whole(lengths);
            step.values["qPos"] = whole(positions);
            for (size_t b = 0; b < lengths.size(); ++b) // the second and the third have a page in common
                for (int64_t s = 0; s < 3 * kPageRows; ++s)
                    step.values["kPos"][static_cast<size_t>(
                        pages[b * 3 + static_cast<size_t>(s / kPageRows)] * kPageRows + s % kPageRows)] =
                        static_cast<double>(s);
            const auto whole32 = [&](const char* name, Shape shape) {
                return step.graph->input(name, {.shape = shape, .dtype = DType::I32});
            };
            step.expect("z", pagedAttention(in,
                                            {.sequence = whole32("sequence", {4}),
                                             .pages = whole32("pages", {3, 3}),
                                             .lengths = whole32("lengths", {3})},
                                            step.real("gates", {heads}), rule));
            const std::vector<float> all = runOnHost(step, pool).at("z");
            for (size_t t = 0; t < sequence.size(); ++t) {
                Case alone;
                const auto own = static_cast<size_t>(sequence[t]);
                const int64_t length = lengths[own];
                const AttentionInputs its = attentionCase(alone, 1, length, heads, groups, D, false);
                alone.real("gates", {heads});
                alone.values["gates"] = step.values["gates"];
                const auto row = static_cast<int64_t>(heads * D);
                const auto q = step.values["q"].begin() + static_cast<std::ptrdiff_t>(t) * row;
                alone.values["q"] = {q, q + row};
                alone.values["qPos"] = {static_cast<double>(positions[t])};
                for (int64_t s = 0; s < length; ++s) {
                    const int64_t at = pages[own * 3 + static_cast<size_t>(s / kPageRows)] * kPageRows + s % kPageRows;
                    alone.values["kPos"][static_cast<size_t>(s)] = static_cast<double>(s);
                    for (const char* name : {"k", "v"})
                        std::copy_n(step.values[name].begin() + at * groups * D, groups * D,
                                    alone.values[name].begin() + s * groups * D);
                }
                alone.expect("z", fusedAttention(its, alone.graph->input("gates", {.shape = {heads}}), rule));
                const std::vector<float> expected = runOnHost(alone, pool).at("z");
                INFO("row " << t << " of " << heads << " heads, " << threads << " threads");
                CHECK(std::equal(expected.begin(), expected.end(), all.begin() + static_cast<std::ptrdiff_t>(t) * row));
            }
        }
}

TEST_CASE("paged attention: what does not fit is refused", "[ops]") {
    Case t;
    const auto step = [&](int64_t S, int64_t rows, DType dtype) {
        const std::string name = std::to_string(S) + std::to_string(rows) + (dtype == DType::F32 ? "f" : "i");
        const AttentionInputs in = attentionCase(t, 2, S, 2, 1, 4, false);
        return pagedAttention(in,
                              {.sequence = t.graph->input("s" + name, {.shape = {rows}, .dtype = DType::I32}),
                               .pages = t.graph->input("p" + name, {.shape = {2, 1}, .dtype = dtype}),
                               .lengths = t.graph->input("l" + name, {.shape = {2}, .dtype = DType::I32})},
                              t.real("gates", {2}), {});
    };
    CHECK(step(64, 2, DType::I32).shape() == Shape{2, 2, 4});
    t.graph = std::make_shared<Graph>();
    CHECK_THROWS_WITH(step(40, 2, DType::I32), CONTAINS("has no whole pages of 32 rows"));
    t.graph = std::make_shared<Graph>();
    CHECK_THROWS_WITH(step(64, 3, DType::I32), CONTAINS("must be [2], [B,N] and [B]"));
    t.graph = std::make_shared<Graph>();
    CHECK_THROWS_WITH(step(64, 2, DType::F32), CONTAINS("must be whole numbers"));
}
