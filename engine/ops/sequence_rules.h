#pragma once

#include "engine/graph/host_kernel.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

// Rules for ops that read sequences row by row.

namespace attn {

/// The place of an input or output that a node lacks.
inline constexpr uint32_t kAbsent = 99;
/// The places of consecutive inputs, some of which may be absent.
struct Places {
    uint32_t count;
    uint32_t next(bool isThere) { return isThere ? count++ : kAbsent; }
};

/// The binding of an input or output that may be absent: then any other.
inline Binding readIf(uint32_t input) { return readInput(input == kAbsent ? 0 : input); }
inline Binding writeIf(uint32_t output) { return writeOutput(output == kAbsent ? 0 : output); }
inline float* inputIn(const HostRun& run, uint32_t place) { return place == kAbsent ? nullptr : run.inputs[place]; }
inline float* outputIn(const HostRun& run, uint32_t place) { return place == kAbsent ? nullptr : run.outputs[place]; }
inline const int32_t* lengthsIn(const HostRun& run, uint32_t place) {
    return place == kAbsent ? nullptr : run.integers(place);
}

/// The gradient that flows into an output, or zeros.
inline Tensor gradientOf(const GradientCall& call, uint32_t output) {
    const Tensor d = call.outputGradients[output];
    return d ? d : fill(call.graph, call.outputs[output].shape(), 0);
}
inline Tensor outputOf(Tensor node, uint32_t output) { return {node.graph, node.node, output}; }

/// How many rows of a sequence count. @param place of the lengths, kAbsent if all T do
inline int64_t lengthOf(std::span<const ReferenceTensor> inputs, uint32_t place, int64_t b, int64_t T) {
    return place == kAbsent ? T : std::clamp<int64_t>(static_cast<int64_t>(inputs[place].data[b]), 0, T);
}

/// @throws Error if a tensor has another shape
inline void requireShape(const TensorType& type, const Shape& shape, std::string_view what, std::string_view op) {
    require(type.shape == shape, op, fmt::format("{} is {}, but {} is needed", what, type.shape.text(), shape.text()));
}
/// @throws Error if there is not a whole number for each sequence
inline void requireLengths(const TensorType& lengths, int64_t B, std::string_view op) {
    require(lengths.dtype == DType::I32 && lengths.shape == Shape{B}, op,
            fmt::format("the lengths {} are not whole numbers [{}]", lengths.shape.text(), B));
}

} // namespace attn
