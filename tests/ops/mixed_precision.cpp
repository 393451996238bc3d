#include "engine/ops/mixed_precision.h"

#include "engine/graph/plan.h"
#include "engine/ops/convolve.h"
#include "engine/ops/gradient.h"
#include "engine/ops/grouped.h"
#include "engine/ops/ops.h"
#include "engine/ops/training_ops.h"
#include "engine/runtime/cpu_executor.h"
#include "engine/runtime/tensor_store.h"
#include "tests/support/device.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace attn;

namespace {

/// Floats of every exponent and sign, what is no number, and those at which rounding decides.
std::vector<float> hardNumbers() {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    std::vector<float> numbers{0.0f,
                               -0.0f,
                               infinite,
                               -infinite,
                               std::numeric_limits<float>::quiet_NaN(),
                               65504.0f,
                               std::nextafter(65520.0f, 0.0f),
                               65520.0f,
                               -65520.0f,
                               1e30f,
                               0x1p-24f,
                               0x1p-25f,
                               std::nextafter(0x1p-25f, 1.0f),
                               -0x1p-25f,
                               0x1.8p-24f,
                               0x1p-14f,
                               0x1.ffcp-15f,
                               std::nextafter(0x1p-14f, 0.0f),
                               0x1p-126f,
                               0x1p-133f,
                               0x1.002p0f,
                               0x1.006p0f,
                               0x1.01p0f,
                               0x1.03p0f,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::denorm_min()};
    std::mt19937 random(3);
    for (uint32_t exponent = 0; exponent < 255; ++exponent)
        for (int i = 0; i < 20; ++i)
            numbers.push_back(std::bit_cast<float>((static_cast<uint32_t>(random()) & 0x807fffffu) | exponent << 23));
    return numbers;
}

bool isDenormal(float value) { return value != 0 && std::abs(value) < std::numeric_limits<float>::min(); }

} // namespace

TEST_CASE("narrow and widen: shaders and host kernels round every number as IEEE 754 says", "[ops][gpu]") {
    test::TestDevice device;
    const std::vector<float> numbers = hardNumbers();
    for (const DType dtype : {DType::F16, DType::BF16})
        for (const bool usesHost : device.hostChoices())
            for (const int64_t columns : {1, 3, 4, 7, 128}) {
                const auto rows = static_cast<int64_t>(numbers.size()) / columns;
                const auto graph = std::make_shared<Graph>();
                const Tensor narrowed = narrow(graph->input("x", {.shape = {rows, columns}}), dtype);
                const auto plan = compile(graph, {{"short", narrowed}, {"wide", widen(narrowed)}});
                CHECK(plan->result("short").byteSize * 2 == plan->result("wide").byteSize);
                TensorStore store(device);
                KernelTraits traits = device.kernelTraits();
                traits.usesHost = usesHost;
                GpuExecutor executor(device, store, plan, {.traits = traits});
                const int64_t stride = Shape{rows, columns}.rowStride();
                const auto at = [&](int64_t i) { return static_cast<size_t>(i / columns * stride + i % columns); };
                for (int64_t i = 0; i < rows * columns; ++i)
                    executor.input("x")[at(i)] = numbers[static_cast<size_t>(i)];
                executor.run({});
                const auto words = executor.resultIntegers("short");
                int wrong = 0;
                for (int64_t i = 0; i < rows * columns; ++i) {
                    const float x = numbers[static_cast<size_t>(i)];
                    const bool isBrain = dtype == DType::BF16;
                    const uint16_t expected = isBrain ? brainOf(x) : halfOf(x);
                    const float value = isBrain ? floatOfBrain(expected) : floatOfHalf(expected);
                    const auto found =
                        static_cast<uint16_t>(static_cast<uint32_t>(words[at(i) / 2]) >> (at(i) % 2 * 16));
                    const float wide = executor.result("wide")[at(i)];
                    const bool isSame = std::isnan(x) ? std::isnan(wide) : found == expected && wide == value;
                    // A device may read a float below 2^-126 as zero; bfloat16 alone can tell.
                    const bool isFlushed = isDenormal(x) && !usesHost && wide == 0;
                    wrong += isSame || isFlushed ? 0 : 1;
                }
                INFO((dtype == DType::BF16 ? "bf16" : "f16")
                     << (usesHost ? " processor" : " shader") << ", columns " << columns);
                CHECK(wrong == 0);
            }
}

TEST_CASE("halves that are numbers come back from floats as the same bits", "[ops]") {
    int wrong = 0;
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        if ((half & 0x7c00) != 0x7c00 || (half & 0x3ff) == 0) wrong += halfOf(floatOfHalf(half)) == half ? 0 : 1;
        if ((half & 0x7f80) != 0x7f80 || (half & 0x7f) == 0) wrong += brainOf(floatOfBrain(half)) == half ? 0 : 1;
    }
    CHECK(wrong == 0);
}

