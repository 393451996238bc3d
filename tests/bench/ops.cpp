#include "tests/bench/benches.h"

#include "engine/ops/convolve.h"
#include "engine/ops/gradient.h"
#include "engine/ops/grouped.h"
#include "engine/ops/linear_scan.h"
#include "engine/ops/scan.h"
#include "engine/ops/selective_scan.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/gpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <random>

// Operations that read sequences, for `./dev bench peers` to compare with PyTorch's.

namespace attn::cli {
namespace {

/// A graph and what is computed of it.
struct Work {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    std::map<std::string, Tensor> outputs;

    Tensor parameter(const std::string& name, Shape shape) { return graph->parameter(name, std::move(shape)); }
    /// Asks for a result and the gradients of its product with other numbers.
    void learn(Tensor y, std::initializer_list<Tensor> sources) {
        const std::vector<Tensor> list(sources);
        const std::vector<Tensor> gradients = gradient(sum(multiply(y, parameter("direction", y.shape()))), list);
        outputs["y"] = y;
        for (size_t i = 0; i < list.size(); ++i) outputs["d" + std::to_string(i)] = gradients[i];
    }
};

/// A layer with projections of its input: B 32, T 128, width 256.
void lstm(Work& work) {
    constexpr int64_t B = 32, T = 128, W = 256;
    const Tensor x = work.parameter("x", {B, T, W}), w = work.parameter("w", {4 * W, W}),
                 b = work.parameter("b", {4 * W}), r = work.parameter("r", {4 * W, W});
    const Tensor none = fill(*work.graph, {B, W}, 0);
    const Scanned out =
        scan(Recurrence::Lstm, {.gates = matmul(x, w, {.bias = b}), .recurrent = r, .state = none, .cell = none});
    work.learn(out.hidden, {x, w, b, r});
}

/// Each channel with its own four taps, over rows up to its own: as in Mamba. B 8, T 1024, width 512.
void causalConvolution(Work& work) {
    constexpr int64_t B = 8, T = 1024, W = 512, taps = 4;
    const Tensor x = work.parameter("x", {B, T, W}), w = work.parameter("w", {W, 1, taps}),
                 b = work.parameter("b", {W});
    work.learn(convolve(x, w, b, {ConvolutionAxis::causal(taps)}, W), {x, w, b});
}

/// All channels with all, as in the first layers for sounds. B 8, T 1024, width 128.
void denseConvolution(Work& work) {
    constexpr int64_t B = 8, T = 1024, W = 128, taps = 3;
    const Tensor x = work.parameter("x", {B, T, W}), w = work.parameter("w", {W, W, taps}),
                 b = work.parameter("b", {W});
    work.learn(convolve(x, w, b, {{.before = 1, .after = 1}}), {x, w, b});
}

/// A decay for each number. Width 512, over T rows.
void linearRecurrence(Work& work, int64_t T) {
    constexpr int64_t B = 1, W = 512;
    const Tensor a = work.parameter("a", {B, T, W}), b = work.parameter("b", {B, T, W});
    work.learn(linearScan({.a = a, .b = b, .state = fill(*work.graph, {B, W}, 0)}).hidden, {a, b});
}

/// Mamba's state space. Width 512, 16 states, over T rows.
void stateSpace(Work& work, int64_t T) {
    constexpr int64_t B = 1, W = 512, N = 16;
    const SelectiveScanInputs in{.x = work.parameter("x", {B, T, W}),
                                 .step = unary(work.parameter("step", {B, T, W}), Unary::Square),
                                 .decay = unary(unary(work.parameter("decay", {W, N}), Unary::Square), Unary::Negate),
                                 .in = work.parameter("in", {B, T, N}),
                                 .out = work.parameter("out", {B, T, N}),
                                 .state = fill(*work.graph, {B, N, W}, 0)};
    work.learn(selectiveScan(in).y, {in.x, in.step, in.decay, in.in, in.out});
}

/// 4096 rows, sorted into 8 experts of about as many each. Width 256, to 1024.
void experts(Work& work) {
    constexpr int64_t R = 4096, K = 256, N = 1024, E = 8;
    const Tensor x = work.parameter("x", {R, K}), w = work.parameter("w", {E, N, K});
    const Tensor row =
        toInteger(cumulativeSum(fill(*work.graph, {R}, static_cast<double>(E) / R), 0, {.exclusive = true}));
    work.learn(groupedMatmul(x, w, groupBegins(row, E)), {x, w});
}

/// Milliseconds of one run: the median of several.
double measured(Device& device, const Work& work) {
    constexpr int kRuns = 9;
    TensorStore store(device);
    const auto plan = compile(work.graph, work.outputs);
    std::vector<std::pair<std::string, Shape>> operands;
    for (const PlannedTensor& tensor : plan->tensors)
        if (tensor.home == Home::Parameter) operands.emplace_back(tensor.name, tensor.type.shape);
    store.reserve(operands);
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.1f);
    for (const auto& [name, shape] : operands)
        store.write(name, [&](int64_t, std::span<float> rows) {
            for (float& value : rows) value = normal(random);
        });
    GpuExecutor executor(device, store, plan);
    executor.run({});
    std::vector<double> elapsedMs;
    for (int i = 0; i < kRuns; ++i) {
        const auto start = std::chrono::steady_clock::now();
        executor.run({});
        elapsedMs.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::ranges::nth_element(elapsedMs, elapsedMs.begin() + kRuns / 2);
    return elapsedMs[kRuns / 2];
}

std::map<std::string, std::function<void(Work&)>> operations() {
    std::map<std::string, std::function<void(Work&)>> all{{"lstm", lstm},
                                                          {"causal-convolution", causalConvolution},
                                                          {"convolution", denseConvolution},
                                                          {"experts", experts}};
    for (int64_t T = 256; T <= 16384; T *= 2) {
        all["linear-scan-" + std::to_string(T)] = [T](Work& work) { linearRecurrence(work, T); };
        all["selective-scan-" + std::to_string(T)] = [T](Work& work) { stateSpace(work, T); };
    }
    return all;
}

} // namespace

void addBenchOps(Command& command) {
    const auto asked = std::make_shared<std::vector<std::string>>();
    std::vector<std::string> names;
    for (const auto& [name, make] : operations()) names.push_back(name);
    command.about("Prints a line of JSON: milliseconds by name, the median of several runs.");
    command.argument("LIST", *asked, "the operations, between commas").required().listed().choices(names);
    command.example("attention-bench ops lstm,experts");
    command.action([=] {
        Device device{DeviceChoice()};
        std::string json;
        for (const std::string& name : *asked) {
            Work work;
            operations().at(name)(work);
            json += fmt::format("{}\"{}\": {:.4f}", json.empty() ? "" : ", ", name, measured(device, work));
        }
        fmt::print("{{{}}}\n", json);
        return 0;
    });
}

} // namespace attn::cli
