#include "engine/host/pattern.h"
#include "engine/host/pool.h"

#include "tests/support/catch.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

using namespace attn;
using namespace attn::host;

namespace {

/// Queries and keys of two heads in a cache that has room for more.
struct Text {
    static constexpr int64_t kCapacity = 1500, kHeads = 2;
    std::vector<float> q, k;
    std::vector<int32_t> positions;
    Attention of;

    Text(int64_t width, int64_t tokens, int64_t window)
        : q(static_cast<size_t>(kCapacity * kHeads * width)), k(q.size()), positions(static_cast<size_t>(kCapacity)) {
        std::mt19937 random(11);
        std::normal_distribution<float> normal;
        for (float& value : q) value = normal(random);
        for (float& value : k) value = normal(random);
        std::iota(positions.begin(), positions.end(), 0);
        of = {.T = tokens, .S = tokens, .capacity = kCapacity, .H = kHeads, .G = kHeads, .D = width, .stride = width};
        of.scale = 0.3f;
        of.causal = true;
        of.window = window;
        of.q = q.data(), of.k = k.data();
        of.queryPosition = of.keyPosition = positions.data();
    }

    /// The pixels of some rows of head 1, of which each covers 2^level queries and keys, from normalisers that are
    /// computed for these rows alone. @param begin,end of the queries; multiples of 2^level
    std::vector<float> pixels(int64_t begin, int64_t end, int level, bool isMean) const {
        const int64_t cells = int64_t{1} << level, columns = (of.S + cells - 1) / cells;
        Band band{.firstHead = 1, .firstRow = begin, .rowCount = end - begin, .statisticsOfHead = end - begin};
        std::vector<float> statistics(static_cast<size_t>((end - begin) * 4));
        std::vector<float> out(static_cast<size_t>((end - begin + cells - 1) / cells * columns));
        bandStatistics(of, band, statistics.data(), Pool::shared());
        bandPixels(of, band,
                   {.rowLevel = level,
                    .columnLevel = level,
                    .columns = columns,
                    .isMean = isMean,
                    .rowsOfHead = (end - begin + cells - 1) / cells,
                    .stride = columns},
                   statistics.data(), out.data(), Pool::shared());
        return out;
    }
};

} // namespace

TEST_CASE("pattern: the pixels of a band have the same bits however the rows are cut into bands") {
    for (const int64_t width : {8, 16, 64})
        for (const int64_t window : {0, 300})
            for (const int level : {0, 1, 3})
                for (const bool isMean : {false, true}) {
                    CAPTURE(width, window, level, isMean);
                    const int64_t tokens = 1200, cells = int64_t{1} << level;
                    const Text text(width, tokens, window);
                    const std::vector<float> whole = text.pixels(0, tokens, level, isMean);
                    std::vector<float> cut;
                    int64_t rows = 1; // 1, 2, ... pixels high
                    for (int64_t begin = 0; begin < tokens; begin += rows++ * cells) {
                        const auto band = text.pixels(begin, std::min(begin + rows * cells, tokens), level, isMean);
                        cut.insert(cut.end(), band.begin(), band.end());
                    }
                    REQUIRE(cut.size() == whole.size());
                    CHECK((cut == whole)); // does not print them
                }
}

TEST_CASE("pattern: rows that were drawn before more tokens came have the bits of those drawn after") {
    for (const int64_t width : {8, 64}) {
        CAPTURE(width);
        const Text fewer(width, 1100, 0), more(width, 1200, 0);
        const std::vector<float> before = fewer.pixels(1000, 1100, 0, false), after = more.pixels(1000, 1100, 0, false);
        for (int64_t row = 0; row < 100; ++row)
            CHECK(
                std::equal(before.begin() + row * 1100, before.begin() + (row + 1) * 1100, after.begin() + row * 1200));
    }
}
