#include "engine/attention/block/block_flow.h"
#include "engine/attention/mask/grid.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

using namespace terms;

constexpr std::array kPatchParams{kRowsParam, kColumnsParam, kLeadingParam};
constexpr int64_t kKernelSide = 3;
/// As PyTorch's convolutions of 9 numbers begin: uniform numbers up to 1/3 have this deviation.
constexpr InitialValue kKernelInitial{InitialValue::Kind::Normal, 0.19245};

/// Every feature of the grid by itself: the sum over 3 x 3 patches, zeros beyond the border.
/// @param grid [B,rows,cols,C]  @param kernel [9,C]  @param bias [C]
Tensor convolve(Tensor grid, Tensor kernel, Tensor bias) {
    const int64_t rows = grid.shape()[1], columns = grid.shape()[2], C = grid.shape()[3];
    const Tensor framed = pad(pad(grid, 1, 1, 1), 2, 1, 1);
    Tensor result = reshape(bias, {1, 1, 1, C});
    for (int64_t at = 0; at < kKernelSide * kKernelSide; ++at)
        result = plus(result, times(slice(slice(framed, 1, at / kKernelSide, rows), 2, at % kKernelSide, columns),
                                    reshape(slice(kernel, 0, at, 1), {1, 1, 1, C})));
    return result;
}

Tensor buildPatches(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) {
    const Grid grid = Grid::of(values);
    const int64_t C = flow.width, length = flow.sequence == 0 ? x.shape()[0] : flow.sequence, B = x.shape()[0] / length,
                  kept = std::min(length, grid.end());
    const auto parameter = [&](const char* part, Shape shape, InitialValue initial) {
        return flow.parameter(name + part, std::move(shape), initial);
    };
    if (kept <= grid.leading) return affine(x, 0, 0);
    // Patches that the sequence is too short for are zeros, and so is the result of all tokens that are no patches.
    const Tensor patches = slice(reshape(x, {B, length, C}), 1, grid.leading, kept - grid.leading);
    Tensor y = reshape(pad(patches, 1, 0, grid.end() - kept), {B, grid.rows, grid.columns, C});
    y = convolve(y, parameter(".K_1", {kKernelSide * kKernelSide, C}, kKernelInitial), parameter(".b_1", {C}, {}));
    y = activate(reshape(y, {B * grid.rows * grid.columns, C}), Activation::GeluErf);
    y = layerNorm(y, parameter(".ln.w", {C}, {InitialValue::Kind::One}), parameter(".ln.b", {C}, {}), flow.epsilon);
    y = convolve(reshape(y, {B, grid.rows, grid.columns, C}),
                 parameter(".K_2", {kKernelSide * kKernelSide, C}, kKernelInitial), parameter(".b_2", {C}, {}));
    y = slice(reshape(y, {B, grid.rows * grid.columns, C}), 1, 0, kept - grid.leading);
    return reshape(pad(y, 1, grid.leading, length - kept), {B * length, C});
}

Dense referencePatches(const BlockReference& flow, PartValues values, const std::string& name, const Dense& x) {
    const Grid grid = Grid::of(values);
    const int64_t T = x.extents[0], C = flow.width;
    const auto convolved = [&](const Dense& in, const char* kernel, const char* bias) {
        const Dense &k = flow.parameters.at(name + kernel), &b = flow.parameters.at(name + bias);
        Dense out({grid.rows * grid.columns, C});
        for (int64_t patch = 0; patch < grid.rows * grid.columns; ++patch)
            for (int64_t c = 0; c < C; ++c) {
                double sum = b.at(c);
                for (int64_t at = 0; at < kKernelSide * kKernelSide; ++at) {
                    const int64_t row = patch / grid.columns + at / kKernelSide - 1,
                                  column = patch % grid.columns + at % kKernelSide - 1;
                    if (row >= 0 && row < grid.rows && column >= 0 && column < grid.columns)
                        sum += k.at(at, c) * in.at(row * grid.columns + column, c);
                }
                out.at(patch, c) = sum;
            }
        return out;
    };
    Dense patches({grid.rows * grid.columns, C}), y({T, C});
    for (int64_t t = 0; t < T; ++t)
        for (int64_t c = 0; c < C && grid.holds(t); ++c) patches.at(t - grid.leading, c) = x.at(t, c);
    Dense hidden = convolved(patches, ".K_1", ".b_1");
    const Dense &w = flow.parameters.at(name + ".ln.w"), &b = flow.parameters.at(name + ".ln.b");
    for (int64_t patch = 0; patch < grid.rows * grid.columns; ++patch) {
        double mean = 0, variance = 0;
        for (int64_t c = 0; c < C; ++c) {
            double& value = hidden.at(patch, c);
            value = value / 2 * (1 + std::erf(value / std::numbers::sqrt2));
            mean += value / static_cast<double>(C);
        }
        for (int64_t c = 0; c < C; ++c) variance += std::pow(hidden.at(patch, c) - mean, 2) / static_cast<double>(C);
        for (int64_t c = 0; c < C; ++c)
            hidden.at(patch, c) = w.at(c) * (hidden.at(patch, c) - mean) / std::sqrt(variance + flow.epsilon) + b.at(c);
    }
    const Dense out = convolved(hidden, ".K_2", ".b_2");
    for (int64_t t = 0; t < T; ++t)
        for (int64_t c = 0; c < C && grid.holds(t); ++c) y.at(t, c) = out.at(t - grid.leading, c);
    return y;
}

Tensor joinPatches(BlockFlow& flow, PartValues values, const std::string& name, Tensor x, const Sublayer& norm,
                   const Sublayer& sublayer) {
    return kPreNormResidual.block->join(flow, values, name, x, norm, sublayer);
}
Dense joinPatchesReference(const BlockReference& flow, PartValues values, const std::string& name, const Dense& x,
                           const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) {
    return kPreNormResidual.block->joinReference(flow, values, name, x, norm, sublayer);
}

constexpr BlockHooks kPatchHooks{.join = joinPatches,
                                 .joinReference = joinPatchesReference,
                                 .between = buildPatches,
                                 .betweenReference = referencePatches};

} // namespace

const Part kPatchResidual{
    .id = "local_patches",
    .slot = Slot::Residual,
    .title = "Local patch interaction, XCiT",
    .idea = "Norm before the sublayer, and a third sublayer between the other two: two small convolutions mix every "
            "feature of a patch with that of the patches around it. XCiT needs it, because its attention mixes "
            "features and never looks at single patches. CLS passes it by.",
    .formula = "y = x + K_2 * norm(gelu(K_1 * norm(x) + b_1)) + b_2, K [3 x 3] for each feature",
    .source = {"El-Nouby et al.", 2021, "XCiT: Cross-Covariance Image Transformers", "section 3.3, LPI",
               "arXiv:2106.09681"},
    .params = kPatchParams,
    .time = "O(T C)",
    .memory = "O(C) parameters",
    .caution = "The norm between the convolutions is a layer norm over the features of a patch. The paper has a batch "
               "norm there, with the mean and variance of each feature over all patches of the batch.",
    .block = &kPatchHooks,
    .knowsGrid = true};

} // namespace attn
