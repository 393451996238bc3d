#include "engine/models/weight_recipe.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

int64_t sourceRow(const WeightRecipe& recipe, int64_t row) {
    return recipe.group == 0 ? row : recipe.offset + row / recipe.group * recipe.stride + row % recipe.group;
}

/// The stored shape as the recipe reads it.
std::vector<int64_t> extentsOf(const StoredTensor& stored, const WeightRecipe& recipe, int rank) {
    std::vector<int64_t> extents = stored.shape;
    if (recipe.flattened) {
        while (static_cast<int>(extents.size()) > rank && extents.front() == 1) extents.erase(extents.begin());
        while (static_cast<int>(extents.size()) > rank) {
            const int64_t last = extents.back();
            extents.pop_back();
            extents.back() *= last;
        }
    }
    if (recipe.transposed) std::ranges::reverse(extents);
    return extents;
}

/// A shape as the file would have it: turned, or as a kernel of square patches.
Shape inFile(const StoredTensor& stored, const WeightRecipe& recipe, const Shape& shape) {
    if (shape.rank() != 2) return shape;
    if (recipe.transposed) return {shape[1], shape[0]};
    if (recipe.flattened && stored.shape.size() == 4 && shape[1] % stored.shape[1] == 0) {
        const int64_t area = shape[1] / stored.shape[1], side = std::llround(std::sqrt(static_cast<double>(area)));
        if (side * side == area) return {shape[0], stored.shape[1], side, side};
    }
    return shape;
}

int64_t put(float& to, float value) {
    to = value;
    return std::isfinite(value) ? 0 : 1;
}

int64_t readVector(const WeightSource& weights, const WeightRecipe& recipe, const Shape& shape,
                   const RowWriter& write) {
    std::vector<float> values(static_cast<size_t>(weights.tensor(recipe.source).elements()));
    weights.read(recipe.source, 0, values);
    int64_t strange = 0;
    write([&](int64_t, std::span<float> padded) {
        for (int64_t i = 0; i < shape[0]; ++i)
            strange += put(padded[static_cast<size_t>(i)], values[static_cast<size_t>(sourceRow(recipe, i))]);
    });
    return strange;
}

/// Reads a matrix whose file holds [columns, rows]: a band of its rows passes through host memory at a time, and of
/// each only the part that is needed.
int64_t readTransposed(const WeightSource& weights, const WeightRecipe& recipe, const Shape& shape,
                       const RowWriter& write) {
    constexpr int64_t kBandRows = 64; // a cache line of each fits into the first cache
    const int64_t fileColumns = extentsOf(weights.tensor(recipe.source), recipe, asMatrix(shape).rank()).front(),
                  columns = shape.columns();
    const auto stride = static_cast<size_t>(shape.rowStride());
    int64_t strange = 0;
    std::vector<float> band;
    write([&](int64_t firstRow, std::span<float> padded) {
        const auto count = static_cast<int64_t>(padded.size() / stride);
        const int64_t first = sourceRow(recipe, firstRow), width = sourceRow(recipe, firstRow + count - 1) + 1 - first;
        band.resize(static_cast<size_t>(kBandRows * width));
        for (int64_t begin = 0; begin < columns; begin += kBandRows) {
            const int64_t rows = std::min(kBandRows, columns - begin);
            for (int64_t row = 0; row < rows; ++row)
                weights.read(recipe.source, (begin + row) * fileColumns + first,
                             std::span(band).subspan(static_cast<size_t>(row * width), static_cast<size_t>(width)));
            for (int64_t row = 0; row < count; ++row) {
                const float* from = &band[static_cast<size_t>(sourceRow(recipe, firstRow + row) - first)];
                float* to = &padded[static_cast<size_t>(row) * stride + static_cast<size_t>(begin)];
                for (int64_t at = 0; at < rows; ++at) strange += put(to[at], from[at * width]);
            }
        }
    });
    return strange;
}

} // namespace

Shape asMatrix(const Shape& shape) { return shape.rank() <= 2 ? shape : Shape{shape.rows(), shape.columns()}; }

void checkRecipe(const WeightSource& weights, const WeightRecipe& recipe, const Shape& whole) {
    const StoredTensor& stored = weights.tensor(recipe.source);
    const Shape shape = asMatrix(whole);
    const int64_t neededRows = sourceRow(recipe, shape[0] - 1) + 1;
    const std::vector<int64_t> extents = extentsOf(stored, recipe, shape.rank());
    const bool fits = static_cast<int>(extents.size()) == shape.rank() &&
                      (shape.rank() < 2 || extents[1] == shape[1]) &&
                      (recipe.group == 0 ? extents[0] == shape[0] : extents[0] >= neededRows);
    if (!fits && extents != whole.extents())
        throw Error({.what = fmt::format("tensor \"{}\" is {} but the config asks for {}{}", recipe.source,
                                         Shape(stored.shape).text(), recipe.group == 0 ? "" : "part of it as ",
                                         inFile(stored, recipe, shape).text()),
                     .where = weights.fileOf(recipe.source).string(),
                     .hint = "check that config.json belongs to the weights"});
    weights.read(recipe.source, 0, {}); // throws for a dtype that is not numeric
}

int64_t readRecipe(const WeightSource& weights, const WeightRecipe& recipe, const Shape& shape,
                   const RowWriter& write) {
    checkRecipe(weights, recipe, shape);
    if (shape.rank() == 1) return readVector(weights, recipe, shape, write);
    if (recipe.transposed) return readTransposed(weights, recipe, shape, write);

    int64_t strange = 0;
    const int64_t columns = shape.columns();
    const auto stride = static_cast<size_t>(shape.rowStride());
    write([&](int64_t firstRow, std::span<float> padded) {
        const auto count = static_cast<int64_t>(padded.size() / stride);
        if (recipe.group == 0 &&
            stride == static_cast<size_t>(columns)) { // the usual case: directly from the file to the device
            strange += weights.read(recipe.source, firstRow * columns, padded);
            return;
        }
        for (int64_t row = 0; row < count; ++row)
            strange += weights.read(recipe.source, sourceRow(recipe, firstRow + row) * columns,
                                    padded.subspan(static_cast<size_t>(row) * stride, static_cast<size_t>(columns)));
    });
    return strange;
}

void writeRows(std::span<const float> dense, const Shape& shape, const RowWriter& write) {
    const auto columns = static_cast<size_t>(shape.columns()), stride = static_cast<size_t>(shape.rowStride());
    write([&](int64_t firstRow, std::span<float> rows) {
        for (size_t row = 0; row < rows.size() / stride; ++row)
            std::ranges::copy(dense.subspan((static_cast<size_t>(firstRow) + row) * columns, columns),
                              rows.begin() + static_cast<std::ptrdiff_t>(row * stride));
    });
}

} // namespace attn
