#include "engine/host/pool.h"
#include "engine/host/product.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/walk.h"

#include <algorithm>

namespace attn {
namespace {

/// The sizes of one product, after any transposition of its operands.
struct Sizes {
    int64_t M, N, K;
    Shape batch; ///< the leading axes of the result
    Sizes(const Shape& a, const Shape& b, const Attributes& attributes) {
        const bool isA = attributes.flag("transposeA"), isB = attributes.flag("transposeB");
        require(a.rank() >= 2 && b.rank() >= 2, "batched_matmul",
                fmt::format("{} and {} must both hold matrices", a.text(), b.text()));
        M = a[isA ? -1 : -2];
        K = a[isA ? -2 : -1];
        N = b[isB ? -2 : -1];
        const int64_t other = b[isB ? -1 : -2];
        require(K == other, "batched_matmul",
                fmt::format("a {}{} has {} terms for the {} of b {}{}", a.text(), isA ? " transposed" : "", K, other,
                            b.text(), isB ? " transposed" : ""));
        batch = broadcastShape(leading(a), leading(b), "batched_matmul");
    }
    static Shape leading(const Shape& shape) { return Shape({shape.extents().begin(), shape.extents().end() - 2}); }
};

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 2, "batched_matmul");
    requireWhole(inputs, "batched_matmul");
    const Sizes sizes(inputs[0].shape, inputs[1].shape, attributes);
    std::vector<int64_t> extents = sizes.batch.extents();
    extents.insert(extents.end(), {sizes.M, sizes.N});
    return {{.shape = Shape(extents)}};
}

/// The distances in floats from one index of the result's leading axes to the next, in a tensor of matrices.
std::vector<int64_t> batchSteps(const Shape& shape, const Shape& out) {
    std::vector<int64_t> extents = out.extents();
    std::copy(shape.extents().end() - 2, shape.extents().end(), extents.end() - 2);
    std::vector<int64_t> steps = broadcastSteps(shape, Shape(extents));
    steps.resize(steps.size() - 2);
    return steps;
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &a = call.inputs[0], &b = call.inputs[1], &y = call.outputs[0];
    const Sizes sizes(a.shape, b.shape, call.attributes);
    const bool isA = call.attributes.flag("transposeA"), isB = call.attributes.flag("transposeB");
    const std::vector<int64_t> aSteps = batchSteps(a.shape, y.shape), bSteps = batchSteps(b.shape, y.shape),
                               ySteps = batchSteps(y.shape, y.shape);
    forEachIndex(sizes.batch, [&](const std::vector<int64_t>& index) {
        const double* ofA = a.data + offsetOf(aSteps, index);
        const double* ofB = b.data + offsetOf(bSteps, index);
        const int64_t aStride = a.shape.rowStride(), bStride = b.shape.rowStride();
        for (int64_t m = 0; m < sizes.M; ++m)
            for (int64_t n = 0; n < sizes.N; ++n) {
                double sum = 0;
                for (int64_t k = 0; k < sizes.K; ++k)
                    sum += ofA[isA ? k * aStride + m : m * aStride + k] * ofB[isB ? n * bStride + k : k * bStride + n];
                y.data[offsetOf(ySteps, index) + m * y.shape.rowStride() + n] = sum * call.attributes.number("scale");
            }
    });
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    const Shape &a = types.inputs[0].shape, &b = types.inputs[1].shape, &out = types.outputs[0].shape;
    const Sizes sizes(a, b, types.attributes);
    Walk walk{.extents = sizes.batch.extents(),
              .steps = {batchSteps(a, out), batchSteps(b, out), batchSteps(out, out)},
              .starts = {0, 0, 0}};
    struct Kernel {
        std::string_view inSubgroups, inTiles;
    };
    const Kernel kernel = types.attributes.flag("transposeA")
                              ? Kernel{"ops/batched_matmul_a_transposed", "ops/batched_matmul_a_transposed_shared"}
                          : types.attributes.flag("transposeB")
                              ? Kernel{"ops/batched_matmul_b_transposed", "ops/batched_matmul_b_transposed_shared"}
                              : Kernel{"ops/batched_matmul", "ops/batched_matmul_shared"};
    std::vector<Dispatch> result;
    for (const Walk& part : splitWalk(walk, 2)) {
        std::vector<uint32_t> push{u32(sizes.M), u32(sizes.N), u32(sizes.K),
                                   pushFloat(types.attributes.number("scale")), u32(part.extents[0])};
        for (size_t t = 0; t < part.starts.size(); ++t)
            for (int64_t floats : {part.starts[t], part.steps[t][0], part.steps[t][1]}) push.push_back(u32(floats / 4));
        const int64_t products = part.extents[0] * part.extents[1];
        Dispatch launch =
            productDispatch(kernel.inSubgroups, kernel.inTiles, traits, sizes.M, sizes.N, sizes.K, products);
        launch.bindings = {load4(0), load4(1), writeOutput(0)};
        launch.push = push;
        launch.z = GridAxis::fixed(u32(products));
        launch.barrierBefore = !result.empty();
        result.push_back(launch);
    }
    return result;
}

