#include "engine/ops/catalogue.h"
#include "engine/ops/lens.h"
#include "engine/ops/tensor_statistics.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/ops/paged_case.h"
#include "tests/support/device.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::test;

namespace {

/// Rows of axis 0 that are defined this step.
int64_t liveRows(const TensorType& type, const StepParams& step) {
    return type.liveRows ? std::min<int64_t>(type.shape[0], step[*type.liveRows]) : type.shape[0];
}

void compare(test::TestDevice& device, const Case& test, std::optional<KernelTraits> traits = {}) {
    const auto plan = compile(test.graph, test.outputs);
    CpuExecutor cpu(plan, {.poisonArena = true, .shuffleSeed = 5});
    TensorStore store(device);
    test::reserveSources(store, *plan);
    GpuExecutor gpu(device, store, plan, {.traits = traits});
    for (const PlannedTensor& tensor : plan->tensors) {
        if (tensor.home == Home::Arena) continue;
        const auto& list = test.values.at(tensor.name);
        cpu.set(tensor.name, list);
        if (tensor.home != Home::Input) {
            test::writeDense(store, tensor.name, list);
            continue;
        }
        writeInput(gpu, tensor.name, tensor.type, list);
    }
    cpu.run(test.step);
    gpu.run(test.step);
    for (const auto& [name, tensor] : test.outputs) {
        const TensorType& type = tensor.type();
        const bool isState = plan->result(name).home != Home::Arena;
        const std::vector<double> expected = cpu.get(name);
        std::vector<double> actual;
        if (isState) {
            for (float value : store.read(plan->result(name).name)) actual.push_back(static_cast<double>(value));
        } else {
            actual = test::denseResult(gpu, name);
        }
        const auto defined = static_cast<size_t>(type.shape.elements() / type.shape[0] *
                                                 (isState ? type.shape[0] : liveRows(type, test.step)));
        double worst = 0;
        for (size_t i = 0; i < defined; ++i) {
            const double tolerance = 2e-5 * (1 + std::abs(expected[i])); // fp32 sums of up to 512 terms of order 1
            worst = std::max(worst, std::isfinite(actual[i]) ? std::abs(actual[i] - expected[i]) / tolerance : 1e9);
        }
        INFO(test.op << " " << name << " " << type.shape.text());
        CHECK(worst <= 1);
        if (isState) continue;
        // The padding of every defined row is zero: vec4 readers rely on it.
        const int64_t stride = type.shape.rowStride(), columns = type.shape.columns();
        const auto rows = static_cast<int64_t>(defined) / columns;
        for (int64_t row = 0; row < rows && type.dtype == DType::F32; ++row)
            for (int64_t c = columns; c < stride; ++c)
                CHECK(gpu.result(name)[static_cast<size_t>(row * stride + c)] == 0.0f);
    }
}

} // namespace

