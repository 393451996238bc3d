#include "tests/ops/case.h"

#include <random>

namespace attn::test {
namespace {

std::mt19937 randomEngine(7);

std::vector<double> normals(int64_t count, double scale) {
    std::normal_distribution<double> normal(0, scale);
    std::vector<double> list;
    for (int64_t i = 0; i < count; ++i) list.push_back(static_cast<double>(static_cast<float>(normal(randomEngine))));
    return list;
}

} // namespace

int64_t randomSize(int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(randomEngine); }

Tensor Case::real(const std::string& name, Shape shape, std::optional<StepScalar> live, double scale) {
    values[name] = normals(shape.elements(), scale);
    return graph->input(name, {.shape = shape, .liveRows = live});
}

Tensor Case::integers(const std::string& name, Shape shape, int64_t below, std::optional<StepScalar> live) {
    for (int64_t i = 0; i < shape.elements(); ++i) values[name].push_back(static_cast<double>(randomSize(below) - 1));
    return graph->input(name, {.shape = shape, .dtype = DType::I32, .liveRows = live});
}

Tensor Case::stored(const std::string& name, Shape shape) {
    values[name] = normals(shape.elements(), 1);
    return name.starts_with("parameter") ? graph->parameter(name, shape) : graph->state(name, {.shape = shape});
}

AttentionInputs attentionCase(Case& test, int64_t T, int64_t S, int64_t heads, int64_t groups, int64_t D, bool live) {
    const auto queryLive = live ? std::optional(StepScalar::QueryLength) : std::nullopt;
    const auto keyLive = live ? std::optional(StepScalar::KeyLength) : std::nullopt;
    test.step[StepScalar::QueryLength] = static_cast<uint32_t>(randomSize(T));
    test.step[StepScalar::KeyLength] = static_cast<uint32_t>(randomSize(S));
    return {.q = test.real("q", {T, heads, D}, queryLive),
            .k = test.real("k", {S, groups, D}, keyLive),
            .v = test.real("v", {S, groups, D}, keyLive),
            .queryPosition = test.integers("qPos", {T}, S + 4),
            .keyPosition = test.integers("kPos", {S}, S + 4)};
}

AttentionInputs wholeAttention(Case& t, AttentionRule& rule) {
    const int64_t groups = randomSize(3), heads = groups * randomSize(3),
                  D = randomSize(3) == 1 ? randomSize(40) : 4 * randomSize(20);
    rule = {.scale = 0.3, .causal = randomSize(3) > 1, .window = randomSize(2) == 1 ? randomSize(20) : 0};
    int64_t T = randomSize(3) == 1 ? 1 : randomSize(70), S = randomSize(90);
    if (randomSize(2) == 1) {
        rule.sequence = 4 * randomSize(10);
        T = S = rule.sequence * randomSize(4);
    }
    AttentionInputs inputs = attentionCase(t, T, S, heads, groups, D, false);
    if (rule.sequence != 0)
        for (const char* name : {"qPos", "kPos"})
            for (size_t i = 0; i < t.values[name].size(); ++i)
                t.values[name][i] = static_cast<double>(static_cast<int64_t>(i) % rule.sequence);
    return inputs;
}

} // namespace attn::test
