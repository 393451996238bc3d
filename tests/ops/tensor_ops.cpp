#include "engine/ops/tensor_ops.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/ops/case.h"
#include "tests/support/device.h"

using namespace attn;
using namespace attn::test;

namespace {

/// What the device makes of the outputs of a case without parameters and states, dense.
std::map<std::string, std::vector<double>> runOnDevice(const Case& test) {
    TestDevice device;
    TensorStore store(device);
    const auto plan = compile(test.graph, test.outputs);
    GpuExecutor gpu(device, store, plan);
    for (const PlannedTensor& tensor : plan->tensors) {
        if (tensor.home != Home::Input) continue;
        const auto& list = test.values.at(tensor.name);
        const auto columns = static_cast<size_t>(tensor.type.shape.columns()),
                   stride = static_cast<size_t>(tensor.type.shape.rowStride());
        for (size_t i = 0; i < list.size(); ++i) {
            const size_t at = i / columns * stride + i % columns;
            if (tensor.type.dtype == DType::I32)
                gpu.inputIntegers(tensor.name)[at] = static_cast<int32_t>(list[i]);
            else
                gpu.input(tensor.name)[at] = static_cast<float>(list[i]);
        }
    }
    gpu.run(test.step);
    std::map<std::string, std::vector<double>> results;
    for (const auto& [name, tensor] : test.outputs) results[name] = denseResult(gpu, name);
    return results;
}

} // namespace

TEST_CASE("softmax: no gradient at all reaches what is masked, and none an empty row", "[ops][gpu]") {
    Case t;
    const Tensor x = t.real("x", {3, 6});
    for (size_t i : {1u, 4u, 6u, 7u, 8u, 9u, 10u, 11u})
        t.values["x"][i] = static_cast<double>(static_cast<float>(kMasked));
    const Tensor y = softmax(x);
    t.expect("d", gradient(sum(multiply(y, t.real("direction", {3, 6}))), std::vector{x})[0]);
    const std::vector<double> d = runOnDevice(t).at("d");
    for (size_t i = 0; i < d.size(); ++i) CHECK((d[i] == 0) == (i == 1 || i == 4 || (i >= 6 && i < 12)));
}

TEST_CASE("logSumExp: neither large nor masked entries overflow, and its gradient is the softmax", "[ops][gpu]") {
    Case t;
    const Tensor x = t.real("x", {2, 5});
    t.values["x"] = {1000, 1001, 999, -1e30, 1000.5, -3, -2, 0.5, 1, 2};
    const Tensor y = logSumExp(x);
    t.expect("y", affine(y, 1, 0));
    t.expect("d", gradient(sum(y), std::vector{x})[0]);
    t.expect("softmax", softmax(x));
    const auto found = runOnDevice(t);
    for (size_t row = 0; row < 2; ++row) {
        const auto* values = &t.values["x"][row * 5];
        double total = 0;
        const double largest = *std::max_element(values, values + 5);
        for (size_t c = 0; c < 5; ++c) total += std::exp(values[c] - largest);
        CHECK(found.at("y")[row] == Approx(largest + std::log(total)).epsilon(1e-6)); // fp32
    }
    for (size_t i = 0; i < 10; ++i) CHECK(found.at("d")[i] == Approx(found.at("softmax")[i]).margin(1e-6));
}

TEST_CASE("sortOrder: 16,384 elements with many equals keep the order of columns, NaN last", "[ops][gpu]") {
    constexpr size_t kColumns = 16384;
    Case t;
    const Tensor x = t.real("x", {2, kColumns});
    for (double& value : t.values["x"]) value = std::floor(40 * value);
    t.values["x"][3] = t.values["x"][10000] = std::numeric_limits<double>::quiet_NaN();
    t.values["x"][5] = -0.0;
    t.values["x"][7] = 0.0;
    const Tensor order = sortOrder(x);
    t.expect("order", order);
    t.expect("inverse", inverseOrder(order));
    const auto found = runOnDevice(t);
    for (size_t row = 0; row < 2; ++row) {
        std::vector<size_t> expected(kColumns);
        std::iota(expected.begin(), expected.end(), size_t{0});
        const auto isBefore = [&](size_t a, size_t b) {
            const double left = t.values["x"][row * kColumns + a], right = t.values["x"][row * kColumns + b];
            return std::isnan(right) ? !std::isnan(left) : left < right;
        };
        std::ranges::stable_sort(expected, isBefore);
        bool isEqual = true, isInverse = true;
        for (size_t i = 0; i < kColumns; ++i) {
            const double column = found.at("order")[row * kColumns + i];
            isEqual = isEqual && column == static_cast<double>(expected[i]);
            isInverse = isInverse &&
                        found.at("inverse")[row * kColumns + static_cast<size_t>(column)] == static_cast<double>(i);
        }
        CHECK(isEqual);
        CHECK(isInverse);
    }
}

