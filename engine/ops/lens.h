#pragma once

#include "engine/graph/dispatch.h"
#include "engine/ops/ops.h"

#include <array>

// The long-pattern view: reads a pattern piece by piece without storing it, at any length, in memory that does not grow
// with its cells.

namespace attn {

/// How a pixel combines the cells that it covers.
enum class Pooling : uint8_t { Maximum, Mean };

/// A band of a pattern as pixels. Its rows are the queries firstRow + r rowStep, r < rowCount. A pixel covers
/// 2^rowLevel of these rows and 2^columnLevel keys, from firstKey on.
struct LensBand {
    static constexpr int kMostLevel = 9; ///< a larger pixel exceeds the loop limit of software Vulkan

    int32_t head = 0;
    int32_t firstRow = 0, rowStep = 1, rowLevel = 0, rowCount = 0;
    int32_t firstKey = 0, columnLevel = 0;
    int32_t columns = 0;                        ///< pixels
    int32_t statistics = 0, statisticsStep = 1; ///< index of row r's statistics: statistics + r statisticsStep
    int32_t setsOfLanes = 1;                    ///< per workgroup, see lensSets()
    int32_t heads = 1;                          ///< from `head` on; as many as the tensors are made for
    int32_t firstSeen = 0;                      ///< keys before this one are masked, as if they did not exist

    int32_t rows() const { return (rowCount + (1 << rowLevel) - 1) >> rowLevel; } ///< pixels
    /// The contents of the input `view` of lensStatistics() or lensTile().
    std::array<int32_t, 16> statisticsWords() const;
    std::array<int32_t, 16> tileWords() const;
};

/// The number of sets of eight lanes in a workgroup of the kernels, on a device.
int32_t lensSets(const KernelTraits& traits);
/// The largest number of tokens for heads of a width. Software Vulkan silently leaves a shader's loops after 65,535
/// rounds in total.
int64_t lensTokens(const KernelTraits& traits, int64_t width);

/// The maximum of each row's scores times log2 e, and 1 / the sum of their exponentials; 0 and 0 if the row sees
/// nothing. A score is q.k scale - slope |position of the query - position of the key|.
/// @param slopes [H], of ALiBi; 0 for none  @param view I32 [16]: LensBand::statisticsWords()
/// @param rows the largest number of rows of a band  @param heads that are computed at once
/// @return [heads * rows, 4]; with one head, StepScalar::QueryLength (rowCount) of them are live
Tensor lensStatistics(const AttentionInputs& inputs, Tensor slopes, Tensor view, const AttentionRule& rule,
                      int64_t rows, int64_t heads = 1);
/// The pixels of a band: the exact maximum or mean of the attention weights that each covers.
/// @param statistics [.., 4] from lensStatistics()  @param view I32 [16]: LensBand::tileWords()
/// @param isFine whether columnLevel is below 2  @param heads that are computed at once
/// @return [heads * rows, columns]; pixels beyond the band are undefined
Tensor lensTile(const AttentionInputs& inputs, Tensor slopes, Tensor statistics, Tensor view, const AttentionRule& rule,
                Pooling pooling, bool isFine, int64_t rows, int64_t columns, int64_t heads = 1);

constexpr int64_t kDistanceBins = 32;
/// The total attention weight by distance: bin 0 is the query itself, bin b the keys 2^(b-1) to 2^b - 1 positions away.
/// @param statistics [.., 4] from lensStatistics()  @param view I32 [16]: LensBand::statisticsWords()
/// @param rows the largest number of rows of a band  @return [ceil(rows / 16), 32]: sums over sixteen rows each
Tensor lensDistances(const AttentionInputs& inputs, Tensor slopes, Tensor statistics, Tensor view,
                     const AttentionRule& rule, int64_t rows);

} // namespace attn
