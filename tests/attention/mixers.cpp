#include "engine/io/safetensors.h"
#include "engine/ops/gradient.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/attention/attention_case.h"
#include "tests/support/farthest.h"

#include <complex>
#include <numbers>

// Mixers that act on the stream itself.

using namespace attn;
using attn::test::AttentionCase;

TEST_CASE("FNet is the real part of the transform over all positions and all channels, at any length", "[attention]") {
    // Lengths with no factor, with small ones and with large ones.
    for (const auto& [T, C] : {std::pair<int64_t, int64_t>{1, 5}, {7, 6}, {12, 10}, {16, 8}, {30, 3}, {96, 4}}) {
        INFO(T << " tokens, " << C << " channels");
        AttentionCase test{.spec = AttentionSpec::parse("heads=multi_head(2), mixer=fnet"),
                           .queries = T,
                           .keys = T,
                           .width = C,
                           .batch = 2};
        test.build();
        CHECK(test.learned.empty());
        const auto found = test.onHost().at("z");
        std::vector<double> expected;
        for (int64_t b = 0; b < test.batch; ++b)
            for (int64_t t = 0; t < T; ++t)
                for (int64_t c = 0; c < C; ++c) {
                    std::complex<double> sum = 0;
                    for (int64_t s = 0; s < T; ++s)
                        for (int64_t e = 0; e < C; ++e) {
                            const double turns = static_cast<double>(t * s) / static_cast<double>(T) +
                                                 static_cast<double>(c * e) / static_cast<double>(C);
                            sum += test.values.at("v")[static_cast<size_t>((b * T + s) * C + e)] *
                                   std::polar(1.0, -2 * std::numbers::pi * turns);
                        }
                    expected.push_back(sum.real());
                }
        CHECK(test::farthest(found, expected, 1) <= 1e-5); // constants are rounded to float
    }
}

namespace {

/// A tensor of tests/golden/sequence_ops.py.
std::vector<double> read(const SafetensorsFile& file, const std::string& name) {
    const StoredTensor& tensor = file.tensors().at(name);
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    REQUIRE(file.read(tensor, 0, values) == 0);
    return {values.begin(), values.end()};
}

/// Rows of C numbers of a tensor: those of one gate.
std::vector<double> gateOf(const std::vector<double>& all, size_t gate, int64_t C) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(gate) * C;
    return {begin, begin + C};
}

} // namespace

