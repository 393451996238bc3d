#include "engine/host/pool.h"
#include "engine/host/product.h"
#include "engine/host/rows.h"
#include "engine/ops/definitions.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/host_product.h"
#include "engine/ops/rules.h"

#include <algorithm>

namespace attn {
namespace {

// matmul_plain: one to three pairs of x and w, optionally the activation's argument, optionally a residual ------------

constexpr size_t kMaxPairs = 3;

Activation activationOf(const Attributes& attributes) {
    return static_cast<Activation>(attributes.integer("activation"));
}

size_t pairsOf(const Attributes& attributes) { return static_cast<size_t>(attributes.integer("pairs")); }

std::vector<TensorType> inferPlain(std::span<const TensorType> inputs, const Attributes& attributes) {
    const bool activates = activationOf(attributes) != Activation::None;
    const size_t operands = 2 * pairsOf(attributes);
    requireInputs(inputs, operands + (activates ? 1 : 0) + (attributes.flag("residual") ? 1 : 0), "matmul_plain");
    requireWhole(inputs, "matmul_plain");
    std::vector<int64_t> extents = inputs[0].shape.extents();
    extents.back() = inputs[1].shape[1];
    const TensorType out{.shape = Shape(extents)};
    for (size_t pair = 0; pair < operands; pair += 2) {
        const Shape &x = inputs[pair].shape, &w = inputs[pair + 1].shape;
        require(
            w.rank() == 2 && x.columns() == w[0] && x.rows() == out.shape.rows() && w[1] == out.shape.columns(),
            "matmul_plain",
            fmt::format("x {} and w {} must be [...,K] and [K,N] and give {}", x.text(), w.text(), out.shape.text()));
    }
    for (const TensorType& input : inputs.subspan(operands))
        require(input.shape.rows() == out.shape.rows() && input.shape.columns() == out.shape.columns(), "matmul_plain",
                fmt::format("{} must be {}", input.shape.text(), out.shape.text()));
    return {out};
}

void referencePlain(const ReferenceCall& call) {
    const Activation activation = activationOf(call.attributes);
    const size_t operands = 2 * pairsOf(call.attributes);
    forEach(call.outputs[0], [&](int64_t m, int64_t n) {
        double sum = 0;
        for (size_t pair = 0; pair < operands; pair += 2) {
            const ReferenceTensor &x = call.inputs[pair], &w = call.inputs[pair + 1];
            for (int64_t k = 0; k < x.columns(); ++k) sum += x.row(m)[k] * w.row(k)[n];
        }
        sum *= call.attributes.number("scale");
        if (activation != Activation::None) sum *= activationDerivative(activation, call.inputs[operands].row(m)[n]);
        return sum + (call.attributes.flag("residual") ? call.inputs.back().row(m)[n] : 0);
    });
}

std::vector<Dispatch> dispatchPlain(const OpTypes& types, const KernelTraits& traits) {
    const Shape& y = types.outputs[0].shape;
    const bool hasResidual = types.attributes.flag("residual");
    const Activation activation = activationOf(types.attributes);
    const auto pairs = static_cast<uint32_t>(pairsOf(types.attributes));
    const auto inner = [&](uint32_t pair) { return pair < pairs ? u32(types.inputs[2 * pair].shape.columns()) : 0; };
    Dispatch result =
        productDispatch("ops/matmul_plain", "ops/matmul_plain_shared", traits, y.rows(), y.columns(), inner(0));
    result.push = {u32(y.rows()), u32(y.columns()), inner(0), pushFloat(types.attributes.number("scale")),
                   inner(1),      inner(2)};
    result.specialisation[2] = static_cast<uint32_t>(activation);
    result.specialisation.insert(result.specialisation.end(), {pairs, hasResidual ? 1u : 0u});
    // Absent operands are bound to the first x: the kernel never reads them.
    for (uint32_t operand = 0; operand < 2 * kMaxPairs; ++operand)
        result.bindings.push_back(load4(operand < 2 * pairs ? operand : 0));
    result.bindings.push_back(load4(activation != Activation::None ? 2 * pairs : 0));
    result.bindings.push_back(load4(hasResidual ? static_cast<uint32_t>(types.inputs.size() - 1) : 0));
    result.bindings.push_back(writeOutput(0));
    return {result};
}

HostKernel hostPlain(const OpTypes& types) {
    const Activation activation = activationOf(types.attributes);
    const size_t operands = 2 * pairsOf(types.attributes);
    HostProduct product{.N = types.outputs[0].shape.columns(),
                        .stride = types.outputs[0].shape.rowStride(),
                        .scale = static_cast<float>(types.attributes.number("scale"))};
    for (size_t pair = 0; pair < operands; pair += 2) product.K.push_back(types.inputs[pair].shape.columns());
    const bool hasResidual = types.attributes.flag("residual");
    return [=, rows = types.outputs[0].shape.rows()](const HostRun& run) {
        product.run(rows,
                    {.operands = run.inputs,
                     .out = run.outputs[0],
                     .finish = {.activation = activation,
                                .slopeAt = activation != Activation::None ? run.inputs[operands] : nullptr,
                                .residual = hasResidual ? run.inputs.back() : nullptr}},
                    run.pool);
    };
}

// matmul_transposed: x, w -> product, sums of x's columns -------------------------------------------------------------

std::vector<TensorType> inferTransposed(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "matmul_transposed");
    requireWhole(inputs, "matmul_transposed");
    require(inputs[0].shape.rows() == inputs[1].shape.rows(), "matmul_transposed",
            fmt::format("x {} and w {} must have the same rows", inputs[0].shape.text(), inputs[1].shape.text()));
    const int64_t M = inputs[0].shape.columns(), N = inputs[1].shape.columns();
    return {{.shape = {M, N}}, {.shape = {M}}};
}

void referenceTransposed(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1];
    forEach(call.outputs[0], [&](int64_t m, int64_t n) {
        double sum = 0;
        for (int64_t k = 0; k < x.rows(); ++k) sum += x.row(k)[m] * w.row(k)[n];
        return sum * call.attributes.number("scale");
    });
    for (int64_t k = 0; k < x.rows(); ++k)
        for (int64_t m = 0; m < x.columns(); ++m) call.outputs[1].data[m] += x.row(k)[m];
}

