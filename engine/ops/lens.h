#pragma once

#include "engine/graph/dispatch.h"
#include "engine/ops/ops.h"

#include <array>

// A pattern that is never formed, looked at piece by piece: at any length, in memory that does not grow with its cells.

namespace attn {

enum class Pooling : uint8_t { Maximum, Mean };

/// A band of a pattern as pixels. Its rows are the queries firstRow + r rowStep, r < rowCount; a pixel covers
/// 2^rowLevel of them and 2^columnLevel keys from firstKey on.
struct LensBand {
    static constexpr int kMostLevel = 9; ///< a pixel of more is more than software Vulkan's loops can count

    int32_t head = 0;
    int32_t firstRow = 0, rowStep = 1, rowLevel = 0, rowCount = 0;
    int32_t firstKey = 0, columnLevel = 0;
    int32_t columns = 0;                        ///< pixels
    int32_t statistics = 0, statisticsStep = 1; ///< where those of row r stand: statistics + r statisticsStep
    int32_t setsOfLanes = 1;                    ///< of a workgroup, see lensSets()
    int32_t heads = 1;                          ///< from `head` on, all that the tensors are made for
    int32_t firstSeen = 0;                      ///< keys before it are masked, as if there were none

    int32_t rows() const { return (rowCount + (1 << rowLevel) - 1) >> rowLevel; } ///< pixels
    /// What the input of lensStatistics() or lensTile() holds.
    std::array<int32_t, 16> statisticsWords() const;
    std::array<int32_t, 16> tileWords() const;
};

/// Sets of eight lanes in a workgroup of the kernels, on a device.
int32_t lensSets(const KernelTraits& traits);
/// Tokens at most, of heads of a width: software Vulkan leaves loops, without a word, after 65,535 rounds of them all.
int64_t lensTokens(const KernelTraits& traits, int64_t width);

/// The maximum of each row's scores times log2 e and 1 / the sum of their exponentials, 0 and 0 where it sees nothing.
/// A score is q.k scale - slope |position of the query - position of the key|.
/// @param slopes [H], of ALiBi; 0 for none  @param view I32 [16]: LensBand::statisticsWords()
/// @param rows of the band at most  @param heads that are done at once
/// @return [heads * rows, 4], of which StepScalar::QueryLength are live where it is one head: rowCount
Tensor lensStatistics(const AttentionInputs& inputs, Tensor slopes, Tensor view, const AttentionRule& rule,
                      int64_t rows, int64_t heads = 1);
/// The pixels of a band: the largest or the mean probability of all cells that each covers, exactly.
/// @param statistics [.., 4] as of lensStatistics()  @param view I32 [16]: LensBand::tileWords()
/// @param isFine whether columnLevel is below 2  @param heads that are done at once
/// @return [heads * rows, columns]; pixels beyond the band are undefined
Tensor lensTile(const AttentionInputs& inputs, Tensor slopes, Tensor statistics, Tensor view, const AttentionRule& rule,
                Pooling pooling, bool isFine, int64_t rows, int64_t columns, int64_t heads = 1);

constexpr int64_t kDistanceBins = 32;
/// How much weight goes how far: bin 0 is the query itself, bin b the keys 2^(b-1) to 2^b - 1 positions away.
/// @param statistics [.., 4] as of lensStatistics()  @param view I32 [16]: LensBand::statisticsWords()
/// @param rows of the band at most  @return [ceil(rows / 16), 32]: summed over sixteen rows each
Tensor lensDistances(const AttentionInputs& inputs, Tensor slopes, Tensor statistics, Tensor view,
                     const AttentionRule& rule, int64_t rows);

} // namespace attn
