#include "engine/attention/execution.h"
#include "tests/attention/attention_case.h"
#include "tests/support/farthest.h"

#include "engine/ops/gradient.h"
#include "engine/runtime/cpu_executor.h"

using namespace attn;
using test::AttentionCase;

namespace {

/// z and the gradients of sum(z * direction), on a device or, without one, in double.
std::map<std::string, std::vector<double>> answers(AttentionCase test, bool mayFuse, test::TestDevice* device) {
    test.mayFuse = mayFuse;
    test.build();
    Graph& graph = *test.graph;
    const Tensor z = test.outputs.at("z");
    auto& direction = test.values["direction"];
    for (int64_t i = 0; i < z.shape().elements(); ++i) direction.push_back(std::sin(static_cast<double>(3 * i + 1)));
    const Tensor loss = sum(multiply(z, graph.input("direction", {.shape = z.shape()})));
    std::vector<Tensor> sources;
    for (uint32_t id = 0; id < graph.size(); ++id)
        if ((graph.node(id).kind == NodeKind::Input && graph.node(id).name.size() == 1) ||
            std::ranges::find(test.learned, graph.node(id).name) != test.learned.end())
            sources.push_back({&graph, id, 0});
    const auto gradients = gradient(loss, sources);
    std::map<std::string, Tensor> outputs{{"z", z}};
    for (size_t i = 0; i < sources.size(); ++i)
        if (gradients[i]) outputs["d " + graph.node(sources[i].node).name] = gradients[i];
    if (device) return test::onDevice(*device, test, outputs);
    return test::runOnHost(test.graph, test.values, outputs);
}

/// Specs that the fused kernel takes: every part of the catalogue that it takes, and combinations of them.
std::set<std::string> fusedSpecs() {
    std::set<std::string> texts;
    for (const Part* part : partCatalogue())
        if (const AttentionSpec spec = test::specWith(*part); isFused(spec)) texts.insert(spec.text());
    for (const char* text :
         {"heads=grouped_query(4, 2), position=alibi, mask=causal & window(9)",
          "score=cosine(0.5), position=rope",
          "heads=shared_query_key(2), position=alibi, mask=causal | global(2)",
          "heads=multi_query(3), position=alibi",
          "heads=multi_head(2), mask=per_head(window(5), causal)",
          "heads=multi_head(2), mask=~full",
          "heads=multi_head(3), position=rope, mask=strided(7), output=gated",
          "heads=grouped_query(4, 2), position=t5(8, 20), score=dot, mask=full",
          "heads=shared_query_key(2), position=toeplitz(9), mask=causal & window(30)",
          "heads=multi_head(2), position=toeplitz(16), mask=causal & adaptive_span(20, 8, 0.01)",
          "heads=grouped_query(4, 2), position=alibi, mask=adaptive_span(12, 5, 0.01) & strided(7)",
          "heads=multi_head(2), position=etc(3, 9, 4), mask=etc_hard(3, 5, 9)",
          "heads=grouped_query(4, 2), position=etc(5, 4, 2), score=dot, mask=full",
          "heads=multi_head(2), projections=global(g = 3), mask=longformer(5, 2, 3)",
          "heads=grouped_query(4, 2), projections=global(g = 2), position=t5(8, 20), mask=longformer(3, 1, 2)",
          "heads=grouped_query(4, 2), projections=global(g = 9), mask=longformer(3, 1, 9)", // more than a head is wide
          "heads=multi_head(2), projections=global(g = 2), position=rope, mask=longformer(4, 1, 2), output=gated",
          "heads=multi_head(2), projections=global(g = 2), score=cosine, mask=~global(1)",
          "heads=multi_head(2), projections=global(g = 64), mask=causal",
          "heads=multi_head(2), projections=global(g = 3), position=etc(3, 9, 4), mask=etc_hard(3, 5, 9)"})
        texts.insert(AttentionSpec::parse(text).text());
    return texts;
}

} // namespace

TEST_CASE("fused attention equals the materialised one for every spec that has both", "[attention]") {
    const auto specs = fusedSpecs();
    CHECK(specs.size() > 30);
    for (const std::string& text : specs)
        for (const auto& [tokens, width] : {std::pair<int64_t, int64_t>{41, 6}, {5, 4}}) {
            INFO(text << ", " << tokens << " tokens");
            AttentionCase test{.spec = AttentionSpec::parse(text), .queries = tokens, .keys = tokens, .width = width};
            test.batch = 2;
            REQUIRE(isFused(test.spec));
            const auto fused = answers(test, true, nullptr), formed = answers(test, false, nullptr);
            for (const auto& [name, values] : formed) {
                INFO(name);
                CHECK(farthest(fused.at(name), values, 1) <= 1e-9);
            }
        }
}

TEST_CASE("fused attention on the device equals the materialised one in double", "[attention][gpu]") {
    test::TestDevice device;
    for (const std::string& text : fusedSpecs()) {
        INFO(text);
        AttentionCase test{.spec = AttentionSpec::parse(text), .queries = 75, .keys = 75, .width = 12};
        const auto fused = answers(test, true, &device), formed = answers(test, false, nullptr);
        for (const auto& [name, values] : formed) {
            INFO(name);
            CHECK(farthest(fused.at(name), values, 1) <= 2e-4); // fp32 exponentials and sums of up to 75 terms
        }
    }
}

TEST_CASE("fused attention takes memory that grows with the tokens, not with their square", "[attention]") {
    const auto bytes = [](int64_t tokens) {
        AttentionCase test{.spec =
                               AttentionSpec::parse("heads=multi_head(4), position=alibi, mask=causal & window(64)"),
                           .queries = tokens,
                           .keys = tokens,
                           .width = 16};
        test.build();
        const auto plan = compile(test.graph, {{"z", test.outputs.at("z")}});
        int64_t total = 0;
        for (const PlannedTensor& tensor : plan->tensors) total += tensor.type.shape.paddedElements() * 4;
        return static_cast<double>(total);
    };
    const double ratio = (bytes(1024) - bytes(512)) / (bytes(512) - bytes(256));
    CHECK(ratio > 1.9);
    CHECK(ratio < 2.1);
}

TEST_CASE("AFT weighs long keys right on the device: no row is infinite or vanishes", "[attention][gpu]") {
    test::TestDevice device;
    for (const char* text : {"normaliser=aft, mask=causal", "normaliser=aft", "normaliser=aft_local(window = 3)",
                             "normaliser=aft_conv(window = 5), mask=causal", "heads=multi_head(2), normaliser=aft(3)",
                             "normaliser=aft, mask=causal & window(40)"}) {
        INFO(text);
        AttentionCase test{.spec = AttentionSpec::parse(text), .queries = 150, .keys = 150, .width = 8};
        test.build();
        for (double& value : test.values.at("k")) value = static_cast<float>(30 * value);
        const std::vector<double> found = test::onDevice(device, test, {{"z", test.outputs.at("z")}}).at("z");
        const std::vector<double> expected = test.reference().z.data;
        REQUIRE(found.size() == expected.size());
        CHECK(farthest(found, expected, 1) <= 2e-4); // exponents of up to 120 lose digits
        for (size_t row = 0; row < found.size(); row += 8)
            CHECK(std::any_of(&found[row], &found[row] + 8, [](double x) { return x != 0; }));
    }
}
