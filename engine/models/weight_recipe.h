#pragma once

#include "engine/core/shape.h"
#include "engine/io/weight_source.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// How to read a parameter of the engine from a family's files.
struct WeightRecipe {
    std::string source;      ///< tensor name in the file
    bool transposed = false; ///< the file holds [in, out] (GPT-2's Conv1D)
    /// The rows (after transposing) of the parameter: row r is row offset + (r / group) * stride + r % group of the
    /// file. group 0: all rows.
    int64_t offset = 0, group = 0, stride = 0;
    /// The file has leading axes of 1, or several axes for the last one of the parameter: [1,N,C] is read as [N,C], and
    /// a convolution's [C,channels,p,p] as [C, channels * p * p].
    bool flattened = false;
    std::vector<int64_t> extents{}; ///< of the tensor in written files, if they are not those of a matrix
};

/// Writes a parameter as padded rows. The writer calls `fill` with consecutive blocks of rows to fill: (first row,
/// rows).
using RowWriter = std::function<void(const std::function<void(int64_t firstRow, std::span<float> rows)>& fill)>;

/// The shape in files of a parameter that a family keeps as it is: those with more than two axes, which only composed
/// parts have, become matrices of their rows.
Shape asMatrix(const Shape& shape);

/// Checks that a tensor exists, has the right shape and holds numbers, without reading its values. A parameter with
/// more than two axes may have all of them in the file.
/// @throws Error naming the file, the tensor and both shapes
void checkRecipe(const WeightSource& weights, const WeightRecipe& recipe, const Shape& shape);

/// Reads a parameter. @return the number of values that are NaN or infinite  @throws Error as checkRecipe()
int64_t readRecipe(const WeightSource& weights, const WeightRecipe& recipe, const Shape& shape, const RowWriter& write);

/// Writes dense values through a RowWriter.
void writeRows(std::span<const float> dense, const Shape& shape, const RowWriter& write);

} // namespace attn
