#include "engine/ops/ops.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/support/device.h"

// The shapes of everything to come, proved on tiny graphs before features lean on them.

using namespace attn;

namespace {

std::shared_ptr<const Plan> planOf(const std::shared_ptr<Graph>& graph, const std::map<std::string, Tensor>& outputs) {
    return compile(graph, outputs);
}

StepParams stepAt(uint32_t offset, uint32_t count) {
    StepParams step;
    step[StepScalar::CacheOffset] = offset;
    step[StepScalar::QueryLength] = count;
    step[StepScalar::KeyLength] = offset + count;
    return step;
}

/// A one-head attention over a growing cache: identity projections, so that its values are easy to foresee.
struct CachedAttention {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    std::shared_ptr<const Plan> plan;

    explicit CachedAttention(int64_t T, int64_t S = 64) {
        const auto live = T > 1 ? std::optional(StepScalar::QueryLength) : std::nullopt;
        const Tensor x = graph->input("x", {.shape = {T, 1, 4}, .liveRows = live});
        const Tensor position = graph->input("position", {.shape = {T}, .dtype = DType::I32, .liveRows = live});
        const Tensor keys = assign(graph->state("keys", {.shape = {S, 1, 4}, .liveRows = StepScalar::KeyLength}), x,
                                   StepScalar::CacheOffset);
        const Tensor positions =
            assign(graph->state("positions", {.shape = {S}, .dtype = DType::I32, .liveRows = StepScalar::KeyLength}),
                   position, StepScalar::CacheOffset);
        const AttentionInputs inputs{.q = x, .k = keys, .v = keys, .queryPosition = position, .keyPosition = positions};
        plan = planOf(graph, {{"z", fusedAttention(inputs, graph->input("gates", {.shape = {1}}), {})},
                              {"keys", keys},
                              {"positions", positions}});
    }
};

void feed(GpuExecutor& executor, uint32_t offset, uint32_t count) {
    executor.input("gates")[0] = 1;
    for (uint32_t t = 0; t < count; ++t) {
        executor.inputIntegers("position")[t] = static_cast<int32_t>(offset + t);
        for (uint32_t d = 0; d < 4; ++d) executor.input("x")[t * 4 + d] = d == (offset + t) % 4 ? 2.0f : 0.0f;
    }
    executor.run(stepAt(offset, count));
}

} // namespace

TEST_CASE("seam: a cache grows step by step with nothing recorded again", "[seams][gpu]") {
    test::TestDevice device;
    TensorStore store(device);
    const CachedAttention one(1), many(16);
    test::reserveSources(store, *one.plan);
    GpuExecutor step(device, store, one.plan), prefill(device, store, many.plan);
    const uint64_t recordings = GpuExecutor::recordings();
    for (uint32_t t = 0; t < 20; ++t) feed(step, t, 1);
    const std::vector<double> grown = test::denseResult(step, "z");
    feed(prefill, 0, 16); // another plan over the same state
    feed(prefill, 16, 4);
    const std::vector<double> together = test::denseResult(prefill, "z");
    for (size_t d = 0; d < 4; ++d) CHECK(together[3 * 4 + d] == Approx(grown[d]).margin(1e-6));
    CHECK(grown[3] > 0.9); // key 19 % 4 = 3 matches itself and 4 earlier ones
    CHECK(GpuExecutor::recordings() == recordings);
}

TEST_CASE("seam: a gate changes the next step without planning", "[seams][gpu]") {
    test::TestDevice device;
    TensorStore store(device);
    const CachedAttention one(1);
    test::reserveSources(store, *one.plan);
    GpuExecutor executor(device, store, one.plan);
    feed(executor, 0, 1);
    const double whole = test::denseResult(executor, "z")[0];
    const uint64_t recordings = GpuExecutor::recordings();
    executor.input("gates")[0] = 0.25f;
    executor.run(stepAt(0, 1));
    CHECK(test::denseResult(executor, "z")[0] == Approx(0.25 * whole));
    CHECK(GpuExecutor::recordings() == recordings);
}

TEST_CASE("seam: segment memory is read before this segment overwrites it", "[seams][gpu]") {
    test::TestDevice device;
    TensorStore store(device);
    const auto graph = std::make_shared<Graph>();
    const Tensor segment = graph->input("segment", {.shape = {4, 8}});
    const Tensor memory = graph->state("memory", {.shape = {4, 8}});
    const Tensor kept = assign(memory, segment, StepScalar::CacheOffset);
    const Tensor mixed = add(memory, segment); // built after the assign, yet sees the previous segment
    const auto plan = planOf(graph, {{"mixed", mixed}, {"memory", kept}});
    test::reserveSources(store, *plan);
    GpuExecutor executor(device, store, plan);
    for (float round : {1.0f, 10.0f, 100.0f}) {
        std::ranges::fill(executor.input("segment"), round);
        executor.run({});
        CHECK(test::denseResult(executor, "mixed").front() == Approx(round + (round > 1 ? round / 10 : 0)));
    }
}