TEST_CASE("take and put: ids that name no row give zeros and add nothing", "[ops][gpu]") {
    Case t;
    const Tensor x = t.real("x", {3, 2}), ids = t.integers("ids", {5}, 1);
    t.values["x"] = {1, 2, 3, 4, 5, 6};
    t.values["ids"] = {2, -1, 0, 3, 2};
    const Tensor taken = take(x, ids);
    t.expect("taken", taken);
    t.expect("put", put(taken, ids, 3));
    const auto found = runOnDevice(t);
    CHECK(found.at("taken") == std::vector<double>{5, 6, 0, 0, 1, 2, 0, 0, 5, 6});
    CHECK(found.at("put") == std::vector<double>{1, 2, 0, 0, 10, 12});
}

TEST_CASE("permute and slice: integers keep every bit", "[ops][gpu]") {
    Case t;
    const Tensor x = t.integers("x", {2, 3}, 1);
    t.values["x"] = {1, -2, 2143289345, -2147483648.0, 5, 2147483647}; // as floats: denormal, NaN and so on
    t.expect("transposed", permute(x, {1, 0}));
    t.expect("sliced", slice(x, -1, 1, 2));
    const auto found = runOnDevice(t);
    CHECK(found.at("transposed") == std::vector<double>{1, -2147483648.0, -2, 5, 2143289345, 2147483647});
    CHECK(found.at("sliced") == std::vector<double>{-2, 2143289345, 5, 2147483647});
}

TEST_CASE("tensor operations: what does not fit is named", "[ops]") {
    Case t;
    const Tensor a = t.real("a", {2, 3, 4}), b = t.real("b", {2, 4}), ids = t.integers("ids", {3}, 2);
    CHECK_THROWS_WITH(binary(a, b, Binary::Divide),
                      CONTAINS("[2, 3, 4] and [2, 4] do not broadcast: axis -2 has 3 and 2 indices"));
    CHECK_THROWS_WITH(batchedMatmul(a, b), CONTAINS("a [2, 3, 4] has 4 terms for the 2 of b [2, 4]"));
    CHECK_THROWS_WITH(permute(a, {0, 1, 1}), CONTAINS("[0, 1, 1] is not an order of the axes of [2, 3, 4]"));
    CHECK_THROWS_WITH(slice(a, 1, 2, 2), CONTAINS("indices 2 to 3 of axis 1 are not all within [2, 3, 4]"));
    CHECK_THROWS_WITH(reduce(a, Reduction::Sum, {3}), CONTAINS("a tensor of 3 axes has no axis 3"));
    CHECK_THROWS_WITH(concatenate(std::vector{a, b}, 0), CONTAINS("must agree except on axis 0"));
    CHECK_THROWS_WITH(put(a, ids, 2), CONTAINS("x [2, 3, 4] must be [N...,rows,C] of ids I32 [N...,R], here [3]"));
    CHECK_THROWS_WITH(unary(ids, Unary::Square), CONTAINS("integers must be converted to real numbers first"));
    CHECK_THROWS_WITH(clamp(a, 1, 0), CONTAINS("the lower limit 1 is above the upper limit 0"));
}

// Software Vulkan ends the loops of an invocation, silently, after 65,535 rounds in all.
TEST_CASE("sums over more elements than one kernel may loop over count them all", "[ops][gpu]") {
    Case t;
    constexpr int64_t kRows = 140000;
    const Tensor ones = fill(*t.graph, {kRows, 3}, 1), x = t.real("x", {3});
    const Tensor rows = multiply(broadcast(x, {kRows, 3}), ones);
    t.values["x"] = {1, 2, -4};
    t.expect("all", sum(broadcast(ones, {4, kRows, 3})));
    t.expect("mean", reduce(rows, Reduction::Mean, {0, 1}));
    t.expect("columns", reduce(rows, Reduction::Sum, {0}));
    t.expect("largest", reduce(rows, Reduction::Maximum, {0, 1}));
    for (bool exclusive : {false, true})
        for (bool reverse : {false, true}) {
            const Tensor running = cumulativeSum(rows, 0, {.exclusive = exclusive, .reverse = reverse});
            t.expect(std::string(exclusive ? "exclusive" : "inclusive") + (reverse ? " reverse" : ""),
                     slice(running, 0, reverse ? 0 : kRows - 1, 1));
        }
    const Tensor ids = fill(*t.graph, {kRows}, 0, DType::I32);
    t.expect("put", put(rows, ids, 2));
    // statistics: mean 0 and 1 / deviation 1
    const Tensor statistics = broadcast(t.real("statistics", {4}), {kRows, 4});
    t.values["statistics"] = {0, 1, 0, 0};
    t.expect("norm weight", t.graph->add(kNormWeightGradient, {rows, statistics, ones}));
    constexpr int64_t kTokens = 120000; // embedding_gradient refuses more than 131,072 there
    t.expect("embedding", t.graph->add(kEmbeddingGradient, {slice(ids, 0, 0, kTokens), slice(rows, 0, 0, kTokens)},
                                       {{"vocabulary", 2}, {"residual", 0}}));
    const auto found = runOnDevice(t);
    CHECK(found.at("norm weight") == std::vector<double>{kRows, 2.0 * kRows, -4.0 * kRows});
    CHECK(found.at("embedding") == std::vector<double>{kTokens, 2.0 * kTokens, -4.0 * kTokens, 0, 0, 0});
    CHECK(found.at("all")[0] == 12.0 * kRows);
    CHECK(found.at("mean")[0] == Approx(-1.0 / 3).epsilon(2e-5)); // fp32 sums of 256 and of 547 equal terms
    CHECK(found.at("largest")[0] == 2);
    const std::vector<double> whole{kRows, 2.0 * kRows, -4.0 * kRows},
        butOne{kRows - 1, 2.0 * (kRows - 1), -4.0 * (kRows - 1)};
    CHECK(found.at("columns") == whole);
    CHECK(found.at("inclusive") == whole);
    CHECK(found.at("inclusive reverse") == whole);
    CHECK(found.at("exclusive") == butOne);
    CHECK(found.at("exclusive reverse") == butOne);
    CHECK(found.at("put") == std::vector<double>{kRows, 2.0 * kRows, -4.0 * kRows, 0, 0, 0});
}