std::vector<Dispatch> dispatchTransposed(const OpTypes& types, const KernelTraits& traits) {
    const Shape& y = types.outputs[0].shape;
    const int64_t K = types.inputs[0].shape.rows();
    Dispatch result =
        productDispatch("ops/matmul_transposed", "ops/matmul_transposed_shared", traits, y.rows(), y.columns(), K);
    result.bindings = {load4(0), load4(1), writeOutput(0), writeOutput(1)};
    result.push = {u32(y.rows()), u32(y.columns()), u32(K), pushFloat(types.attributes.number("scale"))};
    return {result};
}

/// Threads share the columns of x, and the columns of w if x has few.
HostKernel hostTransposed(const OpTypes& types) {
    const Shape x = types.inputs[0].shape, w = types.inputs[1].shape;
    const auto factor = static_cast<float>(types.attributes.number("scale"));
    return [=](const HostRun& run) {
        constexpr int64_t kLeast = 16;
        const int64_t rows = x.rows(), M = x.columns(), N = w.columns(), stride = w.rowStride();
        const auto block = [&](int64_t m, int64_t mEnd, int64_t n, int64_t nEnd) {
            float* out = run.outputs[0] + m * stride + n;
            host::product({mEnd - m, nEnd - n, rows}, {run.inputs[0] + m, x.rowStride(), true},
                          {run.inputs[1] + n, stride}, out, stride, factor);
            if (nEnd != N) return;
            for (int64_t row = m; row < mEnd; ++row)
                std::fill(run.outputs[0] + row * stride + N, run.outputs[0] + (row + 1) * stride, 0.0f);
        };
        if (M >= N)
            run.pool.ranges(M, kLeast, kLeast, [&](int64_t m, int64_t end) { block(m, end, 0, N); });
        else
            run.pool.ranges(N, kLeast, kLeast, [&](int64_t n, int64_t end) { block(0, M, n, end); });
        run.pool.ranges(x.rowStride(), kLeast, kLeast, [&](int64_t m, int64_t end) {
            host::columnSums(rows, x.rowStride(), m, end, run.inputs[0], run.outputs[1]);
        });
    };
}

double operationsPlain(const OpTypes& types) {
    double terms = 0;
    for (size_t pair = 0; pair < pairsOf(types.attributes); ++pair)
        terms += static_cast<double>(types.inputs[2 * pair].shape.columns());
    return 2.0 * static_cast<double>(types.outputs[0].shape.elements()) * terms;
}
double operationsTransposed(const OpTypes& types) {
    return 2.0 * static_cast<double>(types.outputs[0].shape.elements()) *
           static_cast<double>(types.inputs[0].shape.rows());
}

} // namespace

const Op kMatmulPlain{.name = "matmul_plain",
                      .infer = inferPlain,
                      .reference = referencePlain,
                      .dispatch = dispatchPlain,
                      .host = hostPlain,
                      .operations = operationsPlain,
                      .takesResidual = true};
const Op kMatmulTransposed{.name = "matmul_transposed",
                           .infer = inferTransposed,
                           .reference = referenceTransposed,
                           .dispatch = dispatchTransposed,
                           .host = hostTransposed,
                           .operations = operationsTransposed};

Tensor matmulPlain(Tensor x, Tensor w, const PlainOptions& options) {
    std::vector<Tensor> inputs{x, w};
    if (options.activation != Activation::None) inputs.push_back(options.argument);
    if (options.residual) inputs.push_back(*options.residual);
    return x.graph->add(kMatmulPlain, std::move(inputs),
                        {{"pairs", 1},
                         {"scale", options.scale},
                         {"activation", static_cast<double>(options.activation)},
                         {"residual", options.residual ? 1 : 0}});
}

Tensor joinedProducts(Tensor sum, Tensor term) {
    const Node a = sum.graph->node(sum.node), b = term.graph->node(term.node); // copies: adding may move nodes
    const auto isSumOfProducts = [](const Node& node) {
        return node.op == &kMatmulPlain && activationOf(node.attributes) == Activation::None;
    };
    if (!isSumOfProducts(a) || !isSumOfProducts(b) || b.attributes.flag("residual") ||
        a.attributes.number("scale") != b.attributes.number("scale"))
        return {};
    const size_t pairs = pairsOf(a.attributes) + pairsOf(b.attributes);
    if (pairs > kMaxPairs) return {};
    std::vector<Tensor> inputs = a.inputs;
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(2 * pairsOf(a.attributes)), b.inputs.begin(),
                  b.inputs.end());
    Attributes attributes = a.attributes;
    attributes.set("pairs", static_cast<double>(pairs));
    return sum.graph->add(kMatmulPlain, std::move(inputs), attributes);
}

Transposed matmulTransposed(Tensor x, Tensor w, double scale) {
    const Tensor product = x.graph->add(kMatmulTransposed, {x, w}, {{"scale", scale}});
    return {product, {product.graph, product.node, 1}};
}

} // namespace attn
