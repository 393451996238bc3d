#include "engine/attention/site_attention.h"
#include "tests/attention/attention_case.h"

#include <fmt/format.h>

using namespace attn;
using attn::test::AttentionCase;
using attn::test::runOnHost;

namespace {

constexpr int64_t kRows = 6, kModelWidth = 8, kHeads = 2, kHeadWidth = 4;

/// A layer over rows of numbers. @return the tensors of hooks by name, and what the layer reads
std::map<std::string, std::vector<double>> layerOf(const std::string& spec,
                                                   std::map<std::string, std::vector<double>>& values) {
    const LayerAttention layer{
        .spec = AttentionSpec::parse(spec), .headWidth = kHeadWidth, .queryKeyValueBias = true, .outputBias = true};
    const auto graph = std::make_shared<Graph>();
    PartTensors needs;
    const Tensor x = graph->input("x", {.shape = {kRows, kModelWidth}});
    const AttentionSite site{.prefix = "a", .input = x, .residual = x, .queryPosition = {}, .keyPosition = {}};
    const AttentionNodes nodes = siteAttention(layer, site, 0, needs);
    for (uint32_t id = 0; id < graph->size(); ++id) {
        const Node& node = graph->node(id);
        if (node.kind != NodeKind::Parameter && node.kind != NodeKind::Input) continue;
        const double seed = std::accumulate(node.name.begin(), node.name.end(), 0.0);
        for (int64_t i = std::ssize(values[node.name]); i < node.outputs[0].shape.elements(); ++i)
            values[node.name].push_back(node.name == "a.gates" ? 1 : std::sin(static_cast<double>(i * 7 + 1) + seed));
    }
    for (const FlowConstant& constant : needs.constants) {
        const std::vector<float> numbers = constant.values();
        values[constant.name].assign(numbers.begin(), numbers.end());
    }
    std::map<std::string, Tensor> outputs{{"added", nodes.added}};
    for (const auto& [name, probe] : graph->probes()) outputs[name] = probe.tensor;
    return runOnHost(graph, values, outputs);
}

/// [rows, kModelWidth] . W^T + b, row by row.
std::vector<double> project(const std::map<std::string, std::vector<double>>& values, const std::string& name) {
    const std::vector<double>&x = values.at("x"), &w = values.at("a.W_" + name), &b = values.at("a.b_" + name);
    std::vector<double> result;
    for (size_t row = 0; row < kRows; ++row)
        for (size_t out = 0; out < kModelWidth; ++out) {
            double sum = b[out];
            for (size_t in = 0; in < kModelWidth; ++in) sum += w[out * kModelWidth + in] * x[row * kModelWidth + in];
            result.push_back(sum);
        }
    return result;
}

} // namespace

TEST_CASE("projections: rows of global tokens use their own queries, keys and values, and others the ordinary ones",
          "[attention]") {
    std::map<std::string, std::vector<double>> values;
    const auto found = layerOf("heads=multi_head(2), projections=global(g = 2), mask=longformer(2, 1, 2)", values);
    const std::vector<double> q = project(values, "Q"), k = project(values, "K"), v = project(values, "V"),
                              ownQ = project(values, "Q_global"), ownK = project(values, "K_global"),
                              ownV = project(values, "V_global");
    for (const auto& [hook, expected] : {std::pair{"a.hook_q", &q},
                                         {"a.hook_k", &k},
                                         {"a.hook_v", &v},
                                         {"a.hook_q_global", &ownQ},
                                         {"a.hook_k_global", &ownK},
                                         {"a.hook_v_global", &ownV}})
        for (size_t i = 0; i < expected->size(); ++i) CHECK(found.at(hook)[i] == Approx((*expected)[i]));
    for (size_t head = 0; head < kHeads; ++head)
        for (size_t row = 0; row < kRows; ++row) {
            const bool isGlobal = row < 2;
            const std::vector<double>&query = isGlobal ? ownQ : q, &keys = isGlobal ? ownK : k,
                  &read = isGlobal ? ownV : v;
            std::vector<double> weights(kRows);
            double sum = 0;
            for (size_t key = 0; key < kRows; ++key) {
                const bool isNear = (row > key ? row - key : key - row) < 2;
                if (!isGlobal && key >= 2 && !isNear) continue;
                double score = 0;
                for (size_t d = 0; d < kHeadWidth; ++d)
                    score += query[row * kModelWidth + head * kHeadWidth + d] *
                             keys[key * kModelWidth + head * kHeadWidth + d];
                sum += weights[key] = std::exp(score / 2); // sqrt(D)
            }
            for (size_t key = 0; key < kRows; ++key)
                CHECK(found.at("a.hook_pattern")[(head * kRows + row) * kRows + key] ==
                      Approx(weights[key] / sum).margin(1e-9));
            for (size_t d = 0; d < kHeadWidth; ++d) {
                double z = 0;
                for (size_t key = 0; key < kRows; ++key)
                    z += weights[key] / sum * read[key * kModelWidth + head * kHeadWidth + d];
                CHECK(found.at("a.hook_z")[row * kModelWidth + head * kHeadWidth + d] == Approx(z).margin(1e-9));
            }
        }
}

TEST_CASE("projections: those of global tokens combine with positions, scores, heads and masks", "[attention]") {
    for (const char* others :
         {"position=rope", "position=shaw(2)", "position=transformer_xl", "position=t5", "position=alibi",
          "position=distance_aware", "position=learned", "score=cosine", "score=additive", "score=bilinear",
          "heads=grouped_query(4, 2), position=rope", "heads=talking(2), position=transformer_xl",
          "output=gated, position=shaw(3)", "mask=longformer(2, 1, 2)", "mask=causal & adaptive_span(4, 2, 0)"}) {
        AttentionCase test{.spec = AttentionSpec::parse(fmt::format("projections=global(g = 2), {}", others))};
        INFO(test.spec.text());
        CHECK(check(test.spec, {.headWidth = test.width}).empty());
        test.build();
        const auto found = test.onHost();
        const ReferenceFlow expected = test.reference(0);
        for (const auto& [name, dense] : {std::pair{"z", &expected.z}, {"pattern", &expected.pattern}})
            for (size_t i = 0; i < dense->data.size(); ++i) {
                INFO(name << " " << i);
                REQUIRE(found.at(name)[i] == Approx(dense->data[i]).margin(1e-6)); // constants are rounded to float
            }
        AttentionCase plain{.spec = AttentionSpec::parse(others)};
        plain.build();
        const auto ordinary = plain.onHost();
        for (int64_t i = 0; i < test.width; ++i) // of the first token and of the last
            CHECK(std::abs(ordinary.at("z")[static_cast<size_t>(i)] - found.at("z")[static_cast<size_t>(i)]) > 1e-6);
    }
}
