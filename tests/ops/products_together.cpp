#include "engine/ops/ops.h"
#include "engine/runtime/cpu_executor.h"
#include "engine/runtime/tensor_store.h"
#include "tests/support/device.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

using namespace attn;

namespace {

constexpr std::array<int64_t, 6> kWidths{5, 130, 66, 16, 31, 7}; ///< of the products

/// Products of the same rows, each with a parameter and every other with a bias.
struct Products {
    int64_t rows = 1, K = 256;
    std::vector<Storage> storages;
    bool hasResidual = false; ///< the second product adds the first
};

/// Compares the products with the reference. @return how many kernels of the processor computed them
size_t compare(Device& device, const Products& products, bool usesHost) {
    const auto graph = std::make_shared<Graph>();
    const Tensor x = graph->input("x", {.shape = {products.rows, products.K}});
    std::map<std::string, Tensor> outputs;
    std::vector<std::pair<std::string, Shape>> parameters;
    std::map<std::string, Storage> storages;
    for (size_t i = 0; i < products.storages.size(); ++i) {
        const int64_t N = products.hasResidual ? kWidths[0] : kWidths[i];
        const std::string w = fmt::format("w{}", i), b = fmt::format("b{}", i);
        MatmulOptions options{.scale = 0.1};
        parameters.push_back({w, {N, products.K}});
        storages[w] = products.storages[i];
        if (i % 2 == 0) {
            parameters.push_back({b, {N}});
            options.bias = graph->parameter(b, {N});
            options.activation = Activation::Silu;
        }
        if (products.hasResidual && i == 1) options.residual = outputs.at("y0");
        outputs.insert({fmt::format("y{}", i), matmul(x, graph->parameter(w, {N, products.K}), options)});
    }
    const auto plan = compile(graph, outputs);
    TensorStore store(device);
    store.reserve(parameters, [&](const std::string& name, const Shape&) {
        return storages.contains(name) ? storages.at(name) : Storage::F32;
    });
    KernelTraits traits = device.kernelTraits();
    traits.usesHost = usesHost;
    GpuExecutor executor(device, store, plan, {.traits = traits});
    CpuExecutor reference(plan);
    for (const auto& [name, shape] : parameters) {
        test::writeDense(store, name, test::normals(shape.elements()));
        const std::vector<float> stored = store.read(name);
        reference.set(name, std::vector<double>(stored.begin(), stored.end()));
    }
    const std::vector<double> rows = test::normals(x.shape().elements());
    reference.set("x", rows);
    for (size_t i = 0; i < rows.size(); ++i) executor.input("x")[i] = static_cast<float>(rows[i]);
    executor.run({});
    reference.run({});
    double worst = 0;
    for (const auto& [name, tensor] : outputs) {
        const std::vector<double> actual = test::denseResult(executor, name), expected = reference.get(name);
        for (size_t i = 0; i < expected.size(); ++i)
            worst = std::max(worst, std::abs(actual[i] - expected[i]) / (1 + std::abs(expected[i])));
    }
    CHECK(worst < 5e-5); // float sums of 256 terms of order 1
    return executor.hostOpCount();
}

} // namespace

TEST_CASE("products of the same rows run together, and equal the reference", "[ops][gpu]") {
    test::TestDevice device;
    for (const bool usesHost : device.hostChoices())
        for (const int64_t rows : {1, 3, 4, 5, 33}) {
            INFO(rows << " rows" << (usesHost ? ", processor" : ", shaders"));
            const auto kernels = [&](const std::vector<Storage>& storages) {
                return compare(device, {.rows = rows, .storages = storages}, usesHost);
            };
            for (const Storage storage : kStorages) {
                INFO(storageName(storage));
                CHECK(kernels(std::vector(3, storage)) == (usesHost ? 1 : 0));
            }
            CHECK(kernels({Storage::Q4_K, Storage::F32, Storage::Q8_0}) == (usesHost ? 1 : 0));
            CHECK(kernels(std::vector(6, Storage::Q8_0)) == (usesHost ? 2 : 0)); // four, then two
        }
}

TEST_CASE("a product that adds another one runs after it", "[ops][gpu]") {
    test::TestDevice device;
    for (const bool usesHost : device.hostChoices())
        for (const int64_t rows : {1, 40}) {
            INFO(rows << " rows" << (usesHost ? ", processor" : ", shaders"));
            CHECK(compare(device, {.rows = rows, .storages = std::vector(2, Storage::F32), .hasResidual = true},
                          usesHost) == (usesHost ? 2 : 0));
        }
}
