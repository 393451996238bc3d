#include "engine/analysis/symmetric_eigen.h"

#include "engine/attention/random_features.h"
#include "tests/io/files.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

/// Eigenvectors stand at right angles, have length 1, and make the matrix again.
void checkMakes(const std::vector<double>& matrix, size_t n) {
    const SymmetricEigen eigen = symmetricEigen(matrix, static_cast<int64_t>(n));
    REQUIRE(eigen.values.size() == n);
    REQUIRE(eigen.vectors.size() == n * n);
    double largest = 1e-300;
    for (const double value : matrix) largest = std::max(largest, std::abs(value));
    double worst = 0, skew = 0;
    for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; b < n; ++b) {
            double made = 0, dot = 0;
            for (size_t i = 0; i < n; ++i) {
                made += eigen.values[i] * eigen.vectors[i * n + a] * eigen.vectors[i * n + b];
                dot += eigen.vectors[a * n + i] * eigen.vectors[b * n + i];
            }
            worst = std::max(worst, std::abs(made - matrix[a * n + b]) / largest);
            skew = std::max(skew, std::abs(dot - (a == b ? 1 : 0)));
        }
    CHECK(worst < 1e-12 * static_cast<double>(n)); // double, sums over n
    CHECK(skew < 1e-13 * static_cast<double>(n));
    CHECK(std::ranges::is_sorted(eigen.values, std::greater<>()));
}

std::vector<double> randomMatrix(size_t n, uint64_t seed) {
    const std::vector<float> numbers = gaussianRows(static_cast<int64_t>(n), static_cast<int64_t>(n), 1, seed);
    std::vector<double> matrix(n * n);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
            matrix[i * n + j] = static_cast<double>(numbers[i * n + j]) + static_cast<double>(numbers[j * n + i]);
    return matrix;
}

} // namespace

TEST_CASE("eigenvalues: of two by two by hand", "[session]") {
    const SymmetricEigen eigen = symmetricEigen(std::vector<double>{2, 1, 1, 2}, 2);
    CHECK(eigen.values[0] == Approx(3));
    CHECK(eigen.values[1] == Approx(1));
    CHECK(std::abs(eigen.vectors[0]) == Approx(std::sqrt(0.5)));
    CHECK(eigen.vectors[0] == Approx(eigen.vectors[1]));
    CHECK(eigen.vectors[2] == Approx(-eigen.vectors[3]));
}

TEST_CASE("eigenvalues: of a path's Laplacian as the formula has them", "[session]") {
    constexpr size_t n = 20;
    std::vector<double> matrix(n * n, 0);
    for (size_t i = 0; i < n; ++i) {
        matrix[i * n + i] = i == 0 || i + 1 == n ? 1 : 2;
        if (i + 1 < n) matrix[i * n + i + 1] = matrix[(i + 1) * n + i] = -1;
    }
    const SymmetricEigen eigen = symmetricEigen(matrix, n);
    for (size_t k = 0; k < n; ++k) // 2 - 2 cos(pi k / n)
        CHECK(eigen.values[n - 1 - k] ==
              Approx(2 - 2 * std::cos(3.14159265358979 * static_cast<double>(k) / n)).margin(1e-12));
}

TEST_CASE("eigenvalues: vectors and values make the matrix again, whatever it is", "[session]") {
    for (const size_t n : {1u, 2u, 3u, 5u, 17u, 64u}) {
        INFO(n);
        checkMakes(randomMatrix(n, n), n);
        checkMakes(std::vector<double>(n * n, 0), n);
        checkMakes(std::vector<double>(n * n, 7), n); // of rank 1
        std::vector<double> diagonal(n * n, 0);
        for (size_t i = 0; i < n; ++i) diagonal[i * n + i] = static_cast<double>(i % 3) - 1; // many alike
        checkMakes(diagonal, n);
        std::vector<double> tiny = randomMatrix(n, 9), huge = tiny;
        for (double& value : tiny) value *= 1e-150;
        for (double& value : huge) value *= 1e140;
        checkMakes(tiny, n);
        checkMakes(huge, n);
    }
    CHECK(symmetricEigen({}, 0).values.empty());
}

TEST_CASE("eigenvalues: what is no square of numbers is refused", "[session]") {
    CHECK_THAT(sentenceOf([] {
                   symmetricEigen(std::vector<double>{1, 2, 3}, 2);
               }),
               CONTAINS("3 values are not a matrix of 2 x 2"));
    CHECK_THAT(sentenceOf([] { symmetricEigen(std::vector<double>{NAN}, 1); }), CONTAINS("NaN or infinite"));
}
