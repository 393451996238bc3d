#include "engine/ops/catalogue.h"
#include "engine/ops/gradient.h"
#include "engine/ops/training_ops.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/ops/case.h"
#include "tests/support/slope.h"

using namespace attn;
using namespace attn::test;

namespace {

/// Through these no loss flows: they choose, draw, store or are gradients themselves.
const std::set<std::string> kWithoutGradient{"attention_row_statistics",
                                             "pattern_tile",
                                             "lens_statistics",
                                             "lens_tile",
                                             "lens_distances",
                                             "last_row",
                                             "tensor_statistics",
                                             "assign",
                                             "assign_rows",
                                             "paged_attention",
                                             "matmul_plain",
                                             "matmul_transposed",
                                             "activate_gradient",
                                             "swiglu_gradient",
                                             "norm_gradient",
                                             "norm_weight_gradient",
                                             "softmax_gradient",
                                             "embedding_gradient",
                                             "attention_mix_transposed",
                                             "fused_attention_gradient",
                                             "block_attention_gradient",
                                             "block_attention_bias_gradient",
                                             "bucket_attention_gradient",
                                             "cluster_attention_gradient",
                                             "cross_entropy_gradient",
                                             "square_norms",
                                             "clip_factor",
                                             "adam",
                                             "sgd",
                                             "accumulate",
                                             "unary_gradient",
                                             "argmax",
                                             "sort_order",
                                             "inverse_order",
                                             "largest_columns",
                                             "scan_gradient",
                                             "convolve_input_gradient",
                                             "convolve_weight_gradient",
                                             "linear_scan_gradient",
                                             "selective_scan_gradient",
                                             "grouped_matmul_weight_gradient"};

std::map<std::string, Builder> gradientBuilders() {
    std::map<std::string, Builder> all;
    all["embedding"] = [](Case& t) { t.expect("y", embedding(t.integers("ids", {7}, 5), t.real("table", {5, 6}))); };
    all["matmul"] = [](Case& t) {
        const int64_t M = randomSize(6), N = randomSize(9), K = randomSize(9);
        MatmulOptions options{.activation = static_cast<Activation>(randomSize(4) - 1),
                              .scale = 0.5,
                              .keepsArgument = randomSize(2) == 1};
        const Tensor x = t.real("x", {M, K}), w = t.real("w", {N, K});
        if (randomSize(2) == 1) options.bias = t.real("b", {N});
        if (randomSize(2) == 1) options.residual = t.real("r", {M, N});
        t.expect("y", matmul(x, w, options));
    };
    const auto binary = [](Tensor (*op)(Tensor, Tensor)) {
        return [=](Case& t) {
            const Shape shape{randomSize(5), randomSize(9)};
            t.expect("y", op(t.real("a", shape), t.real("b", shape)));
        };
    };
    all["add"] = binary(add);
    all["multiply"] = binary(multiply);
    all["swiglu"] = binary(swiglu);
    all["activate"] = [](Case& t) {
        t.expect("y", activate(t.real("x", {3, 7}), static_cast<Activation>(randomSize(5) - 1)));
    };
    all["scale"] = [](Case& t) { t.expect("y", scale(t.real("x", {3, 7}), -1.5)); };
    all["sum"] = [](Case& t) { t.expect("y", sum(multiply(t.real("x", {3, 7}), t.real("w", {3, 7})))); };
    all["expand"] = [](Case& t) { t.expect("y", expand(t.real("x", {1}), {3, 5})); };
    all["layer_norm"] = [](Case& t) {
        t.expect("y", layerNorm(t.real("x", {4, 9}), t.real("w", {9}), t.real("b", {9}), 1e-5));
    };
    all["rms_norm"] = [](Case& t) { t.expect("y", rmsNorm(t.real("x", {4, 9}), t.real("w", {9}), 1e-5)); };
    all["softmax"] = [](Case& t) { t.expect("y", softmax(t.real("x", {2, 3, 7}))); };
    all["rotary"] = [](Case& t) {
        const auto [q, k] = rotary(t.real("q", {5, 2, 9}), t.real("k", {5, 2, 9}), t.real("table", {6, 4}),
                                   t.integers("positions", {5}, 6), randomSize(2) == 1);
        t.expect("y", randomSize(2) == 1 ? q : multiply(q, k)); // a gradient of one, or of both
        t.values["table"].resize(24);                           // of any numbers: a rotation or not
    };
    all["reshape"] = [](Case& t) { t.expect("y", reshape(t.real("x", {4, 6}), {4, 2, 3})); };
    const auto attention = [](const std::function<Tensor(Case&, const AttentionInputs&, const AttentionRule&)>& build) {
        return [=](Case& t) {
            AttentionRule rule;
            const AttentionInputs in = wholeAttention(t, rule);
            t.expect("y", build(t, in, rule));
        };
    };
    all["attention_scores"] = attention(
        [](Case&, const AttentionInputs& in, const AttentionRule& rule) { return softmax(attentionScores(in, rule)); });
    all["attention_mix"] = attention([](Case& t, const AttentionInputs& in, const AttentionRule&) {
        return attentionMix(t.real("pattern", {in.q.shape()[1], in.q.shape()[0], in.k.shape()[0]}), in.v, in.q);
    });
    all["block_attention"] = [](Case& t) {
        const TileCase tiles = tileCase(t, 9);
        t.expect("y", blockAttention(tiles.inputs, tiles.scale));
    };
    all["channel_mean"] = [](Case& t) { t.expect("y", channelMeanCase(t, 9)); };
    all["bucket_attention"] = [](Case& t) {
        t.expect("y", bucketAttention(bucketCase(t, 20), 0.3, randomSize(2) == 1));
    };
    all["cluster_attention"] = [](Case& t) {
        const bool isCausal = randomSize(2) == 1;
        t.expect("y", clusterAttention(clusterCase(t, 20, isCausal), 3, isCausal));
    };
    all["fused_attention"] = attention([](Case& t, const AttentionInputs& in, const AttentionRule& rule) {
        return fusedAttention(in, t.real("gates", {in.q.shape()[1]}), rule);
    });
    all["cross_entropy"] = [](Case& t) {
        const Tensor targets = t.integers("targets", {6}, 5);
        t.values["targets"][2] = -1;
        t.expect("y",
                 crossEntropy(t.real("logits", {6, 5}), targets, t.real("weights", {6}), randomSize(2) == 1 ? 0 : 0.2));
    };
    all["dropout"] = [](Case& t) { t.expect("y", dropout(t.real("x", {5, 9}), 0.4, 3)); };
    addSequenceGradients(all);
    for (const auto& [name, build] : tensorCases(7))
        if (!kWithoutGradient.contains(name)) all[name] = [build = build](Case& t) { t.expect("y", build(t)); };
    return all;
}

/// Rounding has no slope: the gradient passes through as if it were none. tests/ops/mixed_precision.cpp tests that.
const std::set<std::string> kPassingOn{"narrow", "widen"};

/// Inputs that only steer: nothing flows into them.
bool isFixed(const std::string& name) {
    static const std::set<std::string> kFixed{"table", "gates", "weights",       "direction",    "begins",
                                              "tiles", "bits",  "column begins", "column tiles", "labels"};
    return kFixed.contains(name);
}

void check(const std::string& op, const Builder& build) {
    Case t;
    build(t);
    const Tensor y = t.outputs.at("y");
    const Tensor loss = sum(multiply(y, t.real("direction", y.shape())));
    std::vector<std::string> names;
    std::vector<Tensor> sources;
    for (const auto& [name, values] : t.values) {
        const bool isTable = name == "table" && op == "embedding";
        uint32_t id = 0;
        while (t.graph->node(id).name != name) ++id;
        const Tensor source{t.graph.get(), id, 0};
        if (source.type().dtype == DType::I32 || (isFixed(name) && !isTable)) continue;
        names.push_back(name);
        sources.push_back(source);
    }
    REQUIRE_FALSE(sources.empty());
    const std::vector<Tensor> gradients = gradient(loss, sources);
    std::map<std::string, Tensor> outputs{{"loss", loss}};
    for (size_t i = 0; i < names.size(); ++i)
        if (gradients[i]) outputs["d " + names[i]] = gradients[i];
    const auto plan = compile(t.graph, outputs);
    CpuExecutor executor(plan, {.poisonArena = true, .shuffleSeed = 3});
    const auto isPlanned = [&](const std::string& name) {
        return std::ranges::any_of(plan->tensors, [&](const auto& tensor) { return tensor.name == name; });
    };
    const auto lossNow = [&] {
        executor.run(t.step);
        return executor.get("loss")[0];
    };
    std::erase_if(names, [&](const std::string& name) { return !isPlanned(name); });
    for (const auto& [name, values] : t.values)
        if (isPlanned(name)) executor.set(name, values);
    lossNow();
    std::map<std::string, std::vector<double>> found;
    for (const std::string& name : names)
        if (outputs.contains("d " + name)) found[name] = executor.get("d " + name);
    for (const std::string& name : names) {
        std::vector<double>& values = t.values[name];
        for (int trial = 0; trial < 8; ++trial) {
            const auto at = static_cast<size_t>(randomSize(static_cast<int64_t>(values.size())) - 1);
            const double difference = slopeOf(values, at, [&] {
                executor.set(name, values);
                return lossNow();
            });
            const double derivative = found.contains(name) ? found[name][at] : 0;
            INFO(op << ": d loss / d " << name << "[" << at << "]");
            CHECK(std::abs(derivative - difference) <= 1e-6 * (1 + std::abs(difference)));
        }
    }
}

} // namespace

