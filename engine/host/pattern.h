#pragma once

#include "engine/host/scores.h"

// Patterns of attention: their scores, and pictures of them that store no pattern.

namespace attn::host {

/// All scores [H,capacity,columns]; hidden cells, those of queries and keys that do not exist among them, are
/// kHiddenScore. @param columns keys that the tensor has room for
void attentionScores(const Attention& of, int64_t columns, float* scores, Pool& pool);

/// [H,capacity,4] for some queries: the maximum of the row's scores and 1 / the sum of exp(score - maximum), all 0 if
/// it sees nothing.
void rowStatistics(const Attention& of, Rows queries, float* statistics, Pool& pool);

/// A window of a pattern as a picture. A pixel is the largest weight of the cells that it covers.
struct PatternTile {
    Rows queries{}, keys{};
    int64_t rows = 0, columns = 0;       ///< pixels
    int64_t firstHead = 0, heads = 0;    ///< pictures, one for each head
    enum { Each, Mean, Most } of = Each; ///< of all heads, in one picture
    int64_t size = 0, stride = 0;        ///< rows of a picture, and floats in each
    const float* statistics = nullptr;   ///< from rowStatistics()
};
void patternTile(const Attention& of, const PatternTile& tile, float* pixels, Pool& pool);

/// A band of a pattern: the queries firstRow + r rowStep, r < rowCount, of some heads.
struct Band {
    int64_t firstHead = 0, heads = 1;
    int64_t firstRow = 0, rowStep = 1, rowCount = 0;
    int64_t statistics = 0, statisticsStep = 1; ///< those of row r are at statistics + r statisticsStep
    int64_t statisticsOfHead = 0;
};
/// [heads * statisticsOfHead, 4]: the maximum of a row in powers of two and 1 / the sum; all 0 if it sees nothing.
void bandStatistics(const Attention& of, const Band& band, float* statistics, Pool& pool);

/// How a band becomes pixels: each covers 2^rowLevel rows and 2^columnLevel keys.
struct Pixels {
    int64_t rowLevel = 0, columnLevel = 0, firstKey = 0, columns = 0;
    bool isMean = false;                ///< of the weights, not the largest
    int64_t rowsOfHead = 0, stride = 0; ///< of the picture in memory
};
void bandPixels(const Attention& of, const Band& band, const Pixels& how, const float* statistics, float* pixels,
                Pool& pool);

/// The weight of `rowsOfSet` rows after another by distance: [rows / rowsOfSet, bins], where bin 0 is distance 0 and
/// bin b the distances from 2^(b-1) to 2^b - 1.
void bandDistances(const Attention& of, const Band& band, int64_t rowsOfSet, int64_t bins, const float* statistics,
                   float* weights, Pool& pool);

} // namespace attn::host
