#include "engine/playground/path_comparison.h"

#include "engine/core/bit_row.h"
#include "engine/playground/playground_input.h"
#include "tests/support/catch.h"
#include "tests/support/device.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

using namespace attn;

namespace {

PathTraffic trafficOf(const char* spec, int64_t tokens, int64_t width = 16) {
    return pathTraffic(AttentionSpec::parse(spec), {.queries = tokens, .keys = tokens, .width = width}).value();
}

} // namespace

TEST_CASE("paths: the tiles read queries, keys, values and lists, and write no scores", "[playground]") {
    constexpr double kRows = 64 * 16 * 4; // bytes of q, k, v or z
    const PathTraffic found = trafficOf("mask=causal", 64);
    CHECK(found.tiles.written == kRows + 64 * 4 * 4); // z, and the maximum and sum of each query
    // 8 blocks of queries begin at 9 places among 12 tiles of two numbers. Bits: all cells, and 4 steps of the
    // diagonal.
    constexpr double kLists = (12 + 24 + 5 * 16) * 4; // rows are padded to fours
    CHECK(found.tiles.read == 3 * kRows + kLists);
    CHECK(found.uncachedRead == found.tiles.read - 2 * kRows + 12 * 2 * 32 * 16 * 4);
}

TEST_CASE("paths: the formed path writes and reads whole matrices, which grow with the square", "[playground]") {
    for (const int64_t tokens : {64, 128, 256}) {
        const PathTraffic found = trafficOf("mask=causal", tokens);
        const double cells = static_cast<double>(tokens * tokens) * 4;
        CHECK(found.formed.written >= 3 * cells); // scores, masked scores, weights
        CHECK(found.formed.read >= 3 * cells);
        CHECK(found.tiles.total() < found.formed.total());
        const PathTraffic twice = trafficOf("mask=causal", 2 * tokens);
        CHECK(twice.tiles.written == 2 * found.tiles.written);
        CHECK(twice.formed.written / found.formed.written > 3.5);
    }
}

TEST_CASE("paths: the tiles that the kernel walks over are those that the mask shows", "[playground]") {
    const int64_t tokens = 70;
    for (const char* mask : {"causal", "causal & window(16)", "global(2) | window(3)", "per_head(full, causal)"}) {
        INFO(mask);
        const MaskExpression expression = MaskExpression::parse(mask);
        const PathTraffic found = trafficOf(fmt::format("heads=multi_head(2), mask={}", mask).c_str(), tokens);
        REQUIRE(found.walked.rows == 9);
        REQUIRE(found.walked.columns == 3);
        for (int head = 0; head < static_cast<int>(found.walked.heads); ++head)
            for (int64_t row = 0; row < 9; ++row)
                for (int64_t column = 0; column < 3; ++column) {
                    int seen = 0, cells = 0;
                    for (int64_t i = row * 8; i < std::min<int64_t>(row * 8 + 8, tokens); ++i) {
                        BitRow bits;
                        expression.row({.queries = tokens, .keys = tokens, .head = head, .heads = 2}, i, bits);
                        for (int64_t j = column * 32; j < std::min<int64_t>(column * 32 + 32, tokens); ++j) {
                            ++cells;
                            bits.forEach([&](int64_t at) { seen += at == j ? 1 : 0; });
                        }
                    }
                    const float share = found.walked.at(head)[static_cast<size_t>(row * 3 + column)];
                    if (seen == 0)
                        CHECK(std::isnan(share));
                    else
                        CHECK(share == Approx(static_cast<double>(seen) / cells).margin(1e-6));
                }
    }
}

TEST_CASE("paths: what the fused kernel cannot compute has one path", "[playground]") {
    for (const char* spec : {"normaliser=linear, mask=causal", "score=additive", "mixer=fnet"})
        CHECK_FALSE(pathTraffic(AttentionSpec::parse(spec), {.queries = 40, .keys = 40}));
}

TEST_CASE("paths: both compute the same output, up to rounding", "[playground][gpu]") {
    const AttentionSpec spec = AttentionSpec::parse("heads=multi_head(2), position=alibi, mask=causal");
    const AttentionSizes sizes{.queries = 70, .keys = 70};
    test::TestDevice device;
    const std::array<std::string, 1> wanted{"z"};
    AttentionRun tiles(device, spec, sizes, wanted), formed(device, spec, sizes);
    const AttentionNumbers numbers = randomNumbers({.heads = 2, .groups = 2, .tokens = 70, .width = 16}, 1);
    for (AttentionRun* run : {&tiles, &formed}) {
        run->setInputs(numbers.q, numbers.k, numbers.v);
        run->run();
    }
    const auto maps = mapsOf(formed, spec, 70, 70);
    const PathComparison found = comparePaths(*pathTraffic(spec, sizes), tiles, *findMap(maps, "z"));
    CHECK(found.largestOutput > 1);
    CHECK(found.largestDifference < 1e-5); // sums of 70 terms in another order
    PlaygroundMap wrong = *findMap(maps, "z");
    wrong.values[100] += 0.5f;
    CHECK(comparePaths(*pathTraffic(spec, sizes), tiles, wrong).largestDifference == Approx(0.5).margin(1e-5));
}
