#include "engine/ops/catalogue.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/training_ops.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/ops/on_host.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

/// The largest difference in units of the tolerance of the sweep. NaN equals NaN, and infinity itself.
double worstDifference(const std::vector<float>& actual, const std::vector<double>& expected) {
    double worst = actual.size() <= expected.size() ? 0 : kInfinity;
    for (size_t i = 0; i < actual.size(); ++i) {
        const double a = static_cast<double>(actual[i]), b = expected[i];
        if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b))
            worst = std::max(worst, (std::isnan(a) && std::isnan(b)) || a == b ? 0 : kInfinity);
        else
            worst = std::max(worst, std::abs(a - b) / (2e-5 * (1 + std::abs(b)))); // fp32 sums of terms of order 1
    }
    return worst;
}

bool agree(const Case& test, const Results& a, const Results& b) {
    for (const auto& [name, list] : a) {
        if (test.outputs.at(name).type().dtype == DType::I32) {
            if (!haveSameBits({{name, list}}, {{name, b.at(name)}})) return false;
            continue;
        }
        const std::vector<float>& other = b.at(name);
        if (!(worstDifference(list, {other.begin(), other.end()}) <= 1)) return false;
    }
    return true;
}

/// The results of the references, which are doubles.
std::map<std::string, std::vector<double>> references(const Case& test) {
    const auto plan = compile(test.graph, test.outputs);
    CpuExecutor cpu(plan, {});
    for (const PlannedTensor& tensor : plan->tensors)
        if (tensor.home != Home::Arena) cpu.set(tensor.name, test.values.at(tensor.name));
    cpu.run(test.step);
    std::map<std::string, std::vector<double>> results;
    for (const auto& [name, tensor] : test.outputs) results[name] = cpu.get(name);
    return results;
}

void checkAgainstReferences(const Case& test, host::Pool& pool) {
    const auto expected = references(test);
    for (const auto& [name, list] : runOnHost(test, pool)) {
        INFO(test.op << " " << name << " " << test.outputs.at(name).shape().text());
        CHECK(worstDifference(list, expected.at(name)) <= 1);
    }
}

} // namespace

TEST_CASE("every op of the catalogue that computes something has a host kernel", "[ops][host]") {
    for (const Op* op : opCatalogue()) {
        INFO(op->name);
        CHECK((op->host != nullptr || op->dispatch == nullptr)); // those without a dispatch only alias
    }
}

TEST_CASE("host kernels give the same bits in every run, and nearly the same with other threads", "[ops][host]") {
    host::Pool one(1), four(4);
    std::map<std::string, Builder> all = allBuilders();
    for (const auto& [name, build] : tensorCases(300)) // long enough to be shared out
        all[name + " (large)"] = [build = build](Case& t) { t.expect("out", build(t)); };
    for (const auto& [name, build] : all)
        for (int round = 0; round < 3; ++round) {
            Case test;
            build(test);
            const Results first = runOnHost(test, four);
            INFO(name);
            CHECK(haveSameBits(first, runOnHost(test, four)));
            CHECK(agree(test, first, runOnHost(test, one)));
        }
}

