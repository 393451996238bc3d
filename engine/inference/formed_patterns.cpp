#include "engine/inference/formed_patterns.h"

#include "engine/core/bit_row.h"
#include "engine/inference/head_profiler.h"
#include "engine/inference/language_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace attn {

std::vector<float> FormedPatterns::weightsOf(int site, int head, int query, int keyBegin, int keyEnd) const {
    const GpuExecutor* formed = model_.formedExecutor();
    if (!formed || head >= model_.info().site(site).heads) return {};
    const GpuExecutor& executor = *formed;
    const auto rowOf = [&](const std::string& hook, int row) { // [H,T,columns]
        const Shape& shape = executor.plan().result(hook).type.shape;
        const auto at = static_cast<size_t>(head * shape[1] + row) * static_cast<size_t>(shape.rowStride());
        return executor.result(hook).subspan(at, static_cast<size_t>(shape.columns()));
    };
    const auto& results = executor.plan().results;
    const std::string pattern = model_.info().site(site).hook("pattern");
    if (results.contains(pattern)) {
        const auto row = rowOf(pattern, query);
        return {row.begin() + keyBegin, row.begin() + keyEnd};
    }
    if (!results.contains(pattern + "_queries")) return {};
    const auto q = rowOf(pattern + "_queries", query);
    BitRow seen;
    model_.attentionOf(site).spec.mask.row({.queries = model_.capacity(),
                                            .keys = model_.capacity(),
                                            .head = head,
                                            .heads = model_.info().heads,
                                            .layer = site},
                                           query, seen);
    std::vector<float> weights;
    for (int key = keyBegin; key < keyEnd; ++key) {
        const auto k = rowOf(pattern + "_keys", key);
        weights.push_back(!seen.test(key) ? 0.0f : std::inner_product(q.begin(), q.end(), k.begin(), 0.0f));
    }
    return weights;
}

PatternTile FormedPatterns::pooled(const PatternRequest& view, int rows, int columns) const {
    PatternTile tile = emptyTile(view, rows, columns);
    tile.leavesOutFirst = view.hidesFirst;
    tile.values.assign(static_cast<size_t>(rows) * static_cast<size_t>(columns), 0);
    const bool isOne = view.aggregate == HeadAggregate::None;
    const int first = isOne ? view.head : 0, end = isOne ? view.head + 1 : model_.info().site(view.site).heads;
    const auto pixelOf = [](int at, int begin, int length, int pixels) {
        return static_cast<size_t>((at - begin) * static_cast<int64_t>(pixels) / length);
    };
    const int queries = model_.queryCount(view.site), keys = model_.keyCount(view.site);
    const int queryEnd = std::min(view.queryEnd, queries),
              keyEnd = std::max(view.keyBegin, std::min(view.keyEnd, keys));
    for (int query = view.queryBegin; query < queryEnd; ++query) {
        std::vector<float> values(static_cast<size_t>(keyEnd - view.keyBegin), 0);
        for (int head = first; head < end; ++head) {
            auto row = weightsOf(view.site, head, query, view.keyBegin, keyEnd);
            if (row.empty()) return tile;
            if (view.hidesFirst) {
                const std::vector<float> rest = weightsOf(view.site, head, query, 1, std::max(keys, 1));
                const double left = std::accumulate(rest.begin(), rest.end(), 0.0);
                for (float& weight : row) // 1e-6: rounding error of a row with all weight on the first token
                    weight = left > 1e-6 ? static_cast<float>(static_cast<double>(weight) / left) : 0;
                if (view.keyBegin == 0) row.front() = 0;
            }
            for (size_t key = 0; key < row.size(); ++key)
                values[key] = view.aggregate == HeadAggregate::Mean
                                  ? values[key] + row[key] / static_cast<float>(end - first)
                                  : std::max(values[key], row[key]);
        }
        for (int key = view.keyBegin; key < keyEnd; ++key) {
            const size_t at =
                pixelOf(query, view.queryBegin, view.queryEnd - view.queryBegin, rows) * static_cast<size_t>(columns) +
                pixelOf(key, view.keyBegin, view.keyEnd - view.keyBegin, columns);
            tile.values[at] = std::max(tile.values[at], values[static_cast<size_t>(key - view.keyBegin)]);
        }
    }
    return tile;
}

