#include "engine/attention/mask/blocks.h"

#include "engine/core/bit_row.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace attn {
namespace {

using Tile = std::array<uint32_t, MaskBlocks::kQueries>;

/// @source Fowler, Noll, Vo: FNV-1a, here a word at a time
struct TileHash {
    size_t operator()(const Tile& tile) const {
        uint64_t hash = 14695981039346656037u;
        for (uint32_t word : tile) hash = (hash ^ word) * 1099511628211u;
        return hash ^ hash >> 32;
    }
};

constexpr size_t blocksOf(int64_t cells, int64_t block) { return static_cast<size_t>((cells + block - 1) / block); }

/// Counting sort of the lists by keys.
void transpose(MaskBlocks& result) {
    result.columnBegin.assign(blocksOf(result.keys, MaskBlocks::kKeys) + 1, 0);
    for (const MaskBlocks::Block& block : result.blocks) ++result.columnBegin[static_cast<size_t>(block.at) + 1];
    for (size_t k = 1; k < result.columnBegin.size(); ++k) result.columnBegin[k] += result.columnBegin[k - 1];
    std::vector<int32_t> next = result.columnBegin;
    result.columnBlocks.resize(result.blocks.size());
    for (size_t q = 0; q + 1 < result.rowBegin.size(); ++q)
        for (int32_t b = result.rowBegin[q]; b < result.rowBegin[q + 1]; ++b) {
            const auto& [at, bits] = result.blocks[static_cast<size_t>(b)];
            const auto place = static_cast<size_t>(next[static_cast<size_t>(at)]++);
            result.columnBlocks[place] = {static_cast<int32_t>(q), bits};
        }
}

} // namespace

MaskBlocks maskBlocks(const MaskExpression& mask, const MaskSize& size, QueryRange seeing) {
    MaskBlocks result{.queries = std::min(size.queries, seeing.end), .keys = size.keys};
    const size_t rows = blocksOf(result.queries, MaskBlocks::kQueries),
                 columns = blocksOf(size.keys, MaskBlocks::kKeys);
    std::unordered_map<Tile, int32_t, TileHash> places;
    std::array<BitRow, MaskBlocks::kQueries> strip;
    result.rowBegin.reserve(rows + 1);
    result.rowBegin.push_back(0);
    for (int64_t first = 0; first < result.queries; first += MaskBlocks::kQueries) {
        const auto present = std::min(MaskBlocks::kQueries, result.queries - first);
        for (int64_t r = 0; r < present; ++r) {
            BitRow& row = strip[static_cast<size_t>(r)];
            if (first + r < seeing.begin)
                row.reset(size.keys);
            else
                mask.row(size, first + r, row);
            result.seenPerRow.push_back(static_cast<int32_t>(row.count()));
            result.seen += result.seenPerRow.back();
        }
        for (size_t column = 0; column < columns; ++column) {
            const int64_t width =
                std::min(MaskBlocks::kKeys, size.keys - static_cast<int64_t>(column) * MaskBlocks::kKeys);
            const uint32_t all = ~uint32_t{0} >> (MaskBlocks::kKeys - width);
            Tile tile{};
            uint32_t any = 0, every = all;
            for (size_t r = 0; r < static_cast<size_t>(present); ++r) {
                tile[r] = static_cast<uint32_t>(strip[r].words()[column / 2] >> (column % 2 * 32));
                any |= tile[r];
                every &= tile[r];
            }
            if (any == 0) continue;
            int32_t bits = -1;
            if (every == all) {
                ++result.full;
            } else {
                ++result.partial;
                const auto [place, isNew] = places.try_emplace(tile, static_cast<int32_t>(places.size()));
                if (isNew) result.bits.insert(result.bits.end(), tile.begin(), tile.end());
                bits = place->second;
            }
            result.blocks.push_back({static_cast<int32_t>(column), bits});
        }
        result.rowBegin.push_back(static_cast<int32_t>(result.blocks.size()));
    }
    result.empty = static_cast<int64_t>(rows * columns) - result.full - result.partial;
    transpose(result);
    return result;
}

void addLabels(MaskBlocks& blocks, const std::function<int64_t(int64_t, int64_t)>& label) {
    constexpr auto kRows = static_cast<size_t>(MaskBlocks::kQueries), kCells = kRows * MaskBlocks::kKeys;
    const std::vector<uint32_t> unlabelled = std::move(blocks.bits);
    blocks.bits.clear();
    std::map<std::pair<int32_t, std::array<uint16_t, kCells>>, int32_t> places;
    for (size_t row = 0; row + 1 < blocks.rowBegin.size(); ++row)
        for (int32_t b = blocks.rowBegin[row]; b < blocks.rowBegin[row + 1]; ++b) {
            auto& [at, bits] = blocks.blocks[static_cast<size_t>(b)];
            Tile tile;
            tile.fill(~uint32_t{0});
            if (bits >= 0) std::copy_n(unlabelled.begin() + bits * MaskBlocks::kQueries, kRows, tile.begin());
            std::array<uint16_t, kCells> labels{};
            const int64_t query = static_cast<int64_t>(row) * MaskBlocks::kQueries, key = at * MaskBlocks::kKeys;
            for (int64_t t = query; t < std::min(query + MaskBlocks::kQueries, blocks.queries); ++t)
                for (int64_t s = key; s < std::min(key + MaskBlocks::kKeys, blocks.keys); ++s)
                    if ((tile[static_cast<size_t>(t - query)] >> (s - key) & 1) != 0)
                        labels[static_cast<size_t>((t - query) * MaskBlocks::kKeys + s - key)] =
                            static_cast<uint16_t>(label(t, s));
            const auto [place, isNew] = places.try_emplace({bits, labels}, static_cast<int32_t>(places.size()));
            if (isNew) {
                blocks.bits.insert(blocks.bits.end(), tile.begin(), tile.end());
                blocks.labels.insert(blocks.labels.end(), labels.begin(), labels.end());
            }
            bits = place->second;
        }
    transpose(blocks);
}

} // namespace attn
