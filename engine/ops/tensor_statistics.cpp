#include "engine/ops/tensor_statistics.h"

#include "engine/host/pool.h"
#include "engine/host/reduce.h"
#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

constexpr int64_t kMostParts = 1024; // enough for any device, few enough for one invocation to merge

int64_t partsOf(const Shape& shape) { return std::clamp<int64_t>(shape.paddedElements() / 4, 1, kMostParts); }

bool counts(double value) { return std::isfinite(value) && value > kMasked; }

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "tensor_statistics");
    require(!inputs[0].liveRows, "tensor_statistics", "the tensor has a live length");
    require(attributes.integer("liveSlot") == kNoLiveSlot || inputs[0].shape.rank() > 1, "tensor_statistics",
            "only rows can have a live length");
    require(inputs[0].dtype == DType::F32, "tensor_statistics", "integers must be converted to real numbers first");
    return {{.shape = {8}}, {.shape = {partsOf(inputs[0].shape), 8}}};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &out = call.outputs[0];
    double finite = 0, nans = 0, infinities = 0, masked = 0, total = 0, squares = 0;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    const auto slot = static_cast<uint32_t>(call.attributes.integer("liveSlot"));
    const int64_t rows =
        slot == kNoLiveSlot ? x.rows() : std::min<int64_t>(call.step.words[slot], x.shape[0]) * (x.rows() / x.shape[0]);
    const auto forEachValue = [&](auto visit) {
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t column = 0; column < x.columns(); ++column) visit(x.row(row)[column]);
    };
    forEachValue([&](double value) {
        nans += std::isnan(value) ? 1 : 0;
        infinities += std::isinf(value) ? 1 : 0;
        masked += std::isfinite(value) && value <= kMasked ? 1 : 0;
        if (!counts(value)) return;
        finite += 1;
        total += value;
        least = std::min(least, value);
        most = std::max(most, value);
    });
    const double mean = finite > 0 ? total / finite : 0;
    forEachValue([&](double value) { squares += counts(value) ? (value - mean) * (value - mean) : 0; });
    if (finite > 0) {
        const double values[] = {least, most, mean, std::sqrt(squares / finite)};
        std::ranges::copy(values, out.data);
    }
    const double counted[] = {finite, nans, infinities, masked};
    std::ranges::copy(counted, out.data + 4);
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const Shape& x = types.inputs[0].shape;
    const int64_t parts = partsOf(x);
    constexpr int64_t kPartsPerGroup = 64;
    return {{.shader = "view/tensor_statistics",
             .bindings = {load4(0), writeOutput(1)},
             .push = {u32(x.paddedElements() / 4), u32(x.rowStride() / 4), u32(x.columns()), u32(parts),
                      u32(unitOf(x) / 4), u32(types.attributes.integer("liveSlot"))},
             .x = groupsOf(parts, kPartsPerGroup)},
            {.shader = "view/tensor_statistics_merge",
             .bindings = {{Access::Load4, true, 1}, writeOutput(0)},
             .push = {u32(parts)},
             .barrierBefore = true}};
}

HostKernel hostKernel(const OpTypes& types) {
    TensorType x = types.inputs[0];
    if (const int64_t slot = types.attributes.integer("liveSlot"); slot != kNoLiveSlot)
        x.liveRows = static_cast<StepScalar>(slot);
    return [x](const HostRun& run) {
        const auto masked = static_cast<float>(kMasked);
        const int64_t rows = liveRowsOf(x, run.step), stride = x.shape.rowStride(), columns = x.shape.columns();
        const int64_t parts = std::min<int64_t>(run.pool.threads(), rows / rowsForThread(x.shape) + 1);
        // The parts depend only on the number of threads, so the sums do too.
        const auto overParts = [&](const auto& visit) {
            run.pool.run(parts, [&](int64_t part) {
                const int64_t first = rows * part / parts, end = rows * (part + 1) / parts;
                visit(static_cast<size_t>(part), end - first, run.inputs[0] + first * stride);
            });
        };
        std::vector<host::Moments> moments(static_cast<size_t>(parts));
        overParts([&](size_t part, int64_t count, const float* from) {
            moments[part] = host::moments(masked, count, columns, from);
        });
        host::Moments all;
        for (const host::Moments& part : moments) all.add(part);
        const double finite = static_cast<double>(all.finite), mean = all.finite > 0 ? all.total / finite : 0;
        std::vector<double> squares(static_cast<size_t>(parts));
        overParts([&](size_t part, int64_t count, const float* from) {
            squares[part] = host::squaresAbout(static_cast<float>(mean), masked, count, columns, from);
        });
        double sum = 0;
        for (const double part : squares) sum += part;
        const double deviation = all.finite > 0 ? std::sqrt(sum / finite) : 0;
        const double results[] = {static_cast<double>(all.least),
                                  static_cast<double>(all.most),
                                  mean,
                                  deviation,
                                  finite,
                                  static_cast<double>(all.nans),
                                  static_cast<double>(all.infinities),
                                  static_cast<double>(all.masked)};
        std::ranges::transform(results, run.outputs[0], [](double value) { return static_cast<float>(value); });
    };
}

} // namespace

const Op kTensorStatistics{
    .name = "tensor_statistics", .infer = infer, .reference = reference, .dispatch = dispatch, .host = hostKernel};

Tensor tensorStatistics(Tensor x, std::optional<StepScalar> live) {
    return x.graph->add(kTensorStatistics, {x},
                        {{"liveSlot", static_cast<double>(live ? static_cast<uint32_t>(*live) : kNoLiveSlot)}});
}

} // namespace attn