std::map<std::string, Builder> attn::test::allBuilders() {
    std::map<std::string, Builder> all;
    const auto live = [](Case& test, int64_t T) {
        test.step[StepScalar::QueryLength] = static_cast<uint32_t>(randomSize(T));
        return randomSize(2) == 1 ? std::optional(StepScalar::QueryLength) : std::nullopt;
    };
    all["embedding"] = [=](Case& t) {
        const int64_t T = randomSize(40), V = randomSize(70), C = randomSize(130);
        t.expect("out", embedding(t.integers("ids", {T}, V, live(t, T)), t.real("table", {V, C})));
    };
    all["matmul"] = [=](Case& t) {
        const int64_t M = randomSize(3) == 1 ? 1 : randomSize(70), N = randomSize(140), K = randomSize(200);
        MatmulOptions options{.activation = static_cast<Activation>(randomSize(5) - 1),
                              .scale = 0.25,
                              .keepsArgument = randomSize(3) == 1};
        const Tensor x = t.real("x", {M, K}, live(t, M), 0.3), w = t.real("w", {N, K}, {}, 0.3);
        if (randomSize(2) == 1) options.bias = t.real("b", {N});
        if (randomSize(2) == 1) options.residual = t.real("r", {M, N}, x.type().liveRows);
        const Tensor out = matmul(x, w, options);
        t.expect("out", out);
        if (options.keepsArgument) t.expect("argument", {out.graph, out.node, 1});
    };
    const auto binary = [=](Tensor (*op)(Tensor, Tensor)) {
        return [=](Case& t) {
            const int64_t M = randomSize(40), N = randomSize(90);
            const auto rows = live(t, M);
            t.expect("out", op(t.real("a", {M, N}, rows), t.real("b", {M, N}, rows)));
        };
    };
    all["add"] = binary(add);
    all["multiply"] = binary(multiply);
    all["swiglu"] = binary(swiglu);
    all["activate"] = [=](Case& t) {
        const int64_t M = randomSize(40), N = randomSize(90);
        t.expect("out", activate(t.real("x", {M, N}, live(t, M), 3), static_cast<Activation>(randomSize(5) - 1)));
    };
    const auto norm = [=](Case& t, bool centres) {
        const int64_t M = randomSize(40), N = randomSize(300);
        const Tensor x = t.real("x", {M, N}, live(t, M)), w = t.real("w", {N});
        const Tensor out = centres ? layerNorm(x, w, t.real("b", {N}), 1e-5) : rmsNorm(x, w, 1e-5);
        t.expect("out", out);
        t.expect("statistics", {out.graph, out.node, 1});
    };
    all["layer_norm"] = [=](Case& t) { norm(t, true); };
    all["rms_norm"] = [=](Case& t) { norm(t, false); };
    all["softmax"] = [=](Case& t) {
        const int64_t H = randomSize(4), M = randomSize(30), N = randomSize(200);
        const Tensor x = t.real("x", {H, M, N}, {}, 3);
        for (double& value : t.values["x"])
            if (randomSize(3) == 1) value = static_cast<double>(static_cast<float>(kMasked));
        t.expect("out", softmax(x));
    };
    all["rotary"] = [=](Case& t) {
        const int64_t T = randomSize(30), H = randomSize(5), R = 2 * randomSize(8), D = R + randomSize(9) - 1,
                      P = randomSize(50);
        const auto rows = live(t, T);
        const auto [q, k] = rotary(t.real("q", {T, H, D}, rows), t.real("k", {T, randomSize(5), D}, rows),
                                   t.real("table", {P, R}), t.integers("pos", {T}, P, rows), randomSize(2) == 1);
        t.expect("rotated q", q);
        t.expect("rotated k", k);
    };
    const auto attention = [=](const std::function<void(Case&, const AttentionInputs&, const AttentionRule&)>& build) {
        return [=](Case& t) {
            const int64_t groups = randomSize(3), heads = groups * randomSize(3),
                          D = randomSize(3) == 1 ? randomSize(40) : 4 * randomSize(16);
            const int64_t T = randomSize(3) == 1 ? 1 : randomSize(40), S = randomSize(90);
            const AttentionRule rule{
                .scale = 0.3, .causal = randomSize(3) > 1, .window = randomSize(2) == 1 ? randomSize(20) : 0};
            build(t, attentionCase(t, T, S, heads, groups, D, randomSize(2) == 1), rule);
        };
    };
    all["attention_scores"] = attention([](Case& t, const AttentionInputs& in, const AttentionRule& rule) {
        if (in.q.type().liveRows)
            t.step[StepScalar::QueryLength] = static_cast<uint32_t>(in.q.shape()[0]); // other rows are undefined
        t.expect("out", attentionScores(in, rule));
    });
    all["attention_mix"] = attention([](Case& t, const AttentionInputs& in, const AttentionRule&) {
        t.expect("out",
                 attentionMix(t.real("pattern", {in.q.shape()[1], in.q.shape()[0], in.k.shape()[0]}), in.v, in.q));
    });
    all["block_attention"] = [](Case& t) {
        const TileCase tiles = tileCase(t, 100);
        const Tensor z = blockAttention(tiles.inputs, tiles.scale);
        t.expect("out", z);
        t.expect("statistics", {z.graph, z.node, 1});
    };
    all["channel_mean"] = [](Case& t) { t.expect("out", channelMeanCase(t, 200)); };
    all["bucket_attention"] = [](Case& t) {
        t.expect("out", bucketAttention(bucketCase(t, 150), 0.3, randomSize(2) == 1));
    };
    all["cluster_attention"] = [](Case& t) {
        const bool isCausal = randomSize(2) == 1;
        const Tensor z = clusterAttention(clusterCaseOnSphere(t, 150, isCausal), 3, isCausal);
        t.expect("out", z);
        t.expect("statistics", {z.graph, z.node, 1});
        t.expect("counts", {z.graph, z.node, 2});
    };
    all["fused_attention"] = [=](Case& t) {
        AttentionRule rule;
        if (randomSize(3) == 1) {
            const AttentionInputs in = wholeAttention(t, rule);
            const Tensor z = fusedAttention(in, t.real("gates", {in.q.shape()[1]}), rule);
            t.expect("out", z);
            t.expect("statistics", {z.graph, z.node, 1});
        } else {
            attention([](Case& c, AttentionInputs in, const AttentionRule& r) {
                const int64_t H = in.q.shape()[1], farthest = in.k.shape()[0] + 4; // as attentionCase() places them
                if (randomSize(2) == 1) in.bias = c.real("bias", {H, 2 * farthest + 1});
                c.expect("out", fusedAttention(in, c.real("gates", {H}), r));
            })(t);
        }
    };
    all["paged_attention"] = [=](Case& t) {
        const auto [in, sequences, rule] = pagedCase(t);
        t.expect("out", pagedAttention(in, sequences, t.real("gates", {in.q.shape()[1]}), rule));
    };
    all["attention_row_statistics"] = attention([](Case& t, const AttentionInputs& in, const AttentionRule& rule) {
        if (in.q.type().liveRows) t.step[StepScalar::QueryLength] = static_cast<uint32_t>(in.q.shape()[0]);
        const Tensor window = t.integers("window", {8}, 1);
        t.values["window"] = {0, static_cast<double>(in.q.shape()[0]), 0, 0, 0, 0, 0, 0};
        t.expect("out", attentionRowStatistics(in, window, rule));
    });
    all["pattern_tile"] = attention([](Case& t, const AttentionInputs& in, const AttentionRule& rule) {
        t.step[StepScalar::QueryLength] = static_cast<uint32_t>(in.q.shape()[0]);
        t.step[StepScalar::KeyLength] = static_cast<uint32_t>(in.k.shape()[0]);
        const int64_t T = in.q.shape()[0], S = in.k.shape()[0], H = in.q.shape()[1], size = 12;
        const int64_t aggregate = randomSize(3) - 1;
        const auto d = [](int64_t value) { return static_cast<double>(value); };
        const Tensor window = t.integers("window", {8}, 1);
        t.values["window"] = {0, d(T), 0, d(S), d(std::min(size, T)), d(std::min(size, S)), 0, d(aggregate)};
        t.expect("out",
                 patternTile(in, attentionRowStatistics(in, window, rule), window, rule, aggregate == 0 ? H : 1, size));
    });
    enum class Lens { Statistics, Distances, Tile };
    const auto lens = [attention](Lens what) {
        return attention([what](Case& t, const AttentionInputs& in, const AttentionRule& wanted) {
            t.step[StepScalar::QueryLength] = static_cast<uint32_t>(in.q.shape()[0]);
            t.step[StepScalar::KeyLength] = static_cast<uint32_t>(in.k.shape()[0]);
            AttentionRule rule = wanted;
            rule.sequence = 0;
            const auto T = static_cast<int32_t>(in.q.shape()[0]), S = static_cast<int32_t>(in.k.shape()[0]);
            const auto below = [](int32_t count) { return static_cast<int32_t>(randomSize(count)) - 1; };
            const auto H = static_cast<int32_t>(in.q.shape()[1]);
            LensBand band{.head = below(H), .firstRow = below(T)};
            band.heads = what == Lens::Distances ? 1 : 1 + below(H - band.head);
            band.rowStep = 1 + below(3);
            band.rowCount = (T - band.firstRow + band.rowStep - 1) / band.rowStep;
            band.rowLevel = below(5);
            band.columnLevel = below(7);
            band.firstKey = below(S);
            band.firstSeen = below(3);
            band.columns = (((S - band.firstKey - 1) >> band.columnLevel) + 4) & ~3;
            const Tensor slopes = t.real("slopes", {in.q.shape()[1]});
            const auto words = [&](const char* name, const std::array<int32_t, 16>& values) {
                const Tensor view = t.integers(name, {16}, 1);
                t.values[name] = {values.begin(), values.end()};
                return view;
            };
            const Tensor statistics =
                lensStatistics(in, slopes, words("rows", band.statisticsWords()), rule, band.rowCount, band.heads);
            if (what == Lens::Statistics) return t.expect("out", statistics);
            if (what == Lens::Distances)
                return t.expect("out", lensDistances(in, slopes, statistics, words("a", band.statisticsWords()), rule,
                                                     band.rowCount));
            for (const Pooling pooling : {Pooling::Maximum, Pooling::Mean})
                t.expect(pooling == Pooling::Mean ? "mean" : "largest",
                         lensTile(in, slopes, statistics, words(pooling == Pooling::Mean ? "a" : "b", band.tileWords()),
                                  rule, pooling, band.columnLevel < 2, band.rows(), band.columns, band.heads));
        });
    };
    all["lens_statistics"] = lens(Lens::Statistics);
    all["lens_distances"] = lens(Lens::Distances);
    all["lens_tile"] = lens(Lens::Tile);
    all["last_row"] = [=](Case& t) {
        const int64_t T = randomSize(40), C = randomSize(90);
        t.expect("out", lastRow(t.real("x", {T, C}, live(t, T))));
    };
    all["reshape"] = [](Case& t) {
        const int64_t T = randomSize(20), H = randomSize(6), D = randomSize(9);
        t.expect("out", reshape(activate(t.real("x", {T, H * D}), Activation::None),
                                {T, H, D})); // an input itself is no result
    };
    all["assign"] = [=](Case& t) {
        const int64_t T = randomSize(10), S = T + randomSize(30), C = randomSize(9);
        const auto rows = live(t, T);
        t.step[StepScalar::CacheOffset] = static_cast<uint32_t>(randomSize(S) - 1);
        t.real("state", {S, 2, C});
        t.values["cache"] = t.values["state"];
        t.expect("out", assign(t.graph->state("cache", {.shape = {S, 2, C}}), t.real("value", {T, 2, C}, rows),
                               StepScalar::CacheOffset));
    };
    all["assign_rows"] = [=](Case& t) {
        const int64_t T = randomSize(10), S = T + randomSize(30), C = randomSize(9), first = randomSize(S);
        const bool isFlat = randomSize(3) == 1;
        const auto rows = live(t, T);
        const Tensor places = t.integers("rows", {T}, 1);
        for (int64_t i = 0; i < T; ++i) // different ones, some outside the state
            t.values["rows"][static_cast<size_t>(i)] = static_cast<double>(randomSize(9) > 1    ? (first + S - i) % S
                                                                           : randomSize(2) == 1 ? -1 - i
                                                                                                : S + i);
        const Tensor value = t.real("value", isFlat ? Shape{T} : Shape{T, 2, C}, rows);
        t.expect("out", assignRows(t.stored("cache", isFlat ? Shape{S} : Shape{S, 2, C}), value, places));
    };
    all["top_k"] = [=](Case& t) {
        const int64_t M = randomSize(20), N = randomSize(60);
        const TopK top = topK(t.real("x", {M, N}, live(t, M)), randomSize(N));
        t.expect("values", top.values);
        t.expect("indices", top.indices);
    };
    all["tensor_statistics"] = [live](Case& t) {
        const int64_t T = randomSize(5);
        const auto rows = live(t, T);
        t.expect("out", tensorStatistics(t.real("x", {T, randomSize(60), randomSize(90)}), rows));
    };
    addTrainingBuilders(all);
    addSequenceBuilders(all);
    for (const auto& [name, build] : tensorCases(40))
        all[name] = [build = build](Case& t) { t.expect("out", build(t)); };
    return all;
}

