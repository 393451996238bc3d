#include "engine/host/ordered.h"
#include "tests/support/catch.h"

#include <random>
#include <vector>

using namespace attn::host;

namespace {

std::mt19937 randomEngine(3);

std::vector<float> normals(int64_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> list(static_cast<size_t>(count));
    for (float& value : list) value = normal(randomEngine);
    return list;
}

struct Factors {
    int64_t M, N, K;
    std::vector<float> a = normals(M * K), b = normals(K * N), before = normals(M * N);

    std::vector<float> product(Columns columns, int64_t rows, bool keeps) const {
        std::vector<float> out = before;
        orderedProduct({.M = rows,
                        .N = N,
                        .K = K,
                        .a = a.data(),
                        .aStride = K,
                        .b = columns,
                        .out = out.data(),
                        .stride = N,
                        .keeps = keeps});
        out.resize(static_cast<size_t>(rows * N));
        return out;
    }
    Columns rows() const { return Columns::ofRows(b.data(), N); }
};

} // namespace

TEST_CASE("ordered product: equals plain loops in double, for all ways in which the columns lie", "[host]") {
    for (const int64_t M : {1, 3, 4, 7, 19})
        for (const int64_t N : {1, 5, 16, 33, 130, 300})
            for (const int64_t K : {1, 7, 64}) {
                const Factors f{M, N, K};
                std::vector<float> turned(static_cast<size_t>(K * N));
                for (int64_t k = 0; k < K; ++k)
                    for (int64_t n = 0; n < N; ++n)
                        turned[static_cast<size_t>(n * K + k)] = f.b[static_cast<size_t>(k * N + n)];
                const Panels panels(K, N, f.b.data(), N), transposed(K, N, turned.data(), K, true);
                for (const bool keeps : {false, true}) {
                    const std::vector<float> out = f.product(f.rows(), M, keeps);
                    CHECK(out == f.product(panels.columns(), M, keeps)); // the same bits
                    CHECK(out == f.product(transposed.columns(), M, keeps));
                    double worst = 0; // of 64 terms of order 1
                    for (int64_t m = 0; m < M; ++m)
                        for (int64_t n = 0; n < N; ++n) {
                            const auto at = static_cast<size_t>(m * N + n);
                            double sum = keeps ? static_cast<double>(f.before[at]) : 0;
                            for (int64_t k = 0; k < K; ++k)
                                sum += static_cast<double>(f.a[static_cast<size_t>(m * K + k)]) *
                                       static_cast<double>(f.b[static_cast<size_t>(k * N + n)]);
                            worst = std::max(worst, std::abs(static_cast<double>(out[at]) - sum));
                        }
                    CHECK(worst < 2e-5);
                }
            }
}

TEST_CASE("ordered product: a row has the same bits whatever rows are beside it", "[host]") {
    const Factors f{19, 150, 70};
    const std::vector<float> all = f.product(f.rows(), f.M, true);
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13}) {
        const std::vector<float> some = f.product(f.rows(), rows, true);
        CHECK(std::equal(some.begin(), some.end(), all.begin()));
    }
}

TEST_CASE("ordered product: terms may be cut into several products without another bit", "[host]") {
    const Factors whole{6, 40, 70};
    std::vector<float> parts(static_cast<size_t>(whole.M * whole.N));
    for (const auto& [first, count] : {std::pair{0, 33}, {33, 37}})
        orderedProduct({.M = whole.M,
                        .N = whole.N,
                        .K = count,
                        .a = whole.a.data() + first,
                        .aStride = whole.K,
                        .b = Columns::ofRows(whole.b.data() + first * whole.N, whole.N),
                        .out = parts.data(),
                        .stride = whole.N,
                        .keeps = true});
    CHECK(parts == whole.product(whole.rows(), whole.M, false));
}
