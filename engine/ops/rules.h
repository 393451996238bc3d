#pragma once

#include "engine/core/error.h"
#include "engine/graph/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

// Checks for shape rules and sizes for dispatch rules, shared by the op files.

namespace attn {

/// The push constant `liveSlot` of kernels whose row count may be live: the index in StepParams, or kNoLiveSlot.
inline constexpr uint32_t kNoLiveSlot = 255;
inline uint32_t liveSlot(const TensorType& type) {
    return type.liveRows ? static_cast<uint32_t>(*type.liveRows) : kNoLiveSlot;
}

inline uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

/// The number of padded floats from one index of axis 0 to the next.
inline int64_t unitOf(const Shape& shape) {
    return shape.rank() <= 1 ? 1 : shape.paddedElements() / std::max<int64_t>(shape[0], 1);
}

/// The rows of a tensor (all axes but the last) that are in use in a step.
inline int64_t liveRowsOf(const TensorType& type, const StepParams& step) {
    if (!type.liveRows) return type.shape.rows();
    const int64_t extent = std::max<int64_t>(type.shape[0], 1);
    return type.shape.rows() / extent * std::min<int64_t>(step[*type.liveRows], extent);
}

/// The rows of a tensor that are worth another thread, for kernels that do about one thing to each float.
inline int64_t rowsForThread(const Shape& shape) { return (1 << 14) / std::max<int64_t>(shape.rowStride(), 1) + 1; }
/// The number of vec4s of a tensor that make another thread worthwhile.
inline constexpr int64_t kVectorsForThread = 1 << 12;

/// @throws Error if `holds` is false. @param what should give the shapes
inline void require(bool holds, std::string_view op, std::string what) {
    if (!holds) throw Error({.what = std::move(what), .where = std::string(op), .hint = {}});
}

inline void requireInputs(std::span<const TensorType> inputs, size_t count, std::string_view op) {
    require(inputs.size() == count, op, fmt::format("needs {} inputs, got {}", count, inputs.size()));
}

/// Op::operations of ops that only copy, convert or order numbers.
inline double noOperations(const OpTypes&) { return 0; }
/// Op::operations of ops that do one for each element of input 0, such as sums.
inline double oneForEachInput(const OpTypes& types) { return static_cast<double>(types.inputs[0].shape.elements()); }

/// The operations of a softmax per cell: the comparison for the maximum, its subtraction, the exponential, the addition
/// to the sum, and the division by it.
inline constexpr double kSoftmaxOperations = 5;
/// The operations per cell that turn a product into a score: the multiplication by the scale.
inline constexpr double kScaleOperations = 1;

/// Converts a shape to the attributes of a node, and back.
inline constexpr std::array<std::string_view, 6> kExtents{"0", "1", "2", "3", "4", "5"};
inline Attributes shapeAttributes(const Shape& shape) {
    Attributes attributes{{"rank", shape.rank()}};
    for (int axis = 0; axis < shape.rank(); ++axis)
        attributes.set(kExtents.at(static_cast<size_t>(axis)), static_cast<double>(shape[axis]));
    return attributes;
}
inline Shape shapeOf(const Attributes& attributes) {
    std::vector<int64_t> extents;
    for (int64_t axis = 0; axis < attributes.integer("rank"); ++axis)
        extents.push_back(attributes.integer(kExtents.at(static_cast<size_t>(axis))));
    return Shape(extents);
}

/// @throws Error if an input has a live length: kernels of gradients run over whole tensors
inline void requireWhole(std::span<const TensorType> inputs, std::string_view op) {
    for (const TensorType& input : inputs)
        require(!input.liveRows, op,
                fmt::format("{} has a live length; gradients need whole tensors", input.shape.text()));
}

/// Sets every element to function(row, column).
template <typename Function> void forEach(const ReferenceTensor& out, Function function) {
    for (int64_t row = 0; row < out.rows(); ++row)
        for (int64_t column = 0; column < out.columns(); ++column) out.row(row)[column] = function(row, column);
}

inline GridAxis groupsOf(int64_t count, int64_t per) { return GridAxis::fixed(u32((count + per - 1) / per)); }

/// The local size of kernels that work in sets of eight lanes (lanes8.glsl): specialisation constants 0, 1 and,
/// last, 3.
struct Lanes8 {
    uint32_t sets, isExact;
    explicit Lanes8(const KernelTraits& traits)
        : sets(std::max(traits.subgroupSize / 8, 1u)), isExact(traits.subgroupSize == 8 ? 1u : 0u) {}
};

/// How a product is divided among workgroups of real GPUs (matmul_tiles.glsl).
struct ProductTiles {
    static constexpr int64_t kTile = 64;
    uint32_t groups; ///< of 64 threads that share a tile: more where tiles are few, to keep a card busy
    GridAxis x, y;
    ProductTiles(int64_t M, int64_t N, int64_t K, int64_t products = 1) : x(groupsOf(N, kTile)), y(groupsOf(M, kTile)) {
        constexpr int64_t kLeastTerms = 16; // that are worth a group
        const int64_t tiles = static_cast<int64_t>(x.count) * y.count * products;
        groups = tiles >= 1024 ? 2 : tiles >= 128 ? 4 : 8;
        while (groups > 1 && K < kLeastTerms * groups) groups /= 2;
    }
};

/// A launch of one of the two kernels of a product M x N x K: in small subgroups (matmul_outer.glsl) or, on real GPUs,
/// in tiles of shared memory (matmul_tiles.glsl). Sets the grid and the constants 0 to 3.
/// @param products how many there are at once, along z
inline Dispatch productDispatch(std::string_view inSubgroups, std::string_view inTiles, const KernelTraits& traits,
                                int64_t M, int64_t N, int64_t K, int64_t products = 1) {
    if (!traits.prefersSubgroupTiles) {
        const ProductTiles tiles(M, N, K, products);
        return {.shader = inTiles, .specialisation = {64, tiles.groups, 0, 0}, .x = tiles.x, .y = tiles.y};
    }
    const Lanes8 lanes(traits);
    return {.shader = inSubgroups,
            .specialisation = {8, lanes.sets, 0, lanes.isExact},
            .x = groupsOf(N, 32),
            .y = groupsOf(M, 32 * lanes.sets)};
}

/// The grid of a kernel that includes flat.glsl. @param count of invocations
struct FlatGrid {
    static constexpr int64_t kMostAlong = 65535; ///< workgroups along an axis that every device allows
    GridAxis x, y;
    explicit FlatGrid(int64_t count) {
        const int64_t groups = (count + 63) / 64, rows = (groups + kMostAlong - 1) / kMostAlong;
        x = groupsOf(groups, rows);
        y = GridAxis::fixed(u32(rows));
    }
};

/// A grid with one invocation per vec4 of an output.
inline FlatGrid gridPerVec4(const TensorType& type) { return FlatGrid(type.shape.paddedElements() / 4); }

} // namespace attn
