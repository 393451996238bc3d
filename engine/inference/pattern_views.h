#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attn {

/// How the heads of a layer are combined into one pattern.
enum class HeadAggregate { None, Mean, Maximum };

/// The part of the patterns that views show.
struct PatternRequest {
    int site = 0;
    int head = 0;
    HeadAggregate aggregate = HeadAggregate::None; ///< replaces the selected head by an aggregate of its site
    int thumbnailSize = 64;                        ///< pixels across; 0: no thumbnails
    bool detail = true;                            ///< whether to compute the selected head at full resolution
    int detailSize = 1024;                         ///< largest number of pixels across the detail
    int queryBegin = 0, queryEnd = 0;              ///< token range of the detail; 0, 0: all
    int keyBegin = 0, keyEnd = 0;
    bool hidesFirst = false; ///< see PatternTile::leavesOutFirst
    bool operator==(const PatternRequest&) const = default;
};

/// The cell of a pattern whose arithmetic is asked for.
struct CellRequest {
    int site = 0, head = 0, query = 0, key = 0;
    bool operator==(const CellRequest&) const = default;
};

/// Part of one attention pattern, pooled for display: rows are queries, columns are keys.
struct PatternTile {
    int site = 0;
    int head = 0;       ///< -1: the aggregate over the heads of the site, PatternRequest::aggregate
    int rows = 0;       ///< pixels down
    int columns = 0;    ///< pixels across
    int queryBegin = 0; ///< token range covered: [queryBegin, queryEnd)
    int queryEnd = 0;
    int keyBegin = 0;
    int keyEnd = 0;
    /// Share of the pixel rows that read every query they cover. Each other pixel row shows one query of its range.
    float exactRows = 1;
    bool leavesOutFirst = false; ///< key 0 is left out, and the remaining weights of each row are scaled to sum to 1
    bool isCross = false;        ///< the keys are rows of another stream, so none comes after a query
    /// [rows, columns]. Each pixel is the maximum of the attention weights that it covers.
    std::vector<float> values{};
    float at(int row, int column) const {
        return values[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column)];
    }
    /// @return true if each pixel is one cell
    bool isExact() const { return rows == queryEnd - queryBegin && columns == keyEnd - keyBegin && exactRows == 1; }
};

/// The patterns of all heads, each pooled to at most a given resolution.
struct PatternGrid {
    int sites = 0;
    int heads = 0;
    std::vector<PatternTile> tiles; ///< site-major; without rows where a site has fewer heads
    const PatternTile& at(int site, int head) const { return tiles[static_cast<size_t>(site * heads + head)]; }
};

/// Summary of one head's pattern. Its size grows at most linearly with the number of tokens.
struct HeadProfile {
    int site = 0, head = 0;
    int keysOfPlace = 1;         ///< number of keys that one value of `received` covers
    std::vector<float> received; ///< total weight of a key over all queries; the mean where a value covers several keys
    /// Share of all weight at distances 0, 1, 2 to 3, 4 to 7, ... tokens; empty where keys are rows of another stream.
    std::vector<float> distances;
    struct Cell {
        int query = 0, key = 0;
        float weight = 0;
        bool operator==(const Cell&) const = default;
    };
    /// The largest cells, in falling order, without the first query if it sees only itself. Empty until all rows are
    /// counted.
    std::vector<Cell> largest;
    float exactRows = 1;            ///< share of the rows counted so far
    bool hasChangedPattern = false; ///< a change sets the pattern
};

/// Attention weights to every key from the row that the readout reads, for all heads: the newest token of a text that
/// the model continues, the [MASK] that it fills, [CLS].
struct ReadoutRows {
    int sites = 0;
    int heads = 0;
    int keys = 0;              ///< the most that a site has
    std::vector<int> queries;  ///< [sites] the row of the site; the last one where the readout reads another stream
    std::vector<float> values; ///< [sites, heads, keys]; 0 for keys that a site does not have
};

/// A term that attention adds to the score q.k * scale.
struct ScoreTerm {
    std::string name; ///< the end of its hook's name: "position_bias"
    float value = 0;
    bool operator==(const ScoreTerm&) const = default;
};

/// The arithmetic of one cell, recomputed on the host from the q, k and v on the device.
struct CellExplanation {
    /// Why this attention has no such arithmetic. If set, only the site, head, query, key and `displayed` are valid.
    std::string remark{};
    int site = 0;
    int head = 0;
    int keyValueHead = 0; ///< the key/value head that this head reads (GQA)
    int query = 0;
    int key = 0;
    std::vector<float> q;           ///< [D] as used in the score, after rotary embedding
    std::vector<float> k;           ///< [D] as used in the score
    std::vector<float> products;    ///< q[d] * k[d]
    float dot = 0;                  ///< sum of products
    float scale = 1;                ///< factor on the dot product
    std::vector<ScoreTerm> terms{}; ///< terms that parts add to the score
    float score = 0;                ///< dot * scale + the terms
    bool isMasked = false;
    std::string maskReason;                  ///< e.g. "the key is after the query"
    float rowMaximum = 0;                    ///< maximum of the visible scores of this row
    float rowSum = 0;                        ///< sum of exp(score - rowMaximum) over the row
    float probability = 0;                   ///< exp(score - rowMaximum) / rowSum
    float displayed = 0;                     ///< the value in the heatmap, from the device; NaN: none
    std::vector<float> v;                    ///< [D] the value vector of the key
    std::vector<float> contribution;         ///< [D] probability * v: the term that the cell adds to z
    std::vector<float> residualContribution; ///< [C] contribution through this head's W_O
    std::vector<float> rowScores;            ///< [S] scaled scores of the row, NaN where masked
    std::vector<float> rowProbabilities;     ///< [S]

    CellRequest cell() const { return {site, head, query, key}; }
};

} // namespace attn