TEST_CASE("element-wise kernels reach the end of tensors of more than 65,535 workgroups of 64", "[ops][gpu]") {
    Case t;
    const Shape shape{5, 1 << 20, 4}; // 80 MiB
    const Tensor ones = fill(*t.graph, {1 << 20, 4}, 1);
    Tensor x = broadcast(ones, shape);
    x = binary(scale(add(x, x), 2), ones, Binary::Subtract);
    t.expect("sum", sum(unary(x, Unary::Square)));
    CHECK(runOnDevice(t).at("sum")[0] == Approx(9.0 * 5 * (1 << 22)).epsilon(1e-6)); // every element is 3
}

namespace {

size_t workingOps(const Plan& plan) {
    return static_cast<size_t>(std::ranges::count_if(plan.ops, [](const PlannedOp& op) { return !op.aliasOnly; }));
}

} // namespace

TEST_CASE("slice, concatenate: parts that lie one after another are not copied", "[ops][gpu]") {
    Case t; // a head has 8 x 8 numbers, which is 256 bytes
    const Tensor x = t.real("x", {1, 4, 8, 8});
    const Tensor first = affine(slice(x, 1, 0, 1), 2, 0), rest = affine(slice(x, 1, 1, 3), 1, 1);
    t.expect("y", concatenate(std::array{first, rest}, 1));
    const auto plan = compile(t.graph, t.outputs);
    CHECK(workingOps(*plan) == 2); // the two affine maps
    CHECK(plan->arenaBytes == 4 * 256);
    CpuExecutor cpu(plan);
    cpu.set("x", t.values.at("x"));
    cpu.run(t.step);
    for (const std::vector<double>& y : {cpu.get("y"), runOnDevice(t).at("y")}) {
        REQUIRE(y.size() == 256);
        for (size_t i = 0; i < y.size(); ++i)
            CHECK(y[i] == Approx(t.values.at("x")[i] * (i < 64 ? 2 : 1) + (i < 64 ? 0 : 1)));
    }
}

TEST_CASE("slice, concatenate: what other values share or what lies apart is copied", "[ops][gpu]") {
    Case t;
    const Tensor x = t.real("x", {1, 2, 8, 8}), y = affine(x, 3, 0);
    t.expect("twice", concatenate(std::array{y, y}, 1)); // y lies in one place alone
    t.expect("y", y);
    t.expect("again", concatenate(std::array{affine(x, 1, 2), concatenate(std::array{y, x}, 1)}, 1));
    t.expect("input", slice(x, 1, 1, 1));
    t.expect("columns", concatenate(std::array{slice(x, 3, 0, 4), slice(x, 3, 4, 4)}, 3));
    const auto found = runOnDevice(t);
    const std::vector<double>& values = t.values.at("x");
    for (size_t i = 0; i < 128; ++i) {
        CHECK(found.at("twice")[i] == Approx(3 * values[i]));
        CHECK(found.at("twice")[128 + i] == Approx(3 * values[i]));
        CHECK(found.at("y")[i] == Approx(3 * values[i]));
        CHECK(found.at("again")[i] == Approx(values[i] + 2));
        CHECK(found.at("again")[128 + i] == Approx(3 * values[i]));
        CHECK(found.at("again")[256 + i] == Approx(values[i]));
        CHECK(found.at("columns")[i] == Approx(values[i]));
        if (i < 64) CHECK(found.at("input")[i] == Approx(values[64 + i]));
    }
}

TEST_CASE("slice: a part of a state keeps the old numbers while the state is overwritten", "[ops]") {
    Case t;
    const Tensor state = t.stored("state", {1, 2, 8, 8}), part = slice(state, 1, 1, 1);
    const Tensor after = assign(state, t.real("new", {1, 2, 8, 8}), StepScalar::Beginning);
    t.expect("sum", binary(part, slice(after, 1, 1, 1), Binary::Subtract));
    CpuExecutor cpu(compile(t.graph, t.outputs));
    for (const auto& [name, values] : t.values) cpu.set(name, values);
    cpu.run(t.step);
    for (size_t i = 0; i < 64; ++i)
        CHECK(cpu.get("sum")[i] == Approx(t.values.at("state")[64 + i] - t.values.at("new")[64 + i]));
}
