#include "engine/attention/block_order.h"
#include "tests/support/catch.h"

#include <vector>

using namespace attn;

TEST_CASE("block order: places follow one another block by block, and blocks are cut off at the borders", "[core]") {
    const BlockOrder order{.rows = 3, .columns = 5, .blockRows = 2, .blockColumns = 2};
    // The number of each place, worked out by hand.
    const std::vector<std::vector<int64_t>> numbers{{0, 1, 4, 5, 8}, {2, 3, 6, 7, 9}, {10, 11, 12, 13, 14}};
    for (int64_t row = 0; row < 3; ++row)
        for (int64_t column = 0; column < 5; ++column) {
            const int64_t nth = numbers[static_cast<size_t>(row)][static_cast<size_t>(column)];
            CHECK(order.nthOf({row, column}) == nth);
            CHECK(order.placeOf(nth) == BlockOrder::Place{row, column});
        }
    CHECK(order.runEnd(1) == 2);
    CHECK(order.runEnd(4) == 5);
}

TEST_CASE("block order: both directions agree for every size of blocks", "[core]") {
    for (int64_t rows : {1, 4, 7})
        for (int64_t columns : {1, 5, 6})
            for (int64_t height : {1, 2, 3, 9})
                for (int64_t width : {1, 2, 4, 9}) {
                    const BlockOrder order{rows, columns, height, width};
                    for (int64_t nth = 0; nth < rows * columns; ++nth) CHECK(order.nthOf(order.placeOf(nth)) == nth);
                }
}

TEST_CASE("block order: blocks of one row are the order row by row, whatever their width", "[core]") {
    for (int64_t width : {1, 2, 4}) {
        const BlockOrder order{.rows = 3, .columns = 4, .blockColumns = width};
        for (int64_t nth = 0; nth < 12; ++nth) CHECK(order.placeOf(nth) == BlockOrder::Place{nth / 4, nth % 4});
    }
}