TEST_CASE("recurrent layers, one on the other, equal PyTorch's, and so do their gradients", "[attention][gpu]") {
    struct Network {
        std::string id;
        std::vector<std::string> biases;
    };
    const auto [id, biases] = GENERATE(Network{"rnn", {"b_h"}}, Network{"lstm", {"b_i", "b_f", "b_g", "b_o"}},
                                       Network{"gru", {"b_r", "b_z", "b_n"}});
    INFO(id);
    const SafetensorsFile file(ATTN_TEST_DIR "/golden/ops/" + id + "_layers.safetensors");
    const std::vector<int64_t> shape = file.tensors().at("x").shape;
    const int64_t B = shape[0], T = shape[1], C = shape[2];
    AttentionCase test{.spec = AttentionSpec::parse("mixer=" + id + ", mask=causal")};
    test.graph = std::make_shared<Graph>();
    test.values["x"] = read(file, "x");
    const Tensor x = test.graph->input("x", {.shape = {B, 1, T, C}});
    Tensor rows = x;
    std::map<std::string, std::vector<double>> expected{{"z", read(file, "out hidden")}, {"d x", read(file, "d x")}};
    std::vector<Tensor> sources{x};
    std::vector<std::string> names{"x"};
    for (const std::string layer : {"0", "1"}) {
        AttentionFlow flow{
            .graph = *test.graph, .spec = test.spec, .prefix = layer, .batch = B, .queries = T, .keys = T, .width = C};
        flow.v = rows;
        buildAttention(flow);
        rows = flow.z;
        const auto both = [&](const std::string& name, const std::vector<double>& values,
                              const std::vector<double>& gradient) {
            test.values[layer + ".mixer." + name] = values;
            expected["d " + layer + ".mixer." + name] = gradient;
        };
        const auto of = [&](const std::string& prefix, const char* name) {
            return read(file, prefix + name + "_l" + layer);
        };
        both("W_x", of("", "weight_ih"), of("d ", "weight_ih"));
        both("W_h", of("", "weight_hh"), of("d ", "weight_hh"));
        for (size_t gate = 0; gate < biases.size(); ++gate) {
            std::vector<double> bias = gateOf(of("", "bias_ih"), gate, C);
            const bool isInner = id == "gru" && gate == 2; // whose other bias lies within r's product
            const std::vector<double> other = gateOf(of("", "bias_hh"), gate, C);
            if (isInner)
                both("b_s", other, gateOf(of("d ", "bias_hh"), gate, C));
            else
                std::ranges::transform(bias, other, bias.begin(), std::plus());
            both(biases[gate], bias, gateOf(of("d ", "bias_ih"), gate, C));
        }
        for (const FlowParameter& parameter : flow.parameters) {
            sources.push_back(test.graph->parameter(parameter.name, parameter.shape));
            names.push_back(parameter.name);
        }
    }
    CHECK(names.size() == expected.size() - 1);
    test.values["direction"] = read(file, "direction hidden");
    const Tensor loss = sum(multiply(rows, test.graph->input("direction", {.shape = {B, 1, T, C}})));
    const std::vector<Tensor> gradients = gradient(loss, sources);
    test.outputs["z"] = rows;
    for (size_t i = 0; i < names.size(); ++i) test.outputs["d " + names[i]] = gradients[i];
    test::TestDevice device;
    const auto inDouble = test.onHost(), found = onDevice(device, test, test.outputs);
    for (const auto& [name, values] : expected) {
        INFO(name);
        CHECK(test::farthest(inDouble.at(name), values, 1) <= 1e-6); // the file's floats
        CHECK(test::farthest(found.at(name), values, 1) <= 1e-5);    // sums of up to 18 terms through 9 rows and back
    }
}

TEST_CASE("what recurrent layers show are their states and gates", "[attention]") {
    AttentionCase test{.spec = AttentionSpec::parse("mixer=lstm, mask=causal"), .queries = 7, .keys = 7, .width = 3};
    test.build();
    const auto found = test.onHost();
    const auto of = [&](const char* name, size_t t, size_t unit) {
        return found.at(std::string("units.") + name)[t * 3 + unit];
    };
    for (size_t t = 0; t < 7; ++t)
        for (size_t unit = 0; unit < 3; ++unit) {
            const double before = t == 0 ? 0 : of("cell", t - 1, unit);
            CHECK(of("cell", t, unit) ==
                  Approx(of("forget_gate", t, unit) * before + of("input_gate", t, unit) * of("candidate", t, unit)));
            CHECK(of("state", t, unit) == Approx(of("output_gate", t, unit) * std::tanh(of("cell", t, unit))));
        }
    test.spec = AttentionSpec::parse("mixer=gru, mask=causal");
    test.build();
    const auto gru = test.onHost();
    for (size_t at = 3; at < 21; ++at) {
        const double update = gru.at("units.update_gate")[at];
        CHECK(gru.at("units.state")[at] ==
              Approx((1 - update) * gru.at("units.candidate")[at] + update * gru.at("units.state")[at - 3]));
    }
}

TEST_CASE("a recurrent layer has no other mask than the causal one", "[attention]") {
    for (const char* mask : {"full", "causal & window(4)", "~causal"}) {
        INFO(mask);
        const AttentionSpec spec = AttentionSpec::parse(std::string("mixer=gru, mask=") + mask);
        const auto problems = check(spec, {.queries = 16, .keys = 16});
        REQUIRE_FALSE(problems.empty());
        CHECK_THAT(problems.front().sentence, CONTAINS("needs the mask causal instead of "));
        CHECK(problems.front().nearest->text() == "mixer=gru, mask=causal");
    }
    CHECK(check(AttentionSpec::parse("mixer=gru, mask=causal & window(16)"), {.queries = 16, .keys = 16}).empty());
}