TEST_CASE("every op of the catalogue has cases in the sweep", "[ops]") {
    const auto all = allBuilders();
    for (const Op* op : opCatalogue()) CHECK(all.contains(std::string(op->name)));
    CHECK(all.size() == opCatalogue().size());
}

TEST_CASE("every op on the device equals its reference over random shapes, odd sizes and size 1", "[ops][gpu]") {
    test::TestDevice device;
    for (const bool usesHost : device.hostChoices()) {
        KernelTraits traits = device.kernelTraits();
        traits.usesHost = usesHost;
        for (const auto& [name, build] : allBuilders()) {
            for (int round = 0; round < 12; ++round) {
                Case test;
                test.op = name + (usesHost ? " (processor)" : " (shader)");
                build(test);
                compare(device, test, traits);
            }
        }
    }
}

TEST_CASE("the kernels for real GPUs equal the references too", "[ops][gpu]") {
    test::TestDevice device;
    KernelTraits traits = device.kernelTraits();
    traits.usesHost = false;
    traits.prefersSubgroupTiles = false;
    const auto check = [&](const char* name) {
        for (int round = 0; round < 12; ++round) {
            Case test;
            test.op = std::string(name) + " (as on a real GPU)";
            allBuilders().at(name)(test);
            compare(device, test, traits);
        }
    };
    for (const char* name : {"matmul", "fused_attention"}) check(name);
    Case large; // enough for the kernel of large results
    large.op = "matmul (large, as on a real GPU)";
    large.expect("out", matmul(large.real("x", {2901, 19}, {}, 0.3), large.real("w", {2902, 19}, {}, 0.3)));
    compare(device, large, traits);
    traits.subgroupSize = 32; // four sets of eight lanes
    for (const char* name :
         {"matmul_plain", "matmul_transposed", "fused_attention_gradient", "batched_matmul", "block_attention",
          "block_attention_gradient", "block_attention_bias_gradient", "bucket_attention", "bucket_attention_gradient",
          "cluster_attention", "cluster_attention_gradient", "norm_weight_gradient"})
        check(name);
}

