#include "engine/ops/mixed_precision.h"

#include "engine/core/storage.h"
#include "engine/host/pool.h"
#include "engine/host/short.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/walk.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace attn {
namespace {

// narrow and widen ---------------------------------------------------------------------------------------------------

bool is16Bits(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

std::vector<TensorType> inferNarrow(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "narrow");
    requireWhole(inputs, "narrow");
    require(inputs[0].dtype == DType::F32, "narrow", "only floats can be rounded to 16 bits");
    return {{.shape = inputs[0].shape, .dtype = static_cast<DType>(attributes.integer("dtype"))}};
}

std::vector<TensorType> inferWiden(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "widen");
    require(is16Bits(inputs[0].dtype), "widen", "needs the output of narrow");
    return {{.shape = inputs[0].shape}};
}

void referenceNarrow(const ReferenceCall& call) {
    const bool isBrain = static_cast<DType>(call.attributes.integer("dtype")) == DType::BF16;
    forEach(call.outputs[0], [&](int64_t row, int64_t column) {
        const auto x = static_cast<float>(call.inputs[0].row(row)[column]);
        return static_cast<double>(isBrain ? floatOfBrain(brainOf(x)) : floatOfHalf(halfOf(x)));
    });
}

void referenceWiden(const ReferenceCall& call) {
    std::copy_n(call.inputs[0].data, call.inputs[0].shape.paddedElements(), call.outputs[0].data);
}

std::vector<Dispatch> dispatchOf(std::string_view shader, const OpTypes& types, const Binding& input, DType dtype) {
    const int64_t count = types.outputs[0].shape.paddedElements() / 4;
    return {{.shader = shader,
             .bindings = {input, writeOutput(0)},
             .push = {u32(count)},
             .specialisation = {dtype == DType::BF16 ? 1u : 0u},
             .x = repeatedGrid(count, 64)}};
}
std::vector<Dispatch> dispatchNarrow(const OpTypes& types, const KernelTraits&) {
    return dispatchOf("ops/narrow", types, load4(0), types.outputs[0].dtype);
}
std::vector<Dispatch> dispatchWiden(const OpTypes& types, const KernelTraits&) {
    return dispatchOf("ops/widen", types, readInput(0), types.inputs[0].dtype);
}

/// A kernel that calls convert(run, first, count) for pieces of a tensor.
template <typename Convert> HostKernel overPieces(const Shape& shape, Convert convert) {
    return [=, vectors = shape.paddedElements() / 4](const HostRun& run) {
        run.pool.ranges(vectors, kVectorsForThread, 4,
                        [&](int64_t begin, int64_t end) { convert(run, begin * 4, (end - begin) * 4); });
    };
}
HostKernel hostNarrow(const OpTypes& types) {
    return overPieces(types.outputs[0].shape, [isBrain = types.outputs[0].dtype == DType::BF16](
                                                  const HostRun& run, int64_t first, int64_t count) {
        host::narrow(isBrain, count, run.inputs[0] + first, reinterpret_cast<uint16_t*>(run.outputs[0]) + first);
    });
}
HostKernel hostWiden(const OpTypes& types) {
    return overPieces(types.outputs[0].shape, [isBrain = types.inputs[0].dtype == DType::BF16](
                                                  const HostRun& run, int64_t first, int64_t count) {
        host::widen(isBrain, count, reinterpret_cast<const uint16_t*>(run.inputs[0]) + first, run.outputs[0] + first);
    });
}

std::vector<Tensor> passOn(const GradientCall& call) { return {call.outputGradients[0]}; }

// Which tensors have 16 bits -----------------------------------------------------------------------------------------

/// The outputs of an operation that are kept in 16 bits, as bits. Scores are excluded: they are not kept, and bfloat16
/// cannot represent the score of a hidden cell.
uint32_t shortOutputs(const Op* op) {
    static constexpr std::array<std::pair<const Op*, uint32_t>, 29> kShort{{
        {&kEmbedding, 1},
        {&kMatmul, 3}, // also the argument of its activation
        {&kBatchedMatmul, 1},
        {&kConvolve, 1},
        {&kGroupedMatmul, 1},
        {&kSwiglu, 1},
        {&kActivate, 1},
        {&kLayerNorm, 1},
        {&kRmsNorm, 1},
        {&kSoftmax, 1},
        {&kRotary, 3},
        {&kDropout, 1},
        {&kAttentionMix, 1},
        {&kFusedAttention, 1},
        {&kBlockAttention, 1},
        {&kBucketAttention, 1},
        {&kClusterAttention, 1},
        {&kMatmulPlain, 1},
        {&kConvolveInputGradient, 1},
        {&kActivateGradient, 1},
        {&kSwigluGradient, 3},
        {&kNormGradient, 1},
        {&kSoftmaxGradient, 1},
        {&kAttentionMixTransposed, 1},
        {&kFusedAttentionGradient, 7},
        {&kBlockAttentionGradient, 7},
        {&kBucketAttentionGradient, 7},
        {&kClusterAttentionGradient, 7},
        {&kCrossEntropyGradient, 1},
    }};
    const auto* found = std::ranges::find(kShort, op, &std::pair<const Op*, uint32_t>::first);
    return found == kShort.end() ? 0 : found->second;
}

