#pragma once

#include "engine/core/shape.h"
#include "engine/io/weight_source.h"

#include <functional>
#include <span>
#include <string>

namespace attn {

/// How one parameter of the engine is read from a family's files.
struct WeightRecipe {
    std::string source;      ///< tensor name in the file
    bool transposed = false; ///< the file holds [in, out] (GPT-2's Conv1D)
    /// Which rows (after transposing) belong to the parameter: row r is offset + (r / group) * stride + r % group.
    /// group 0: all of them.
    int64_t offset = 0, group = 0, stride = 0;
    /// The file has axes of one before, or several where the parameter has its last: [1,N,C] is read as [N,C], a
    /// convolution's [C,channels,p,p] as [C,channels p p].
    bool flattened = false;
};

/// Writes a parameter as padded rows on request. `write` hands out the rows to fill, in order: (first row, rows).
using RowWriter = std::function<void(const std::function<void(int64_t firstRow, std::span<float> rows)>& fill)>;

/// Finds out that a tensor is missing, misshapen or no number, before anything is loaded.
/// @throws Error naming the file, the tensor and both shapes
void checkRecipe(const WeightSource& weights, const WeightRecipe& recipe, const Shape& shape);

/// @throws Error as checkRecipe  @return how many values are NaN or infinite
int64_t readRecipe(const WeightSource& weights, const WeightRecipe& recipe, const Shape& shape, const RowWriter& write);

/// Hands dense values to a RowWriter.
void writeRows(std::span<const float> dense, const Shape& shape, const RowWriter& write);

} // namespace attn
