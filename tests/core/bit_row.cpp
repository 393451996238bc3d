#include "engine/core/bit_row.h"
#include "tests/support/catch.h"

using namespace attn;

namespace {

std::vector<bool> cellsOf(const BitRow& row) {
    std::vector<bool> cells(static_cast<size_t>(row.size()));
    for (int64_t key = 0; key < row.size(); ++key) cells[static_cast<size_t>(key)] = row.test(key);
    return cells;
}

constexpr int64_t kLengths[] = {0, 1, 5, 63, 64, 65, 127, 128, 200};

} // namespace

TEST_CASE("bit row: runs at a stride set what a loop over their keys sets, from any beginning to any end",
          "[attention]") {
    for (int64_t length : kLengths)
        for (int64_t begin : {-130, -65, -3, 0, 1, 7, 62, 63, 64, 65, 190, 300})
            for (int64_t end : {-1, 0, 1, 63, 64, 65, 128, 199, 1000})
                for (int64_t step : {1, 2, 3, 5, 31, 32, 33, 62, 63, 64, 65, 100, 130})
                    for (int64_t width : {1, 2, 4, 30, 63, 64, 99, 200}) {
                        BitRow row(length);
                        row.setEvery(begin, end, step, width);
                        std::vector<bool> expected(static_cast<size_t>(length));
                        for (int64_t run = begin; run < end; run += step)
                            for (int64_t key = run; key < std::min({run + width, end, length}); ++key)
                                if (key >= 0) expected[static_cast<size_t>(key)] = true;
                        if (cellsOf(row) != expected)
                            FAIL(length << " " << begin << " " << end << " " << step << " " << width);
                    }
    SUCCEED();
}

TEST_CASE("bit row: ranges, counts and complements keep to the length", "[attention]") {
    for (int64_t length : kLengths)
        for (int64_t begin : {-70, -1, 0, 1, 63, 64, 100, 199, 200})
            for (int64_t end : {-70, 0, 1, 64, 65, 127, 128, 200, 1000}) {
                CAPTURE(length, begin, end);
                BitRow row(length), stride(length);
                row.setRange(begin, end);
                stride.setEvery(begin, end, 1);
                CHECK(row == stride);
                const int64_t inside = std::max<int64_t>(0, std::min(end, length) - std::max<int64_t>(begin, 0));
                CHECK(row.count() == inside);
                CHECK(row.any() == (inside > 0));
                CHECK(row.anyFrom(std::max<int64_t>(begin, 0) + 1) == (inside > 1));
                CHECK_FALSE(row.anyFrom(end));

                BitRow other = row;
                other.complement();
                CHECK(other.count() == length - inside);
                other |= row;
                CHECK(other.count() == length);
                other.complement();
                CHECK_FALSE(other.any());
            }
}

TEST_CASE("bit row: a visit meets every set key once, in rising order", "[attention]") {
    BitRow row(200);
    const std::vector<int64_t> keys{0, 1, 63, 64, 127, 199};
    for (int64_t key : keys) row.set(key);
    std::vector<int64_t> met;
    row.forEach([&](int64_t key) { met.push_back(key); });
    CHECK(met == keys);
    row &= BitRow(200);
    CHECK_FALSE(row.any());
}
