#include "engine/attention/site_attention.h"
#include "engine/attention/terms.h"
#include "engine/ops/gradient.h"
#include "tests/attention/attention_case.h"

using namespace attn;
using attn::test::runOnHost;

namespace {

constexpr int64_t kTokens = 6, kWidth = 8;

/// A layer of a model with segments of three tokens, and a loss that reads the second segment's rows alone.
struct SegmentCase {
    LayerAttention layer;
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    PartTensors needs;
    std::map<std::string, std::vector<double>> values;
    Tensor x, loss;

    explicit SegmentCase(const std::string& spec, const std::string& memory = "segments(3)")
        : layer{.spec = AttentionSpec::parse(spec + ", memory=" + memory), .headWidth = kWidth / 2} {
        x = graph->input("x", {.shape = {kTokens, kWidth}});
        const AttentionSite site{
            .prefix = "blocks.0.attn", .input = x, .residual = x, .queryPosition = {}, .keyPosition = {}};
        const AttentionNodes nodes = siteAttention(layer, site, 0, needs);
        const Tensor rows = slice(nodes.added, 0, 3, 3);
        loss = sum(multiply(rows, graph->input("direction", {.shape = rows.shape()})));
        for (uint32_t id = 0; id < graph->size(); ++id) {
            const Node& node = graph->node(id);
            if (node.kind != NodeKind::Parameter && node.kind != NodeKind::Input) continue;
            std::vector<double>& list = values[node.name];
            for (int64_t i = static_cast<int64_t>(list.size()); i < node.outputs[0].shape.elements(); ++i)
                list.push_back(std::sin(static_cast<double>(i * 7 + id * 3 + 1)));
        }
        for (const FlowConstant& constant : needs.constants) {
            const std::vector<float> numbers = constant.values();
            values[constant.name].assign(numbers.begin(), numbers.end());
        }
    }

    std::map<std::string, std::vector<double>> run(const std::map<std::string, Tensor>& outputs) const {
        return runOnHost(graph, values, outputs);
    }
    double difference(const std::string& name, size_t at) {
        double& value = values.at(name)[at];
        const double before = value;
        const auto lossAt = [&](double moved) {
            value = moved;
            return run({{"loss", loss}}).at("loss")[0];
        };
        const double slope = (lossAt(before + 1e-5) - lossAt(before - 1e-5)) / 2e-5;
        value = before;
        return slope;
    }
};

} // namespace

TEST_CASE("segments read the states before and teach weights by them, but not those states", "[attention]") {
    for (const char* spec :
         {"heads=multi_head(2), mask=causal", "heads=multi_head(2), position=transformer_xl, mask=causal",
          "heads=multi_head(2), position=rope, mask=causal", "heads=shared_query_key(2), position=alibi, mask=causal",
          "heads=talking(2), score=bilinear, position=t5, mask=causal"}) {
        INFO(spec);
        SegmentCase test(spec);
        std::vector<Tensor> sources{test.x};
        std::vector<std::string> names{"x"};
        for (uint32_t id = 0; id < test.graph->size(); ++id) {
            const Node& node = test.graph->node(id);
            if (node.kind != NodeKind::Parameter || node.name.find('#') != std::string::npos) continue;
            if (std::ranges::find(names, node.name) != names.end()) continue;
            sources.push_back({test.graph.get(), id, 0});
            names.push_back(node.name);
        }
        const auto gradients = gradient(test.loss, sources);
        std::map<std::string, Tensor> outputs;
        for (size_t i = 0; i < sources.size(); ++i) outputs["d " + names[i]] = gradients[i];
        const auto found = test.run(outputs);
        for (size_t at = 0; at < 3 * kWidth; ++at) CHECK(found.at("d x")[at] == 0);
        CHECK(std::abs(test.difference("x", 1)) > 1e-6); // it is read
        for (size_t i = 1; i < names.size(); ++i)
            for (size_t trial = 0; trial < 3; ++trial) {
                const size_t at = trial * 5 % test.values.at(names[i]).size();
                const double expected = test.difference(names[i], at);
                INFO("d loss / d " << names[i] << "[" << at << "]: " << found.at("d " + names[i])[at] << ", expected "
                                   << expected);
                CHECK(std::abs(found.at("d " + names[i])[at] - expected) <= 1e-6 * (1 + std::abs(expected)));
            }
    }
}

TEST_CASE("analyses differentiate through a memory, where training stops", "[attention]") {
    for (const char* memory : {"segments(3)", "nearest(3, 2)"}) {
        INFO(memory);
        SegmentCase test("heads=multi_head(2), position=alibi, mask=causal", memory);
        const Tensor trained = gradient(test.loss, std::array{test.x}).front();
        const Tensor analysed = gradient(test.loss, std::array{test.x}, {.isForTraining = false}).front();
        const auto found = test.run({{"trained", trained}, {"analysed", analysed}});
        double most = 0;
        for (size_t at = 0; at < static_cast<size_t>(kTokens * kWidth); ++at) {
            const double expected = test.difference("x", at);
            INFO("d loss / d x[" << at << "]");
            CHECK(std::abs(found.at("analysed")[at] - expected) <= 1e-6 * (1 + std::abs(expected)));
            if (at >= 3 * kWidth) continue;
            CHECK(found.at("trained")[at] == 0);
            most = std::max(most, std::abs(found.at("analysed")[at]));
        }
        CHECK(most > 1e-3); // tokens of the segment before matter
    }
}