TEST_CASE("every op has a gradient that is tested, or is named as having none", "[ops]") {
    const auto all = gradientBuilders();
    for (const Op* op : opCatalogue()) {
        INFO(op->name);
        const std::string name(op->name);
        CHECK((op->gradient != nullptr) == (all.contains(name) || kPassingOn.contains(name)));
        CHECK((op->gradient == nullptr) == kWithoutGradient.contains(name));
    }
}

TEST_CASE("every gradient equals central finite differences in double", "[ops]") {
    for (const auto& [op, build] : gradientBuilders())
        for (int round = 0; round < 4; ++round) check(op, build);
}

TEST_CASE("gradient: a tensor used twice gets the sum, one that is not used gets none", "[ops]") {
    Case t;
    const Tensor x = t.real("x", {2, 3}), unused = t.real("unused", {4});
    const Tensor loss = sum(add(multiply(x, x), scale(x, 3)));
    const auto gradients = gradient(loss, std::vector{x, unused});
    CHECK_FALSE(gradients[1]);
    CpuExecutor executor(compile(t.graph, {{"d", gradients[0]}}));
    executor.set("x", t.values["x"]);
    executor.run({});
    for (size_t i = 0; i < 6; ++i) CHECK(executor.get("d")[i] == Approx(2 * t.values["x"][i] + 3));
}