TEST_CASE("narrow and widen pass the gradient on as it is", "[ops]") {
    const auto graph = std::make_shared<Graph>();
    const Tensor x = graph->input("x", {.shape = {2, 3}}), w = graph->input("w", {.shape = {2, 3}});
    const Tensor loss = sum(multiply(widen(narrow(x, DType::F16)), w));
    CpuExecutor executor(compile(graph, {{"d", gradient(loss, std::vector{x})[0]}}));
    const std::vector<double> slopes{1e-30, -3, 1e30, 0, 1, 0.1};
    executor.set("w", slopes);
    executor.run({});
    CHECK(executor.get("d") == slopes);
}

namespace {

/// The numbers that the backward pass of a sum reads of the forward pass, each of which must have 16 bits.
/// @param forward builds the graph: the result, from an input and parameters, which it adds to the list
int keptNumbers(const std::function<Tensor(Graph& graph, std::vector<Tensor>& weights)>& forward) {
    const auto graph = std::make_shared<Graph>();
    graph->keepThrough(keeperIn16Bits(*graph, DType::BF16));
    std::vector<Tensor> weights;
    const Tensor loss = sum(forward(*graph, weights));
    const uint32_t firstOfBackward = loss.node + 1;
    std::map<std::string, Tensor> outputs;
    for (const Tensor& each : gradient(loss, weights)) outputs[std::to_string(outputs.size())] = each;
    graph->keepThrough(nullptr);
    const auto plan = compile(graph, outputs);
    int kept = 0;
    for (const PlannedOp& op : plan->ops) {
        if (op.node < firstOfBackward) continue;
        for (const Tensor& input : graph->node(op.node).inputs) {
            if (input.node >= firstOfBackward || graph->node(input.node).kind != NodeKind::Operation) continue;
            INFO(graph->node(op.node).name << " reads " << graph->node(input.node).name);
            CHECK(input.type().dtype == DType::BF16);
            ++kept;
        }
    }
    return kept;
}

} // namespace

TEST_CASE("mixed precision: of the forward pass, only numbers of 16 bits reach the backward pass", "[ops]") {
    CHECK(keptNumbers([](Graph& graph, std::vector<Tensor>& weights) {
              Tensor x = graph.input("x", {.shape = {32, 64}});
              for (const char* name : {"a", "b", "c"}) {
                  weights.push_back(graph.parameter(name, {64, 64}));
                  x = matmul(x, weights.back(), {.activation = Activation::GeluTanh, .keepsArgument = true});
              }
              return x;
          }) >= 6); // three arguments of an activation and three operands
    CHECK(keptNumbers([](Graph& graph, std::vector<Tensor>& weights) {
              Tensor x = graph.input("x", {.shape = {2, 16, 64}});
              for (const char* name : {"a", "b"}) {
                  weights.push_back(graph.parameter(name, {64, 64, 4}));
                  x = convolve(x, weights.back(), {}, {ConvolutionAxis::causal(4)});
              }
              x = reshape(x, {32, 64});
              const Tensor begins = graph.input("begins", {.shape = {3}, .dtype = DType::I32});
              for (const char* name : {"c", "d"}) {
                  weights.push_back(graph.parameter(name, {2, 64, 64}));
                  x = groupedMatmul(x, weights.back(), begins);
              }
              return x;
          }) >= 3); // operands
}

TEST_CASE("an update whose gradients overflow leaves all states as they are", "[ops]") {
    for (const double norm : {1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        const auto graph = std::make_shared<Graph>();
        const Tensor g = graph->input("g", {.shape = {4}});
        const Clip clip = clipFactor(squareNorms(std::vector{g}), 0, true);
        const Tensor p = graph->parameter("p", {4}), m = graph->state("m", {.shape = {4}}),
                     v = graph->state("v", {.shape = {4}});
        CpuExecutor executor(
            compile(graph, {{"p", adamUpdate(std::vector{p, m, v}, std::vector{g}, clip.factor, {})[0]}}));
        executor.set("g", std::vector<double>{norm, 0, 0, 0});
        executor.set("p", std::vector<double>{1, 2, 3, 4});
        StepParams step;
        step.setNumber(StepScalar::LearningRate, 0.5);
        step.setNumber(StepScalar::MomentCorrection, 1);
        step.setNumber(StepScalar::VarianceCorrection, 1);
        executor.run(step);
        CHECK((executor.get("p") == std::vector<double>{1, 2, 3, 4}) == !std::isfinite(norm));
    }
}
