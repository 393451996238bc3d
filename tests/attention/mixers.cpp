#include "tests/attention/attention_case.h"
#include "tests/support/farthest.h"

#include <complex>
#include <numbers>

// Mixers that act on the stream itself.

using namespace attn;
using attn::test::AttentionCase;

TEST_CASE("FNet is the real part of the transform over all positions and all channels, at any length", "[attention]") {
    // Lengths with no factor, with small ones and with large ones.
    for (const auto& [T, C] : {std::pair<int64_t, int64_t>{1, 5}, {7, 6}, {12, 10}, {16, 8}, {30, 3}, {96, 4}}) {
        INFO(T << " tokens, " << C << " channels");
        AttentionCase test{.spec = AttentionSpec::parse("heads=multi_head(2), mixer=fnet"),
                           .queries = T,
                           .keys = T,
                           .width = C,
                           .batch = 2};
        test.build();
        CHECK(test.learned.empty());
        const auto found = test.onHost().at("z");
        std::vector<double> expected;
        for (int64_t b = 0; b < test.batch; ++b)
            for (int64_t t = 0; t < T; ++t)
                for (int64_t c = 0; c < C; ++c) {
                    std::complex<double> sum = 0;
                    for (int64_t s = 0; s < T; ++s)
                        for (int64_t e = 0; e < C; ++e) {
                            const double turns = static_cast<double>(t * s) / static_cast<double>(T) +
                                                 static_cast<double>(c * e) / static_cast<double>(C);
                            sum += test.values.at("v")[static_cast<size_t>((b * T + s) * C + e)] *
                                   std::polar(1.0, -2 * std::numbers::pi * turns);
                        }
                    expected.push_back(sum.real());
                }
        CHECK(test::farthest(found, expected, 1) <= 1e-5); // constants are rounded to float
    }
}
