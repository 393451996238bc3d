#include "engine/host/product.h"
#include "engine/host/attention.h"
#include "engine/host/pool.h"

#include "tests/support/catch.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

using namespace attn::host;

namespace {

std::vector<float> numbers(int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
}

} // namespace

TEST_CASE("product: a row has the same bits whatever the number of rows beside it") {
    constexpr int64_t kMost = 530, kStride = 320;
    for (const bool isTransposed : {false, true})
        for (const int64_t N : {8, 24, 40, 48, 128, 300})
            for (const int64_t K : {7, 8, 64, 172, 768}) {
                CAPTURE(isTransposed, N, K);
                const std::vector<float> a = numbers(kMost * K, 1), b = numbers(N * K, 2),
                                         start = numbers(kMost * kStride, 3);
                const Factor factor{b.data(), isTransposed ? K : N, isTransposed};
                for (const float keep : {0.0f, 1.0f}) {
                    std::vector<float> whole = start;
                    steadyProduct({kMost, N, K}, {a.data(), K}, factor, whole.data(), kStride, 0.5f, keep);
                    for (const int64_t first : {0, 1, 16, 400})
                        for (int64_t rows = 1; first + rows <= kMost && rows < 200; rows += rows < 40 ? 1 : 31) {
                            std::vector<float> some = start;
                            steadyProduct({rows, N, K}, {a.data() + first * K, K}, factor,
                                          some.data() + first * kStride, kStride, 0.5f, keep);
                            bool isSame = true;
                            for (int64_t row = 0; row < kMost; ++row) {
                                const bool isRun = row >= first && row < first + rows;
                                const float *own = some.data() + row * kStride,
                                            *expected = (isRun ? whole : start).data() + row * kStride;
                                isSame = isSame && std::equal(own, own + kStride, expected);
                            }
                            INFO(first << " " << rows);
                            CHECK(isSame);
                        }
                }
            }
}

TEST_CASE("product: a column has the same bits whatever columns, and terms of zero, there are besides") {
    constexpr int64_t kMost = 512, kRows = 22;
    for (const bool isTransposed : {false, true})
        for (const int64_t K : {8, 64, 100}) {
            const std::vector<float> a = numbers(kRows * K, 1), b = numbers(kMost * K, 2);
            const Factor factor{b.data(), isTransposed ? K : kMost, isTransposed};
            std::vector<float> whole(kRows * kMost), some(whole.size());
            steadyProduct({kRows, kMost, K}, {a.data(), K}, factor, whole.data(), kMost, 0.3f);
            for (int64_t N = steadyColumns(1); N < kMost; N = steadyColumns(N + 1)) {
                CAPTURE(isTransposed, K, N);
                steadyProduct({kRows, N, K}, {a.data(), K}, factor, some.data(), kMost, 0.3f);
                bool isSame = true;
                for (int64_t row = 0; row < kRows; ++row)
                    isSame = isSame && std::equal(&some[static_cast<size_t>(row * kMost)],
                                                  &some[static_cast<size_t>(row * kMost + N)],
                                                  &whole[static_cast<size_t>(row * kMost)]);
                CHECK(isSame);
            }
        }
    constexpr int64_t kTerms = 128;
    for (const int64_t N : {8, 16, 24, 64})
        for (int64_t terms = 1; terms < kTerms; ++terms) {
            CAPTURE(N, terms);
            std::vector<float> a = numbers(kRows * kTerms, 1), whole(static_cast<size_t>(kRows * N)), some = whole;
            const std::vector<float> b = numbers(kTerms * N, 2);
            for (int64_t row = 0; row < kRows; ++row)
                std::fill(a.begin() + row * kTerms + terms, a.begin() + (row + 1) * kTerms, 0.0f);
            steadyProduct({kRows, N, kTerms}, {a.data(), kTerms}, {b.data(), N}, whole.data(), N);
            steadyProduct({kRows, N, steadyTerms(terms)}, {a.data(), kTerms}, {b.data(), N}, some.data(), N);
            CHECK((some == whole));
        }
}

TEST_CASE("attention: a row has the same bits in a step of a few tokens as in one of many") {
    constexpr int64_t kTokens = 150, kHeads = 4;
    for (const int64_t width : {8, 24, 64})
        for (const int64_t groups : {2, 4})
            for (const int64_t window : {0, 40}) {
                CAPTURE(width, groups, window);
                const std::vector<float> q = numbers(kTokens * kHeads * width, 1),
                                         k = numbers(kTokens * groups * width, 2),
                                         v = numbers(kTokens * groups * width, 3), gates(kHeads, 0.75f);
                std::vector<int32_t> positions(kTokens);
                std::iota(positions.begin(), positions.end(), 0);
                const auto run = [&](int64_t first, int64_t count, int64_t capacity) {
                    Attention of{.T = count,
                                 .S = first + count,
                                 .capacity = capacity,
                                 .H = kHeads,
                                 .G = groups,
                                 .D = width,
                                 .stride = width,
                                 .scale = 0.3f,
                                 .causal = true,
                                 .window = window};
                    of.q = q.data() + first * kHeads * width;
                    of.k = k.data(), of.v = v.data(), of.gates = gates.data();
                    of.queryPosition = positions.data() + first;
                    of.keyPosition = positions.data();
                    std::vector<float> z(static_cast<size_t>(count * kHeads * width)),
                        statistics(static_cast<size_t>(kHeads * capacity * 4));
                    attention(of, z.data(), statistics.data(), Pool::shared());
                    return z;
                };
                const std::vector<float> whole = run(0, kTokens, 512);
                for (const int64_t step : {1, 2, 7, 16, 65})
                    for (int64_t first = 0; first < kTokens; first += step) {
                        const std::vector<float> some = run(first, std::min(step, kTokens - first), 128);
                        INFO(first << " " << step);
                        CHECK(std::equal(some.begin(), some.end(), whole.begin() + first * kHeads * width));
                    }
            }
}