TEST_CASE("gradient: refuses what has none and what is not one number", "[ops]") {
    Case t;
    const Tensor x = t.real("x", {2, 3});
    CHECK_THROWS_WITH(gradient(x, std::vector{x}), CONTAINS("only a single number has a gradient, not [2, 3]"));
    CHECK_THROWS_WITH(gradient(sum(lastRow(x)), std::vector{x}), CONTAINS("\"last_row\" has no gradient"));
}

TEST_CASE("channel_mean: the memory of its gradient grows with the tokens, not with their pairs", "[ops]") {
    const auto bytes = [](int64_t tokens) {
        Case t;
        const Tensor k = t.real("k", {1, 2, tokens, 8}), v = t.real("v", {1, 2, tokens, 8}),
                     table = t.real("w", {1, 1, 63});
        const Tensor y =
            channelMean({.k = k, .v = v, .table = table, .window = 32, .behind = tokens, .gradientRows = 32}, tokens);
        const auto gradients = gradient(sum(y), std::vector{k, v, table});
        return static_cast<double>(
            compile(t.graph, {{"k", gradients[0]}, {"v", gradients[1]}, {"w", gradients[2]}})->arenaBytes);
    };
    CHECK(bytes(1024) < 2.2 * bytes(512));
    CHECK(bytes(1024) < 4.0 * 1024 * 1024); // of one matrix of cells of one head
}