/// The number of inputs, counted from the first, that an operation multiplies with one another.
size_t operandsOf(const Op& op, const Attributes& attributes) {
    static constexpr std::array kProducts{&kMatmul,
                                          &kBatchedMatmul,
                                          &kMatmulTransposed,
                                          &kConvolve,
                                          &kConvolveInputGradient,
                                          &kConvolveWeightGradient,
                                          &kGroupedMatmul,
                                          &kGroupedMatmulWeightGradient};
    if (std::ranges::find(kProducts, &op) != kProducts.end()) return 2;
    return &op == &kMatmulPlain ? 2 * static_cast<size_t>(attributes.integer("pairs")) : 0;
}

/// Whether an operation only moves or selects numbers of its only input.
bool isMoved(const Op* op) {
    static constexpr std::array kMoves{&kReshape, &kStopGradient, &kPermute, &kSlice, &kPad, &kBroadcast};
    return std::ranges::find(kMoves, op) != kMoves.end();
}

class KeeperIn16Bits : public Graph::Keeper {
public:
    KeeperIn16Bits(Graph& graph, DType dtype) : graph_(graph), dtype_(dtype) {}

    void read(const Op& op, const Attributes& attributes, std::vector<Tensor>& inputs) override {
        if (&op == &kNarrow || &op == &kWiden) return;
        const size_t operands = operandsOf(op, attributes);
        for (size_t i = 0; i < inputs.size(); ++i) {
            const TensorType type = inputs[i].type();
            if (type.dtype == DType::F32 && type.shape.rank() > 1) inputs[i] = readable(inputs[i], i < operands);
        }
    }

    void added(Tensor result) override {
        const Node node = graph_.node(result.node); // a copy: adding moves nodes
        const uint32_t outputs = shortOutputs(node.op);
        for (uint32_t output = 0; output < node.outputs.size(); ++output)
            if ((outputs >> output & 1) != 0 && node.outputs[output].shape.rank() > 1)
                narrowed({&graph_, result.node, output});
    }

    void forget() override {
        widened_.clear();
        std::erase_if(narrowed_, [this](const auto& each) { return isParameter(each.first.first); });
    }

private:
    using Key = std::pair<uint32_t, uint32_t>; // node and output

    bool isParameter(uint32_t node) const { return graph_.node(node).kind == NodeKind::Parameter; }

    /// @param isOperand whether 16 bits are required, whichever operation made the tensor
    Tensor readable(Tensor tensor, bool isOperand) {
        const Node node = graph_.node(tensor.node); // a copy: adding moves nodes
        if (node.op == &kWiden) {
            const Tensor source =
                graph_.node(node.inputs[0].node).inputs[0]; // a parameter is still there to be rounded
            return widened(isParameter(source.node) ? narrowed(source) : node.inputs[0]);
        }
        if (isMoved(node.op)) { // moved a second time instead of kept
            const Tensor source = readable(node.inputs[0], isOperand);
            if (source == node.inputs[0]) return tensor;
            Tensor& view = widened_[{tensor.node, tensor.output}];
            if (!view) view = graph_.add(*node.op, {source}, node.attributes);
            return view;
        }
        if (!isOperand && narrowed_.find({tensor.node, tensor.output}) == narrowed_.end()) return tensor;
        return widened(narrowed(tensor));
    }

    Tensor narrowed(Tensor tensor) {
        Tensor& known = narrowed_[{tensor.node, tensor.output}];
        if (!known) known = narrow(tensor, dtype_);
        return known;
    }
    Tensor widened(Tensor narrow) {
        Tensor& known = widened_[{narrow.node, narrow.output}];
        if (!known) known = widen(narrow);
        return known;
    }

    Graph& graph_;
    DType dtype_;
    std::map<Key, Tensor> narrowed_, widened_;
};

} // namespace

const Op kNarrow{.name = "narrow",
                 .infer = inferNarrow,
                 .reference = referenceNarrow,
                 .dispatch = dispatchNarrow,
                 .host = hostNarrow,
                 .gradient = passOn,
                 .operations = noOperations};
const Op kWiden{.name = "widen",
                .infer = inferWiden,
                .reference = referenceWiden,
                .dispatch = dispatchWiden,
                .host = hostWiden,
                .gradient = passOn,
                .operations = noOperations};

Tensor narrow(Tensor x, DType dtype) {
    require(is16Bits(dtype), "narrow", "numbers of 16 bits are F16 or BF16");
    return x.graph->add(kNarrow, {x}, {{"dtype", static_cast<double>(dtype)}});
}

Tensor widen(Tensor x) { return x.graph->add(kWiden, {x}); }

std::shared_ptr<Graph::Keeper> keeperIn16Bits(Graph& graph, DType dtype) {
    return std::make_shared<KeeperIn16Bits>(graph, dtype);
}

} // namespace attn
