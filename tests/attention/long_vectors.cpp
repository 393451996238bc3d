#include "engine/attention/mask/catalogue.h"
#include "engine/ops/gradient.h"
#include "tests/attention/attention_case.h"
#include "tests/io/files.h"

#include <fmt/format.h>

// Queries and keys of any length: nothing overflows, and nothing vanishes that the paper's equation does not let
// vanish.

using namespace attn;
using test::AttentionCase;
using test::onDevice;
using test::specWith;

namespace {

constexpr double kDeviations[]{15, 20, 30, 100, 1e4};

AttentionCase longCase(const AttentionSpec& spec, double deviation, int64_t tokens, int64_t width) {
    AttentionCase test{.spec = spec, .queries = tokens, .keys = tokens, .width = width};
    test.build();
    for (const char* name : {"q", "k"})
        for (double& value : test.values[name]) value = static_cast<float>(value * deviation);
    return test;
}

bool areFinite(const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

/// The gradients of the sum of z times some numbers, with respect to q, k and v.
std::map<std::string, Tensor> gradientsOf(AttentionCase& test) {
    const Shape shape = test.outputs.at("z").shape();
    std::vector<double>& direction = test.values["direction"];
    for (int64_t i = 0; i < shape.elements(); ++i) direction.push_back(std::sin(static_cast<double>(3 * i + 1)));
    const Tensor loss = sum(multiply(test.outputs.at("z"), test.graph->input("direction", {.shape = shape})));
    std::vector<Tensor> sources;
    for (uint32_t id = 0; id < test.graph->size(); ++id)
        if (test.graph->node(id).kind == NodeKind::Input && test.graph->node(id).name != "direction")
            sources.push_back({test.graph.get(), id, 0});
    std::map<std::string, Tensor> found;
    const std::vector<Tensor> gradients = gradient(loss, sources);
    for (size_t i = 0; i < sources.size(); ++i)
        if (gradients[i]) found["d " + test.graph->node(sources[i].node).name] = gradients[i];
    return found;
}

/// The logarithm of the weight of a key for a query, by the paper's equation.
using LogWeight = std::function<double(std::span<const double> q, std::span<const double> k)>;

double logSum(const std::vector<double>& terms) {
    const double largest = std::ranges::max(terms);
    double sum = 0;
    for (const double term : terms) sum += std::exp(term - largest);
    return largest + std::log(sum);
}

/// z of one head by plain loops over logarithms.
std::vector<double> byLogarithms(const AttentionCase& test, bool isCausal, const LogWeight& logWeight) {
    const auto row = [&](const char* name, int64_t i) {
        return std::span(test.values.at(name))
            .subspan(static_cast<size_t>(i * test.width), static_cast<size_t>(test.width));
    };
    std::vector<double> z;
    for (int64_t t = 0; t < test.queries; ++t) {
        std::vector<double> logs;
        for (int64_t s = 0; s < (isCausal ? t + 1 : test.keys); ++s)
            logs.push_back(logWeight(row("q", t), row("k", s)));
        const double all = logSum(logs);
        for (int64_t d = 0; d < test.width; ++d) {
            double sum = 0;
            for (size_t s = 0; s < logs.size(); ++s)
                sum += std::exp(logs[s] - all) * row("v", static_cast<int64_t>(s))[static_cast<size_t>(d)];
            z.push_back(sum);
        }
    }
    return z;
}

LogWeight linearAttention() {
    return [](std::span<const double> q, std::span<const double> k) {
        std::vector<double> logs;
        const auto logOf = [](double x) { return x > 0 ? std::log1p(x) : x; };
        for (size_t d = 0; d < q.size(); ++d) logs.push_back(logOf(q[d]) + logOf(k[d]));
        return logSum(logs);
    };
}

LogWeight performer(const std::vector<double>& directions) {
    return [&directions](std::span<const double> q, std::span<const double> k) {
        const size_t width = q.size();
        const double scale = std::pow(static_cast<double>(width), -0.25);
        std::vector<double> logs;
        for (size_t f = 0; f < directions.size() / width; ++f) {
            double exponent = 0;
            for (size_t d = 0; d < width; ++d)
                exponent +=
                    directions[f * width + d] * scale * (q[d] + k[d]) - scale * scale * (q[d] * q[d] + k[d] * k[d]) / 2;
            logs.push_back(exponent);
        }
        return logSum(logs);
    };
}

} // namespace

TEST_CASE("long vectors: every part stays finite, forwards and backwards, and its weights sum to one",
          "[attention][gpu]") {
    test::TestDevice device;
    int summed = 0;
    for (const Part* part : partCatalogue()) {
        if (std::ranges::find(kSpecSlots, part->slot) == kSpecSlots.end() && part->slot != Slot::Mask) continue;
        for (const char* mask : {"causal", "full", ""}) {
            AttentionSpec spec = specWith(*part);
            if (*mask != 0) spec.mask = MaskExpression::parse(mask);
            if (*mask != 0 && part->slot == Slot::Mask) continue;
            if (!check(spec, {.headWidth = 16}).empty()) continue;
            for (const double deviation : kDeviations) {
                INFO(nameOf(part->slot) << " " << part->id << ", deviation " << deviation << ": " << spec.text());
                AttentionCase test = longCase(spec, deviation, 72, 16); // more than one chunk
                auto outputs = test.outputs;
                outputs.merge(gradientsOf(test));
                for (const auto& [name, values] : onDevice(device, test, outputs)) {
                    INFO(name);
                    REQUIRE(areFinite(values));
                }
                // Where the value of every key is 1, a mean of values is 1. AFT multiplies it by a gate.
                // Linformer and compressed memory mix values by learned numbers, and features of RFA have signs.
                constexpr std::array kOthers{"linformer", "memory_compressed", "rfa"};
                const bool isMean =
                    part->slot == Slot::Normaliser && std::ranges::find(kOthers, part->id) == kOthers.end();
                if (!isMean) continue;
                test.values["v"].assign(test.values["v"].size(), 1);
                const std::vector<double> z = onDevice(device, test, {{"z", test.outputs.at("z")}}).at("z");
                const bool isGated = part->id.starts_with("aft");
                for (size_t i = 0; i < z.size(); ++i) {
                    INFO("number " << i);
                    const double gate = isGated ? 1 / (1 + std::exp(-test.values["q"][i])) : 1;
                    REQUIRE(std::abs(z[i] - gate) < 1e-3);
                }
                ++summed;
            }
        }
    }
    CHECK(summed >= 60);
}

TEST_CASE("long vectors: linear attention and FAVOR+ are their papers' equations", "[attention][gpu]") {
    const bool isCausal = GENERATE(true, false);
    const double deviation = GENERATE(1.0, 15.0, 30.0);
    const char* normaliser = GENERATE("linear", "favor(32)");
    INFO(normaliser << (isCausal ? " causal " : " full ") << deviation);
    const AttentionSpec spec =
        AttentionSpec::parse(fmt::format("normaliser={}, mask={}", normaliser, isCausal ? "causal" : "full"));
    AttentionCase test = longCase(spec, deviation, 150, 8);
    std::string directions;
    for (const auto& [name, values] : test.values)
        if (name.find("normaliser.w") != std::string::npos) directions = name;
    const std::vector<double> expected =
        byLogarithms(test, isCausal, directions.empty() ? linearAttention() : performer(test.values.at(directions)));
    test::TestDevice device;
    const auto found = onDevice(device, test, test.outputs), exact = test.onHost();
    // An exponent of FAVOR+ has the square of the length in it, up to 4,000 here: 2e-4 of it are lost in single
    // precision.
    const double lost = directions.empty() ? 1e-4 : 1e-4 + deviation * deviation * 8 / 2.8 * 1e-6;
    for (size_t i = 0; i < expected.size(); ++i) {
        INFO("number " << i);
        REQUIRE(std::abs(exact.at("z")[i] - expected[i]) < 1e-5); // constants are rounded to float
        REQUIRE(std::abs(found.at("z")[i] - expected[i]) < 20 * lost);
    }
    const auto& pattern = found.at("pattern");
    for (size_t t = 0; t < 150; ++t) {
        double sum = 0;
        for (size_t s = 0; s < 150; ++s) sum += pattern[t * 150 + s];
        REQUIRE(std::abs(sum - 1) < 1e-4);
    }
    if (isCausal && deviation < 30)
        for (size_t i = 0; i < expected.size(); ++i)
            REQUIRE(std::abs(exact.at("features.recurrent")[i] - expected[i]) < 1e-5);
}

TEST_CASE("long vectors: AFT is its paper's equation under every kind of mask", "[attention][gpu]") {
    const char* normaliser = GENERATE("aft", "aft(3)", "aft_local(4)", "aft_conv(4)", "aft_simple");
    const char* mask = GENERATE("full", "causal", "causal & window(9)", "causal & strided(5)");
    const double deviation = GENERATE(1.0, 30.0, 1000.0);
    INFO(normaliser << " " << mask << " " << deviation);
    const AttentionSpec spec =
        AttentionSpec::parse(fmt::format("heads=multi_head(2), normaliser={}, mask={}", normaliser, mask));
    if (!check(spec, {.headWidth = 4}).empty()) return; // the simple form has running sums
    AttentionCase test = longCase(spec, deviation, 150, 4);
    test::TestDevice device;
    const std::vector<double> found = onDevice(device, test, {{"z", test.outputs.at("z")}}).at("z"),
                              exact = test.onHost().at("z");
    const Dense expected = test.reference().z; // subtracts the largest visible exponent of each channel
    for (size_t i = 0; i < found.size(); ++i) {
        INFO("number " << i);
        REQUIRE(std::abs(exact[i] - expected.data[i]) < 1e-6);
        REQUIRE(std::abs(found[i] - expected.data[i]) < 1e-3 * std::max(1.0, deviation / 100)); // k in single precision
    }
}