PatternTile FormedPatterns::tile(const PatternRequest& request) {
    if (model_.tokens().empty()) return {};
    const PatternRequest view = bounded(request);
    return pooled(view, std::min(view.queryEnd - view.queryBegin, view.detailSize),
                  std::min(view.keyEnd - view.keyBegin, view.detailSize));
}

PatternGrid FormedPatterns::grid(int size, bool hidesFirst) {
    if (model_.tokens().empty() || size <= 0) return {};
    size = std::clamp(size, 8, 256);
    PatternGrid grid{.sites = model_.info().siteCount(), .heads = model_.info().heads, .tiles = {}};
    for (int site = 0; site < grid.sites; ++site) {
        const int queries = model_.queryCount(site), keys = model_.keyCount(site), most = std::max(queries, keys);
        int cells = 1; // a pixel covers a power of two of tokens, as in the thumbnails of cached patterns
        while ((most + cells - 1) / cells > size) cells *= 2;
        const int rows = (queries + cells - 1) / cells, columns = (keys + cells - 1) / cells;
        for (int head = 0; head < grid.heads; ++head)
            grid.tiles.push_back(head >= model_.info().site(site).heads
                                     ? PatternTile{.site = site, .head = head}
                                     : pooled({.site = site,
                                               .head = head,
                                               .queryBegin = 0,
                                               .queryEnd = rows * cells,
                                               .keyBegin = 0,
                                               .keyEnd = columns * cells,
                                               .hidesFirst = hidesFirst && most > size},
                                              rows, columns));
    }
    return grid;
}

float FormedPatterns::weight(const CellRequest& cell) {
    const auto weights = weightsOf(cell.site, cell.head, cell.query, cell.key, cell.key + 1);
    return weights.empty() ? std::numeric_limits<float>::quiet_NaN() : weights.front();
}

std::vector<float> FormedPatterns::formedRow(int site, int head, int query) const {
    return weightsOf(site, head, query, 0, model_.keyCount(site));
}

HeadProfile FormedPatterns::beginProfile(int site, int head) {
    if (model_.tokens().empty()) return {};
    site = std::clamp(site, 0, model_.info().siteCount() - 1);
    head = std::clamp(head, 0, model_.info().site(site).heads - 1);
    const int queries = model_.queryCount(site), keys = model_.keyCount(site);
    const bool isCross = model_.info().structure.isCross(site);
    HeadProfile profile{.site = site,
                        .head = head,
                        .received = std::vector<float>(static_cast<size_t>(keys), 0),
                        .distances = std::vector<float>(isCross ? 0 : kDistanceBins, 0),
                        .hasChangedPattern = hasChangedPattern(site, head)};
    for (int query = 0; query < queries; ++query) {
        const std::vector<float> row = weightsOf(site, head, query, 0, keys);
        if (row.empty()) return {.site = site, .head = head, .hasChangedPattern = profile.hasChangedPattern};
        const bool seesMore = isCross || query > 0 ||
                              std::ranges::any_of(row.begin() + 1, row.end(), [](float weight) { return weight > 0; });
        for (int key = 0; key < keys; ++key) {
            const float weight = row[static_cast<size_t>(key)];
            profile.received[static_cast<size_t>(key)] += weight;
            if (!isCross)
                profile.distances[std::bit_width(static_cast<uint32_t>(std::abs(query - key)))] +=
                    weight / static_cast<float>(queries);
            if (seesMore) keepLargest(profile.largest, {.query = query, .key = key, .weight = weight});
        }
    }
    return profile;
}

} // namespace attn
