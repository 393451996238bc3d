#include "engine/runtime/tensor_store.h"

#include "engine/core/error.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/gpu_executor.h"
#include "tests/support/catch.h"
#include "tests/support/failing_vulkan.h"

#include <algorithm>
#include <array>
#include <numeric>

using namespace attn;

namespace {

std::vector<float> numbersFrom(float first, size_t count) {
    std::vector<float> numbers(count);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

} // namespace

TEST_CASE("tensor store: what reads compact weights as floats reads those that took their place", "[inference][gpu]") {
    const auto device = Device::shared({});
    TensorStore store(*device), other(*device);
    for (TensorStore* each : {&store, &other})
        each->reserve({{"w", {6, 64}}}, [](const std::string&, const Shape&) { return Storage::F16; });
    const std::vector<float> first = numbersFrom(1, 384), second = numbersFrom(500, 384), third = numbersFrom(900, 384);
    store.writeDense("w", first); // whole numbers below 2,048 are exact in 16 bits
    const auto graph = std::make_shared<Graph>();
    const Tensor x = graph->input("x", {.shape = {6, 64}});
    GpuExecutor executor(
        *device, store, compile(graph, std::map<std::string, Tensor>{{"sum", add(x, graph->parameter("w", {6, 64}))}}));
    const auto read = [&] {
        std::ranges::fill(executor.input("x"), 0.0f);
        executor.run({});
        return std::vector<float>(executor.result("sum").begin(), executor.result("sum").end());
    };
    CHECK(read() == first);
    store.writeDense("w", second);
    CHECK(read() == second);
    other.writeDense("w", third);
    store.copyFrom(other, std::array<std::string, 1>{"w"});
    CHECK(read() == third);
    store.zero("w");
    CHECK(read() == std::vector<float>(384));
}

TEST_CASE("tensor store: states that find no room stay as they were, and others give theirs back", "[inference][gpu]") {
    const auto device = Device::shared({});
    TensorStore store(*device);
    const std::vector<float> numbers = numbersFrom(1, 32);
    store.resize({{"a", {8, 4}}, {"b", {8, 4}}});
    store.writeDense("a", numbers);
    const uint64_t before = store.bytes();
    CHECK_THROWS_AS(store.resize({{"a", {16, 4}}, {"c", {4, 4}}, {"b", {int64_t{1} << 44, 4}}}), Error);
    CHECK(store.bytes() == before);
    CHECK(store.read("a") == numbers);
    CHECK(store.entry("b").shape == Shape{8, 4});
    CHECK_FALSE(store.contains("c"));
    store.resize({{"a", {16, 4}}, {"c", {4, 4}}});
    CHECK(store.bytes() > before);
    store.resize({{"a", {8, 4}}});
    CHECK(store.read("a") == numbers);
    store.release({{"b", {8, 4}}, {"c", {4, 4}}});
    CHECK_FALSE(store.contains("b"));
    CHECK(store.bytes() < before);
    CHECK(store.read("a") == numbers);
}

TEST_CASE("tensor store: on a full device, states that grow and shrink together all stay as they were",
          "[inference][gpu]") {
    const auto device = Device::shared({});
    TensorStore store(*device);
    const std::vector<float> numbers = numbersFrom(1, 32);
    store.resize({{"grows", {8, 4}}, {"shrinks", {8, 4}}, {"also grows", {8, 4}}});
    for (const char* name : {"grows", "shrinks", "also grows"}) store.writeDense(name, numbers);
    const auto resize = [&] {
        store.resize({{"grows", {16, 4}}, {"shrinks", {2, 4}}, {"is new", {4, 4}}, {"also grows", {16, 4}}});
    };
    const int enough = test::onFullDevice(resize, [&] {
        for (const char* name : {"grows", "shrinks", "also grows"}) {
            INFO(name);
            CHECK(store.entry(name).shape == Shape{8, 4});
            CHECK(store.read(name) == numbers);
        }
        CHECK_FALSE(store.contains("is new"));
    });
    CHECK(enough == 3);
    const auto rows = [&](const char* name, size_t count, size_t kept) {
        std::vector<float> expected(4 * count, 0.0f);
        std::copy_n(numbers.begin(), 4 * kept, expected.begin());
        CHECK(store.read(name) == expected);
    };
    rows("grows", 16, 8);
    rows("also grows", 16, 8);
    rows("shrinks", 2, 2);
    rows("is new", 4, 0);
    store.resize({{"shrinks", {8, 4}}}); // what it has lost does not come back
    rows("shrinks", 8, 2);
}