TEST_CASE("seam: top-k chooses which rows are gathered", "[seams][gpu]") {
    test::TestDevice device;
    TensorStore store(device);
    const auto graph = std::make_shared<Graph>();
    const Tensor scores = graph->input("scores", {.shape = {1, 9}});
    const TopK top = topK(scores, 3);
    const Tensor rows = embedding(reshape(top.indices, {3}), graph->input("table", {.shape = {9, 5}}));
    const auto plan = planOf(graph, {{"rows", rows}, {"indices", top.indices}});
    GpuExecutor executor(device, store, plan);
    for (size_t i = 0; i < 9; ++i) {
        executor.input("scores")[i] = static_cast<float>(i * 5 % 9);
        for (size_t c = 0; c < 5; ++c) executor.input("table")[i * 8 + c] = static_cast<float>(10 * i + c);
    }
    executor.run({});
    CHECK(test::denseResult(executor, "indices") == std::vector<double>{7, 5, 3}); // scores 8, 7, 6
    CHECK(test::denseResult(executor, "rows")[5] == 50);
}

TEST_CASE("seam: a matrix over 128 MiB is one texel view", "[seams][gpu]") {
    test::TestDevice device;
    TensorStore store(device);
    const auto graph = std::make_shared<Graph>();
    constexpr int64_t V = 34'000, C = 1024; // 139 MB
    const Tensor table = graph->parameter("table", {V, C});
    const Tensor x = embedding(graph->input("ids", {.shape = {2}, .dtype = DType::I32}), table);
    const auto plan = planOf(graph, {{"rows", x}, {"logits", matmul(x, table)}});
    test::reserveSources(store, *plan);
    REQUIRE(store.entry("table").byteSize > 128u << 20);
    store.write("table", [](int64_t firstRow, std::span<float> rows) {
        for (size_t i = 0; i < rows.size(); ++i) {
            const int64_t row = firstRow + static_cast<int64_t>(i) / C, column = static_cast<int64_t>(i) % C;
            rows[i] = column == row % C ? 1.0f + static_cast<float>(row / C) : 0.0f;
        }
    });
    GpuExecutor executor(device, store, plan);
    executor.inputIntegers("ids")[0] = 33'999;
    executor.inputIntegers("ids")[1] = 5;
    executor.run({});
    const auto logits = executor.result("logits");
    CHECK(logits[33'999] == Approx(34.0 * 34.0)); // row 33,999 lies beyond the first 128 MiB
    CHECK(logits[33'998] == 0);
    CHECK(logits[static_cast<size_t>(V) + 5] == Approx(1));
}

TEST_CASE("seam: with no live rows a live grid launches nothing", "[seams][gpu]") {
    test::TestDevice device;
    TensorStore store(device);
    const auto graph = std::make_shared<Graph>();
    const Tensor q = graph->input("q", {.shape = {8, 1, 4}, .liveRows = StepScalar::QueryLength});
    const Tensor positions = graph->input("positions", {.shape = {8}, .dtype = DType::I32});
    const Tensor window = graph->input("window", {.shape = {8}, .dtype = DType::I32});
    const AttentionInputs inputs{.q = q, .k = q, .v = q, .queryPosition = positions, .keyPosition = positions};
    const auto plan = planOf(graph, {{"statistics", attentionRowStatistics(inputs, window, {})}});
    GpuExecutor executor(device, store, plan);
    executor.inputIntegers("window")[1] = 8;
    for (size_t i = 0; i < 8; ++i) executor.inputIntegers("positions")[i] = static_cast<int32_t>(i);
    executor.run(stepAt(0, 8));
    const auto before = test::denseResult(executor, "statistics");
    std::ranges::fill(executor.input("q"), 3.0f);
    executor.run(stepAt(0, 0)); // everyone has halted: the grid is zero, the old values stay
    CHECK(test::denseResult(executor, "statistics") == before);
    executor.run(stepAt(0, 8));
    CHECK(test::denseResult(executor, "statistics") != before);
}

TEST_CASE("seam: the order between two barriers does not matter, and nothing reads what no op wrote", "[seams]") {
    const auto graph = std::make_shared<Graph>();
    Tensor x = graph->input("x", {.shape = {3, 6}});
    Tensor sum = x;
    for (int i = 0; i < 12; ++i) { // branches that live for different times share the arena
        const Tensor branch = activate(add(sum, x), Activation::GeluTanh);
        sum =
            i % 3 == 0 ? multiply(branch, activate(x, Activation::Silu)) : add(branch, activate(sum, Activation::Relu));
    }
    const auto plan = planOf(graph, {{"sum", sum}});
    std::vector<double> values(18);
    std::iota(values.begin(), values.end(), -4.0);
    std::vector<double> expected;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        CpuExecutor executor(plan, {.poisonArena = true, .shuffleSeed = seed});
        executor.set("x", values);
        executor.run({});
        if (seed == 0) expected = executor.get("sum");
        CHECK(executor.get("sum") == expected);
        for (double value : executor.get("sum")) CHECK(std::isfinite(value));
    }
    const auto spacious = compile(graph, {{"sum", sum}}, {}, {.reuseArena = false});
    CHECK(plan->arenaBytes < spacious->arenaBytes / 3);
}