/// Threads share the matrices, and the rows of each matrix if there are few matrices.
HostKernel hostKernel(const OpTypes& types) {
    const Shape a = types.inputs[0].shape, b = types.inputs[1].shape, out = types.outputs[0].shape;
    const Sizes sizes(a, b, types.attributes);
    const bool isA = types.attributes.flag("transposeA"), isB = types.attributes.flag("transposeB");
    const auto factor = static_cast<float>(types.attributes.number("scale"));
    struct Matrices {
        int64_t a, b, out;
    };
    std::vector<Matrices> all;
    const std::vector<int64_t> aSteps = batchSteps(a, out), bSteps = batchSteps(b, out),
                               outSteps = batchSteps(out, out);
    forEachIndex(sizes.batch, [&](const std::vector<int64_t>& index) {
        all.push_back({offsetOf(aSteps, index), offsetOf(bSteps, index), offsetOf(outSteps, index)});
    });
    return [=](const HostRun& run) {
        const auto count = static_cast<int64_t>(all.size());
        const int64_t strips =
            count >= run.pool.threads() ? 1 : std::clamp<int64_t>(sizes.M / 32, 1, run.pool.threads());
        const int64_t height = ((sizes.M + strips - 1) / strips + 7) / 8 * 8;
        const auto strip = [&](int64_t i) {
            const Matrices& at = all[static_cast<size_t>(i / strips)];
            const int64_t first = i % strips * height, rows = std::min(height, sizes.M - first);
            if (rows <= 0) return;
            float* to = run.outputs[0] + at.out + first * out.rowStride();
            host::product({rows, sizes.N, sizes.K},
                          {run.inputs[0] + at.a + (isA ? first : first * a.rowStride()), a.rowStride(), isA},
                          {run.inputs[1] + at.b, b.rowStride(), isB}, to, out.rowStride(), factor);
            for (int64_t row = 0; row < rows; ++row)
                std::fill(to + row * out.rowStride() + sizes.N, to + (row + 1) * out.rowStride(), 0.0f);
        };
        constexpr int64_t kWork = 1 << 16; // multiply-adds per thread that make another thread worthwhile
        const int64_t least = kWork / std::max<int64_t>(height * sizes.N * sizes.K, 1) + 1;
        run.pool.ranges(count * strips, least, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) strip(i);
        });
    };
}

double operations(const OpTypes& types) {
    const Sizes sizes(types.inputs[0].shape, types.inputs[1].shape, types.attributes);
    return 2.0 * static_cast<double>(types.outputs[0].shape.elements()) * static_cast<double>(sizes.K);
}

std::vector<Tensor> gradient(const GradientCall& call) {
    const Tensor a = call.inputs[0], b = call.inputs[1], d = call.outputGradients[0];
    const double scale = call.attributes.number("scale");
    const bool isA = call.attributes.flag("transposeA"), isB = call.attributes.flag("transposeB");
    const Tensor ofA = isA ? batchedMatmul(b, d, {.transposeA = isB, .transposeB = true, .scale = scale})
                           : batchedMatmul(d, b, {.transposeB = !isB, .scale = scale});
    const Tensor ofB = isB ? batchedMatmul(d, a, {.transposeA = true, .transposeB = isA, .scale = scale})
                           : batchedMatmul(a, d, {.transposeA = !isA, .scale = scale});
    return {sumTo(ofA, a.shape()), sumTo(ofB, b.shape())};
}

} // namespace

const Op kBatchedMatmul{.name = "batched_matmul",
                        .infer = infer,
                        .reference = reference,
                        .dispatch = dispatch,
                        .host = hostKernel,
                        .gradient = gradient,
                        .operations = operations};

Tensor batchedMatmul(Tensor a, Tensor b, const BatchedMatmulOptions& options) {
    const Shape left = a.shape(), right = b.shape();
    const Attributes attributes{{"transposeA", options.transposeA ? 1 : 0},
                                {"transposeB", options.transposeB ? 1 : 0},
                                {"scale", options.scale}};
    const Sizes sizes(left, right, attributes);
    if (options.transposeA && options.transposeB) { // no kernel transposes both
        std::vector<int> order;
        for (int axis = 0; axis < left.rank(); ++axis) order.push_back(axis);
        std::swap(order[order.size() - 1], order[order.size() - 2]);
        return batchedMatmul(permute(a, order), b, {.transposeB = true, .scale = options.scale});
    }
    if (right.rank() == 2 && left.rank() > 2 && !options.transposeA) { // one matrix for all rows
        std::vector<int64_t> extents = left.extents();
        extents.back() = sizes.N;
        return reshape(batchedMatmul(reshape(a, {left.rows(), left.columns()}), b, options), Shape(extents));
    }
    return a.graph->add(kBatchedMatmul, {a, b}, attributes);
}

} // namespace attn