TEST_CASE("host kernels of odd extents equal the references", "[ops][host]") {
    host::Pool pool(4);
    for (const int64_t M : {1, 3, 5, 17, 33})
        for (const int64_t N : {1, 3, 5, 17, 33}) {
            Case t;
            t.op = "extents " + std::to_string(M) + " and " + std::to_string(N);
            const Tensor x = t.real("x", {3, M, N}), row = t.real("row", {N}), column = t.real("column", {M, 1});
            const Tensor square = t.real("square", {N, N});
            t.expect("softmax", softmax(x));
            t.expect("layer norm", layerNorm(x, row, row, 1e-5));
            t.expect("matmul", matmul(x, square, {.bias = row, .activation = Activation::GeluErf}));
            t.expect("product", batchedMatmul(x, x, {.transposeB = true}));
            t.expect("permuted", permute(x, {2, 1, 0}));
            t.expect("turned", permute(x, {0, 2, 1}));
            t.expect("divided", binary(x, affine(multiply(column, column), 1, 1), Binary::Divide));
            t.expect("chosen", select(binary(x, row, Binary::Less), x, column));
            t.expect("mean of rows", reduce(x, Reduction::Mean, {-1}));
            t.expect("largest of columns", reduce(x, Reduction::Maximum, {1}));
            t.expect("sum", reduce(x, Reduction::Sum, {0, 1}));
            t.expect("cumulative", cumulativeSum(x, -1, {.exclusive = true}));
            t.expect("cumulative rows", cumulativeSum(x, 1, {.reverse = true}));
            t.expect("padded", pad(x, -1, 1, 2));
            t.expect("joined", concatenate(std::vector{x, broadcast(row, x.shape()), x}, -1));
            t.expect("diagonals", diagonals(undiagonals(x), N));
            t.expect("sigmoid", unary(x, Unary::Sigmoid));
            t.expect("taken", take(x, argmax(permute(x, {0, 2, 1}))));
            checkAgainstReferences(t, pool);
        }
}

TEST_CASE("host products of few, many and very many rows equal the references with any number of threads",
          "[ops][host]") {
    for (const int threads : {1, 2, 16})
        for (const int64_t rows : {5, 8, 9, 300, 800})
            for (const int64_t N : {5, 50, 200}) {
                host::Pool pool(threads);
                Case t;
                t.op = std::to_string(rows) + " rows on " + std::to_string(threads) + " threads";
                const Tensor x = t.real("x", {rows, 37}), w = t.real("w", {N, 37}), bias = t.real("bias", {N});
                t.expect("matmul", matmul(x, w, {.bias = bias, .activation = Activation::Silu}));
                checkAgainstReferences(t, pool);
                CHECK(haveSameBits(runOnHost(t, pool), runOnHost(t, pool)));
            }
}

TEST_CASE("host kernels pass on NaN and infinity as the references do", "[ops][host]") {
    host::Pool pool(2);
    for (const double special : {kNaN, kInfinity, -kInfinity})
        for (const int64_t at : {0, 7, 36}) {
            Case t;
            t.op = std::to_string(special) + " in column " + std::to_string(at);
            const int64_t M = 3, N = 37;
            const Tensor x = t.real("x", {M, N}), w = t.real("w", {N}), square = t.real("square", {5, N});
            t.values["x"][static_cast<size_t>(N + at)] = special;
            t.expect("softmax", softmax(x));
            t.expect("layer norm", layerNorm(x, w, w, 1e-5));
            t.expect("rms norm", rmsNorm(x, w, 1e-5));
            t.expect("matmul", matmul(x, square));
            t.expect("product", batchedMatmul(x, square, {.transposeB = true}));
            for (const Activation activation :
                 {Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Relu})
                t.expect("activation " + std::to_string(static_cast<int>(activation)), activate(x, activation));
            for (int function = 0; function <= static_cast<int>(Unary::Negate); ++function)
                t.expect("function " + std::to_string(function), unary(x, static_cast<Unary>(function)));
            t.expect("clamp", clamp(x, -1, 1));
            for (int function = 0; function <= static_cast<int>(Binary::Equal); ++function) {
                t.expect("of x and w " + std::to_string(function), binary(x, w, static_cast<Binary>(function)));
                t.expect("of w and x " + std::to_string(function), binary(w, x, static_cast<Binary>(function)));
            }
            t.expect("sum", reduce(x, Reduction::Sum, {-1}));
            t.expect("largest", reduce(x, Reduction::Maximum, {-1}));
            t.expect("largest of columns", reduce(x, Reduction::Maximum, {0}));
            t.expect("argmax", toReal(argmax(x)));
            t.expect("order", toReal(sortOrder(x)));
            const Tensor targets = t.integers("targets", {M}, 7), weights = t.real("weights", {M});
            t.expect("cross-entropy", crossEntropy(x, targets, weights, 0));
            checkAgainstReferences(t, pool);
        }
}

