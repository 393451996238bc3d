#include "engine/attention/mask/blocks.h"
#include "tests/attention/mask_pictures.h"
#include "tests/attention/random_masks.h"

using namespace attn;
using namespace attn::test;

namespace {

/// The mask that the lists describe, drawn from `blocks` (or from the lists by keys).
std::string drawn(const MaskBlocks& blocks, bool byKeys) {
    std::vector<std::string> rows(static_cast<size_t>(blocks.queries),
                                  std::string(static_cast<size_t>(blocks.keys), '.'));
    const auto& begins = byKeys ? blocks.columnBegin : blocks.rowBegin;
    const auto& list = byKeys ? blocks.columnBlocks : blocks.blocks;
    for (size_t outer = 0; outer + 1 < begins.size(); ++outer)
        for (int32_t b = begins[outer]; b < begins[outer + 1]; ++b) {
            const auto [at, bits] = list[static_cast<size_t>(b)];
            const auto inner = static_cast<size_t>(at);
            const size_t top = (byKeys ? inner : outer) * 8, left = (byKeys ? outer : inner) * 32;
            for (size_t r = 0; r < 8; ++r)
                for (size_t k = 0; k < 32; ++k) {
                    const bool exists = top + r < rows.size() && left + k < rows.front().size();
                    const bool isSeen = bits < 0 || (blocks.bits[static_cast<size_t>(bits) * 8 + r] >> k & 1) != 0;
                    if (!exists && bits >= 0) CHECK_FALSE(isSeen);
                    if (exists && isSeen) rows[top + r][left + k] = '#';
                }
        }
    std::string picture;
    for (const std::string& row : rows) picture += (picture.empty() ? "" : " ") + row;
    return picture;
}

} // namespace

TEST_CASE("mask blocks: the lists give the mask back bit by bit, by rows and by columns, at odd sizes", "[attention]") {
    std::mt19937 draws(7);
    for (int round = 0; round < 200; ++round) {
        const std::string text = randomMask(draws, 4).text;
        CAPTURE(text);
        const auto mask = MaskExpression::parse(text);
        const MaskSize size{.queries = 1 + static_cast<int64_t>(draws() % 70),
                            .keys = 1 + static_cast<int64_t>(draws() % 140),
                            .head = static_cast<int>(draws() % 3),
                            .heads = 3,
                            .layer = static_cast<int>(draws() % 3)};
        const MaskBlocks blocks = maskBlocks(mask, size);
        const std::string picture = pictureOf(mask, size);
        CHECK(drawn(blocks, false) == picture);
        CHECK(drawn(blocks, true) == picture);

        const int64_t rows = (size.queries + 7) / 8, columns = (size.keys + 31) / 32;
        CHECK(std::ssize(blocks.rowBegin) == rows + 1);
        CHECK(std::ssize(blocks.columnBegin) == columns + 1);
        CHECK(blocks.full + blocks.partial + blocks.empty == rows * columns);
        CHECK(std::ssize(blocks.blocks) == blocks.full + blocks.partial);
        CHECK(std::ranges::count(blocks.blocks, -1, &MaskBlocks::Block::bits) == blocks.full);
        CHECK(blocks.seen == std::ranges::count(picture, '#'));
        REQUIRE(std::ssize(blocks.seenPerRow) == size.queries);
        BitRow row;
        for (int64_t i = 0; i < size.queries; ++i) {
            mask.row(size, i, row);
            CHECK(blocks.seenPerRow[static_cast<size_t>(i)] == row.count());
        }

        std::set<std::vector<uint32_t>> different;
        for (size_t b = 0; b < blocks.bits.size(); b += 8)
            CHECK(different
                      .insert({blocks.bits.begin() + static_cast<std::ptrdiff_t>(b),
                               blocks.bits.begin() + static_cast<std::ptrdiff_t>(b) + 8})
                      .second);
    }
}

TEST_CASE("mask blocks: a small one by hand", "[attention]") {
    // 9 x 40 causal: block 0 of the queries has the triangle, its last row alone is in block 1 of the queries.
    const MaskBlocks blocks = maskBlocks(MaskExpression::parse("causal"), {.queries = 9, .keys = 40});
    CHECK(blocks.rowBegin == std::vector<int32_t>{0, 1, 2});
    CHECK(blocks.blocks == std::vector<MaskBlocks::Block>{{0, 0}, {0, 1}});
    CHECK(blocks.bits == std::vector<uint32_t>{1, 3, 7, 15, 31, 63, 127, 255, 511, 0, 0, 0, 0, 0, 0, 0});
    CHECK(blocks.columnBegin == std::vector<int32_t>{0, 2, 2});
    CHECK(blocks.columnBlocks == std::vector<MaskBlocks::Block>{{0, 0}, {1, 1}});
    CHECK(blocks.seen == 45);
    CHECK(blocks.partial == 2);
    CHECK(blocks.empty == 2);

    // Cells beyond the edge do not count: all that exist are seen.
    const MaskBlocks whole = maskBlocks(MaskExpression(), {.queries = 9, .keys = 40});
    CHECK(whole.full == 4);
    CHECK(whole.bits.empty());
    const MaskBlocks nothing = maskBlocks(MaskExpression::parse("~full"), {.queries = 9, .keys = 40});
    CHECK(nothing.blocks.empty());
    CHECK(nothing.empty == 4);
    CHECK(nothing.seen == 0);
}

TEST_CASE("mask blocks: blocks that look alike share their bits, so a window's do not grow with the text",
          "[attention]") {
    const auto shared = [](int64_t tokens) {
        return maskBlocks(MaskExpression::parse("causal & window(64)"), square(tokens)).bits.size();
    };
    CHECK(shared(1024) == shared(4096));
    CHECK(shared(4096) <= 8 * 12);
}