TEST_CASE("no kernel binds more storage buffers than the device allows", "[ops][gpu]") {
    test::TestDevice device;
    KernelTraits traits = device.kernelTraits();
    traits.usesHost = false;
    for (const uint32_t most : {16u, 32u}) {
        traits.maxStorageBuffers = most;
        for (const auto& [name, build] : allBuilders()) {
            Case test;
            test.op = name + " of few buffers";
            build(test);
            for (uint32_t id = 0; id < test.graph->size(); ++id) {
                const Node& node = test.graph->node(id);
                if (node.op == nullptr) continue;
                std::vector<TensorType> inputs;
                for (const Tensor& input : node.inputs) inputs.push_back(input.type());
                if (node.op->aliasOf != nullptr && !node.op->writesInPlace) continue; // has nothing to launch
                for (const Dispatch& dispatch : node.op->dispatch({node.attributes, inputs, node.outputs}, traits))
                    CHECK(dispatch.bindings.size() + 1 <= most);
            }
            compare(device, test, traits);
        }
    }
}

TEST_CASE("kernels of more numbers than a device has workgroups for along one axis compute all of them", "[ops][gpu]") {
    constexpr int64_t kRows = 66'000, kWidth = 64; // in groups of 64 numbers, or of 64 fours
    test::TestDevice device;
    KernelTraits traits = device.kernelTraits();
    traits.usesHost = false;
    const auto graph = std::make_shared<Graph>();
    const Tensor x = graph->input("x", {.shape = {1, kRows, kWidth}}), w = graph->input("w", {.shape = {kWidth, 1, 1}});
    const auto plan = compile(graph, {{"convolved", convolve(x, w, {}, {{}}, kWidth)},
                                      {"activated", activate(fill(*graph, {kRows, 4 * kWidth}, 3), Activation::Relu)}});
    TensorStore store(device);
    GpuExecutor gpu(device, store, plan, {.traits = traits});
    std::ranges::fill(gpu.input("x"), 2.0f);
    for (size_t i = 0; i < kWidth; ++i) gpu.input("w")[4 * i] = static_cast<float>(i);
    gpu.run({});
    const auto convolved = gpu.result("convolved"), activated = gpu.result("activated");
    int64_t wrong = 0;
    for (size_t i = 0; i < convolved.size(); ++i) wrong += convolved[i] == 2 * static_cast<float>(i % kWidth) ? 0 : 1;
    CHECK(wrong == 0);
    CHECK(std::ranges::count(activated, 3.0f) == kRows * 4 * kWidth);
}

