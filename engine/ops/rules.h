#pragma once

#include "engine/core/error.h"
#include "engine/graph/op.h"

#include <fmt/format.h>

#include <string_view>

// Shared by the op files: checks for shape rules and sizes for dispatch rules.

namespace attn {

/// The `liveSlot` push constant of kernels whose row count may be live: the StepParams word, or kNoLiveSlot.
inline constexpr uint32_t kNoLiveSlot = 255;
inline uint32_t liveSlot(const TensorType& type) { return type.liveRows ? static_cast<uint32_t>(*type.liveRows) : kNoLiveSlot; }

inline uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

/// Padded floats per step along axis 0.
inline int64_t unitOf(const Shape& shape) { return shape.rank() <= 1 ? 1 : shape.paddedElements() / std::max<int64_t>(shape[0], 1); }

/// @throws Error when `holds` is false; `what` should give the shapes
inline void require(bool holds, std::string_view op, std::string what) {
    if (!holds) throw Error({.what = std::move(what), .where = std::string(op), .hint = {}});
}

inline void requireInputs(std::span<const TensorType> inputs, size_t count, std::string_view op) {
    require(inputs.size() == count, op, fmt::format("needs {} inputs, got {}", count, inputs.size()));
}

/// Grid of a kernel with one invocation per vec4 of an output, 64 to a workgroup.
inline GridAxis gridPerVec4(const TensorType& type) {
    // The live count of axis 0 scales the element count; unit / 4 vec4s belong to each index of axis 0.
    const int64_t total = type.shape.paddedElements() / 4;
    return GridAxis::fixed(u32((total + 63) / 64));
}

} // namespace attn
