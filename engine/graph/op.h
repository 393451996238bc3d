#pragma once

#include "engine/graph/dispatch.h"
#include "engine/graph/graph.h"

#include <span>
#include <string_view>
#include <vector>

namespace attn {

/// A tensor as the plain-loop references see it: rows of doubles, padded like the device's. Integers are exact doubles.
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
    std::span<const ReferenceTensor> outputs; ///< arrive zeroed unless the op aliases an input
    const StepParams& step;
};

/// The types of one node, for the dispatch rule.
struct OpTypes {
    const Attributes& attributes;
    std::span<const TensorType> inputs;
    std::span<const TensorType> outputs;
};

/// One node, for its gradient rule.
struct GradientCall {
    Graph& graph;
    const Attributes& attributes;
    std::span<const Tensor> inputs;
    std::span<const Tensor> outputs;
    std::span<const Tensor> outputGradients; ///< d loss / d output, null where nothing flows; at least one is not null
};

/// One operation: everything the engine knows about it, in one file of engine/ops and one line of its catalogue.
struct Op {
    std::string_view name;

    /// Output types from input types. @throws Error that names the shapes when they do not fit
    std::vector<TensorType> (*infer)(std::span<const TensorType> inputs, const Attributes& attributes);

    /// The meaning, as plain loops in double.
    void (*reference)(const ReferenceCall& call);

    /// The device's work. Not called for ops that only alias.
    std::vector<Dispatch> (*dispatch)(const OpTypes& types, const KernelTraits& traits);

    /// Index of the input whose memory an output shares, or -1. The result is an in-place update of that input (assign)
    /// or another view of it (reshape).
    int (*aliasOf)(const OpTypes& types, uint32_t output) = nullptr;

    /// The op overwrites (part of) the aliased inputs, States or Parameters, and is ordered after every reader of their
    /// old values.
    bool writesInPlace = false;

    /// d loss / d input for every input, as more graph; null for inputs through which nothing flows. Null for ops that
    /// no loss may flow through. Nodes that nobody asks for cost nothing: compile() drops them.
    std::vector<Tensor> (*gradient)(const GradientCall& call) = nullptr;

    /// Floating-point operations of one run over whole tensors, of ops that do more than one for every element that
    /// they read or write. A multiplication with its addition counts two.
    double (*operations)(const OpTypes& types) = nullptr;

    /// With the attribute "residual" there is one more input, last, which is added to output 0.
    bool takesResidual = false;
};

} // namespace attn