TEST_CASE("softmax: a fully masked row returns zeros, not NaN", "[ops][gpu]") {
    test::TestDevice device;
    for (int round = 0; round < 12; ++round) {
        Case test;
        test.op = "softmax";
        allBuilders().at("softmax")(test);
        const auto columns = static_cast<size_t>(test.outputs.at("out").shape().columns());
        std::fill_n(test.values["x"].begin(), columns, static_cast<double>(static_cast<float>(kMasked)));
        compare(device, test);
    }
}

TEST_CASE("kernels of the device do not lose NaN or scores that have overflowed", "[ops][gpu]") {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    test::TestDevice device;
    KernelTraits traits = device.kernelTraits();
    traits.usesHost = false;
    const auto graph = std::make_shared<Graph>();
    const Tensor x = graph->input("x", {.shape = {4, 13}});
    std::map<std::string, Tensor> outputs{{"softmax", softmax(x)}, {"clamp", clamp(x, -1, 1)}};
    for (const Activation activation : {Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Relu})
        outputs.emplace("activation " + std::to_string(static_cast<int>(activation)), activate(x, activation));
    for (const Unary function : {Unary::Tanh, Unary::Sigmoid, Unary::EluPlusOne, Unary::Relu})
        outputs.emplace("function " + std::to_string(static_cast<int>(function)), unary(x, function));
    TensorStore store(device);
    GpuExecutor gpu(device, store, compile(graph, outputs), {.traits = traits});
    const auto scores = gpu.input("x"); // rows of 16
    const auto masked = static_cast<float>(kMasked);
    std::ranges::fill(scores, masked);
    std::fill_n(scores.begin() + 16, 13, kNaN);
    scores[32 + 4] = -std::numeric_limits<float>::infinity();
    scores[48 + 12] = 100 * masked;
    gpu.run({});
    const auto pattern = gpu.result("softmax");
    for (size_t row = 0; row < 4; ++row)
        for (size_t column = 0; column < 16; ++column) {
            INFO("row " << row << ", column " << column);
            const float p = pattern[row * 16 + column];
            CHECK((row > 0 && column < 13 ? std::isnan(p) : p == 0));
        }
    for (const auto& [name, output] : outputs) {
        INFO(name);
        const auto row = gpu.result(name).subspan(16, 13);
        CHECK(std::ranges::all_of(row, [](float value) { return std::isnan(value); }));
    }
}
