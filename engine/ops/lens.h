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

    int32_t rows() const { return (rowCount + (1 << rowLevel) - 1) >> rowLevel; } ///< pixels
    /// What the input of lensStatistics() or lensTile() holds.
    std::array<int32_t, 16> statisticsWords() const;
    std::array<int32_t, 16> tileWords() const;
};

/// Sets of eight lanes in a workgroup of the kernels, on a device.
int32_t lensSets(const KernelTraits& traits);

/// The maximum of each row's scores times log2 e and 1 / the sum of their exponentials, 0 and 0 where it sees nothing.
/// A score is q.k scale - slope |position of the query - position of the key|.
/// @param slopes [H], of ALiBi; 0 for none  @param view I32 [16]: LensBand::statisticsWords()
/// @param rows of the band at most  @return [rows, 4], of which StepScalar::QueryLength are live: rowCount
Tensor lensStatistics(const AttentionInputs& inputs, Tensor slopes, Tensor view, const AttentionRule& rule,
                      int64_t rows);
/// The pixels of a band: the largest or the mean probability of all cells that each covers, exactly.
/// @param statistics [.., 4] as of lensStatistics()  @param view I32 [16]: LensBand::tileWords()
/// @param isFine whether columnLevel is below 2  @return [rows, columns]; pixels beyond the band are undefined
Tensor lensTile(const AttentionInputs& inputs, Tensor slopes, Tensor statistics, Tensor view, const AttentionRule& rule,
                Pooling pooling, bool isFine, int64_t rows, int64_t columns);

} // namespace attn