TEST_CASE("softmax: scores that have overflowed are not taken for hidden ones", "[ops][host]") {
    host::Pool pool(2);
    for (const double special : {kNaN, -kInfinity, -1e33})
        for (const int64_t others : {0, 1, 12}) { // hidden ones, in the same row
            Case t;
            t.op = std::to_string(special) + " beside " + std::to_string(others);
            t.expect("softmax", softmax(t.real("x", {3, 13})));
            std::vector<double>& x = t.values["x"];
            std::fill_n(x.begin(), 13, static_cast<double>(static_cast<float>(kMasked)));
            std::fill_n(x.begin() + 13, 13, static_cast<double>(static_cast<float>(3 * kMasked))); // by three masks
            std::fill_n(x.begin() + 26, 13, static_cast<double>(static_cast<float>(kMasked)));
            std::fill_n(x.begin() + 26 + others, 13 - others, special);
            const std::vector<float> pattern = runOnHost(t, pool).at("softmax");
            CHECK(std::all_of(pattern.begin(), pattern.begin() + 26, [](float p) { return p == 0; }));
            CHECK(std::all_of(pattern.begin() + 26, pattern.end(), [](float p) { return std::isnan(p); }));
            checkAgainstReferences(t, pool);
        }
}

TEST_CASE("host kernels keep denormal numbers", "[ops][host]") {
    host::Pool pool(1);
    Case t;
    const Tensor x = t.real("x", {2, 21});
    for (double& value : t.values["x"]) value = static_cast<double>(3e-40f);
    t.expect("doubled", affine(x, 2, 0));
    t.expect("added", add(x, x));
    t.expect("scaled", scale(x, 0.5));
    t.expect("sum", reduce(x, Reduction::Sum, {-1}));
    t.expect("largest", reduce(x, Reduction::Maximum, {-1}));
    t.expect("logarithm", unary(x, Unary::Logarithm));
    const Results results = runOnHost(t, pool);
    const auto expected = references(t);
    for (const auto& [name, list] : results)
        for (size_t i = 0; i < list.size(); ++i) {
            INFO(name);
            CHECK(static_cast<double>(list[i]) / expected.at(name)[i] == Approx(1).epsilon(1e-4));
        }
}

TEST_CASE("host attention gives zeros to rows that see nothing", "[ops][host]") {
    host::Pool pool(4);
    for (const int64_t T : {1, 3, 33}) {
        Case t;
        const int64_t S = 40, H = 2, D = 5;
        const AttentionInputs in = attentionCase(t, T, S, H, 1, D, false);
        for (double& position : t.values["qPos"]) position = 3;
        for (double& position : t.values["kPos"]) position += 4; // all are later
        const AttentionRule rule{.scale = 0.3, .causal = true};
        const Tensor z = fusedAttention(in, t.real("gates", {H}), rule);
        t.expect("fused", z);
        const Tensor window = t.integers("window", {8}, 1);
        t.values["window"] = {0, static_cast<double>(T), 0, static_cast<double>(S), 4, 4, 0, 0};
        const Tensor statistics = attentionRowStatistics(in, window, rule);
        t.expect("statistics", statistics);
        t.expect("tile", patternTile(in, statistics, window, rule, H, 4));
        t.expect("pattern", softmax(attentionScores(in, rule)));
        t.expect("mixed", attentionMix(softmax(attentionScores(in, rule)), in.v, in.q));
        for (const auto& [name, list] : runOnHost(t, pool)) {
            INFO(name << " of " << T << " queries");
            CHECK(std::ranges::all_of(list, [](float value) { return value == 0; }));
        }
    }
}
