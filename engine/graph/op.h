#pragma once

#include "engine/graph/dispatch.h"
#include "engine/graph/graph.h"
#include "engine/graph/host_kernel.h"

#include <span>
#include <string_view>
#include <vector>

namespace attn {

/// A tensor for the plain-loop references: rows of doubles, padded as on the device. Integers are exact doubles.
struct ReferenceTensor {
    Shape shape;
    double* data = nullptr;

    int64_t rows() const { return shape.rows(); }
    int64_t columns() const { return shape.columns(); }
    double* row(int64_t index) const { return data + index * shape.rowStride(); }
};

/// One call of a reference.
struct ReferenceCall {
    const Attributes& attributes;
    std::span<const ReferenceTensor> inputs;
    std::span<const ReferenceTensor> outputs; ///< zeroed before the call, unless the op aliases an input
    const StepParams& step;
};

/// The types of one node: the input of its dispatch rule.
struct OpTypes {
    const Attributes& attributes;
    std::span<const TensorType> inputs;
    std::span<const TensorType> outputs;
};

/// One node: the input of its gradient rule.
struct GradientCall {
    Graph& graph;
    const Attributes& attributes;
    std::span<const Tensor> inputs;
    std::span<const Tensor> outputs;
    std::span<const Tensor> outputGradients; ///< d loss / d output; null where no gradient flows, but not everywhere
};

/// One operation: everything that the engine knows about it, in one file of engine/ops and one line of its catalogue.
struct Op {
    std::string_view name;

    /// Computes the output types. @throws Error naming the shapes if the inputs do not fit
    std::vector<TensorType> (*infer)(std::span<const TensorType> inputs, const Attributes& attributes);

    /// Defines the operation, as plain loops in double.
    void (*reference)(const ReferenceCall& call);

    /// The dispatches that compute it on a device. Not called for ops that only alias.
    std::vector<Dispatch> (*dispatch)(const OpTypes& types, const KernelTraits& traits);

    /// The kernel that computes it on the processor, where that is the device; null if only the dispatches do. It
    /// computes the rows that are live.
    HostKernel (*host)(const OpTypes& types) = nullptr;
    /// One such kernel for several nodes that read the same first input and besides it only parameters, where that
    /// saves time. It reads the inputs of all, one node after another, and writes their outputs in the same order.
    /// Null: none. @param types at most kMaxJoined
    HostKernel (*hostTogether)(std::span<const OpTypes> types) = nullptr;
    static constexpr size_t kMaxJoined = 4;

    /// The index of the input whose memory an output shares, or -1. The output is an in-place update of that input
    /// (assign) or another view of it (reshape).
    int (*aliasOf)(const OpTypes& types, uint32_t output) = nullptr;
    /// For an output that is a part of that input (slice): where it begins, in elements. The op computes the output
    /// itself where the plan cannot let it share the memory. Null: the output is the whole input.
    int64_t (*aliasBegin)(const OpTypes& types) = nullptr;
    /// The element of output 0 at which an input lies in it unchanged, or -1 (concatenate). If the plan can place all
    /// inputs there, nothing is left to do.
    int64_t (*placeOf)(const OpTypes& types, uint32_t input) = nullptr;

    /// Whether the op overwrites (part of) the aliased inputs, which are States or Parameters. It then runs after every
    /// reader of their old values.
    bool writesInPlace = false;

    /// Adds d loss / d input for every input to the graph, null for inputs without a gradient. The rule is null for ops
    /// that have no gradient. Unused nodes cost nothing, because compile() drops them.
    std::vector<Tensor> (*gradient)(const GradientCall& call) = nullptr;

    /// The number of floating-point operations of one run over whole tensors. A multiply-add counts as two; a
    /// function such as exp counts as one; copies, conversions and comparisons of indices count none. Null: one for
    /// each element of output 0.
    double (*operations)(const OpTypes& types) = nullptr;

    /// The input that kernels read as it is stored, or -1. All other inputs are floats.
    int compactInput = -1;

    /// Whether the attribute "residual" adds a last input, which is added to output 0.
    bool takesResidual = false;
};

} // namespace attn
