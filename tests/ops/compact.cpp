#include "engine/ops/ops.h"
#include "engine/runtime/cpu_executor.h"
#include "engine/runtime/tensor_store.h"
#include "tests/support/device.h"

#include <cmath>

using namespace attn;

namespace {

constexpr const char* kWeights = "parameter w";

/// Compares an executor with the reference on the numbers that the stored weights stand for.
void compare(Device& device, const std::shared_ptr<Graph>& graph, Tensor out, Storage storage, bool usesHost) {
    const auto plan = compile(graph, {{"out", out}});
    TensorStore store(device);
    const Shape shape = graph->parameter(kWeights, plan->tensors[plan->ops[0].inputs[1]].type.shape).shape();
    store.reserve({{kWeights, shape}}, [&](const std::string&, const Shape&) { return storage; });
    test::writeDense(store, kWeights, test::normals(shape.elements()));
    KernelTraits traits = device.kernelTraits();
    traits.usesHost = usesHost;
    GpuExecutor executor(device, store, plan, {.traits = traits});
    CpuExecutor reference(plan);
    const std::vector<float> stored = store.read(kWeights);
    reference.set(kWeights, std::vector<double>(stored.begin(), stored.end()));
    for (const PlannedTensor& tensor : plan->tensors) {
        if (tensor.home != Home::Input) continue;
        const Shape& of = tensor.type.shape;
        const std::vector<double> values = test::normals(of.elements());
        if (tensor.type.dtype == DType::I32) {
            std::vector<double> ids;
            for (size_t i = 0; i < values.size(); ++i) {
                ids.push_back(static_cast<double>(static_cast<int64_t>(i * 7) % shape[0]));
                executor.inputIntegers(tensor.name)[i] = static_cast<int32_t>(ids.back());
            }
            reference.set(tensor.name, ids);
            continue;
        }
        reference.set(tensor.name, values);
        for (int64_t i = 0; i < of.elements(); ++i)
            executor.input(tensor.name)[static_cast<size_t>(i / of.columns() * of.rowStride() + i % of.columns())] =
                static_cast<float>(values[static_cast<size_t>(i)]);
    }
    executor.run({});
    reference.run({});
    const std::vector<double> actual = test::denseResult(executor, "out"), expected = reference.get("out");
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(actual[i] - expected[i]) / (1 + std::abs(expected[i])));
    INFO(storageName(storage) << (usesHost ? " processor " : " shader ") << out.shape().text());
    CHECK(worst < 5e-5); // float sums of 512 terms of order 1
}

} // namespace

TEST_CASE("products and tables read weights in every storage", "[ops][gpu]") {
    test::TestDevice device;
    for (const Storage storage : kStorages)
        for (const bool usesHost : device.hostChoices()) {
            for (const int64_t rows : {1, 3, 4, 5, 8, 9, 33, 140})
                for (const int64_t K : {256, 512})
                    for (const int64_t N : {5, 130}) {
                        const auto graph = std::make_shared<Graph>();
                        const Tensor x = graph->input("x", {.shape = {rows, K}});
                        MatmulOptions options{.activation = Activation::Silu, .scale = 0.1};
                        if (rows % 2 == 1) options.bias = graph->input("bias", {.shape = {N}});
                        if (rows > 4) options.residual = graph->input("residual", {.shape = {rows, N}});
                        compare(device, graph, matmul(x, graph->parameter(kWeights, {N, K}), options), storage,
                                usesHost);
                    }
            const auto graph = std::make_shared<Graph>();
            const Tensor ids = graph->input("ids", {.shape = {9}, .dtype = DType::I32});
            compare(device, graph, embedding(ids, graph->parameter(kWeights, {20, 256})), storage, usesHost);
        }
}

TEST_CASE("an operation that reads floats alone gets a copy of compact weights", "[ops][gpu]") {
    test::TestDevice device;
    for (const bool usesHost : device.hostChoices()) {
        const auto graph = std::make_shared<Graph>();
        const Tensor x = graph->input("x", {.shape = {6, 64}});
        compare(device, graph, add(x, graph->parameter(kWeights, {6, 64})), Storage::Q8_0, usesHost);
    }
}

TEST_CASE("a store keeps compact weights in their bytes", "[ops][gpu]") {
    test::TestDevice device;
    TensorStore store(device);
    store.reserve({{"w", {64, 256}}}, [](const std::string&, const Shape&) { return Storage::Q4_0; });
    CHECK(store.entry("w").byteSize == 64 * (128 + 16));
    test::writeDense(store, "w", std::vector<double>(64 * 256, 0.5));
    CHECK(store.read("w") == std::vector<float>(64 * 256, 0.5f)); // -8 times a scale of -1/16
    store.zero("w");
    CHECK(store.read("w") == std::vector<float>(64 * 256));
}
