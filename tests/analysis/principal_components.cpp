#include "engine/analysis/principal_components.h"

#include "engine/core/random_rows.h"
#include "tests/io/files.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("principal components: the axis of points on a line, whatever their mean", "[session][vision]") {
    // Around (10, -3) along (3, 4) / 5.
    const std::vector<float> rows{13, 1, 7, -7, 16, 5, 4, -11};
    const PrincipalComponents found = principalComponents(rows, 2, 5);
    REQUIRE(found.shares.size() == 2);
    CHECK(found.components[0] == Approx(0.6));
    CHECK(found.components[1] == Approx(0.8)); // the largest is positive
    CHECK(found.shares[0] == Approx(1));
    CHECK(found.shares[1] == Approx(0).margin(1e-12));
}

TEST_CASE("principal components: of few long rows and of many short ones, the variance they explain",
          "[session][vision]") {
    for (const auto& [n, width] : {std::pair<int64_t, int64_t>{40, 6}, {6, 40}, {9, 9}}) {
        INFO(n << " x " << width);
        std::vector<float> rows = gaussianRows(n, width, 1, 3);
        for (size_t i = 0; i < rows.size(); ++i) rows[i] *= 1 + static_cast<float>(i % static_cast<size_t>(width));
        const int64_t most = std::min(width, n - 1);
        const PrincipalComponents found = principalComponents(rows, width, 100);
        REQUIRE(found.shares.size() == static_cast<size_t>(most));
        double total = 0, sum = 0;
        std::vector<double> mean(static_cast<size_t>(width), 0);
        for (size_t i = 0; i < rows.size(); ++i)
            mean[i % static_cast<size_t>(width)] += static_cast<double>(rows[i]) / static_cast<double>(n);
        for (size_t i = 0; i < rows.size(); ++i)
            total += std::pow(static_cast<double>(rows[i]) - mean[i % static_cast<size_t>(width)], 2);
        for (int64_t c = 0; c < most; ++c) {
            // What the rows vary along a component is its share of all.
            double along = 0, length = 0;
            for (int64_t row = 0; row < n; ++row) {
                double product = 0;
                for (int64_t i = 0; i < width; ++i)
                    product += (static_cast<double>(rows[static_cast<size_t>(row * width + i)]) -
                                mean[static_cast<size_t>(i)]) *
                               static_cast<double>(found.components[static_cast<size_t>(c * width + i)]);
                along += product * product;
            }
            for (int64_t i = 0; i < width; ++i)
                length += std::pow(static_cast<double>(found.components[static_cast<size_t>(c * width + i)]), 2);
            CHECK(length == Approx(1).margin(1e-5));
            CHECK(along / total == Approx(found.shares[static_cast<size_t>(c)]).margin(1e-5)); // components in float
            sum += found.shares[static_cast<size_t>(c)];
        }
        CHECK(sum == Approx(1).margin(1e-9)); // all of them
        CHECK(principalComponents(rows, width, 2).components ==
              std::vector<float>(found.components.begin(), found.components.begin() + 2 * width));
    }
}

TEST_CASE("principal components: rows that are the same have no direction", "[session][vision]") {
    const PrincipalComponents same = principalComponents(std::vector<float>{1, 2, 1, 2, 1, 2}, 2, 2);
    for (const double share : same.shares) CHECK(share == 0);
    CHECK(principalComponents(std::vector<float>{1, 2}, 2, 2).shares.empty());
    CHECK(principalComponents({}, 0, 2).shares.empty());
}

TEST_CASE("principal components: rows that are not numbers are refused", "[session][vision]") {
    CHECK_THAT(sentenceOf([] {
                   principalComponents(std::vector<float>{1, 2, NAN, 4}, 2, 1);
               }),
               CONTAINS("NaN or infinite"));
}
