#include "engine/training/initial_weights.h"
#include "engine/training/checkpoint.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"

#include <algorithm>
#include <cmath>

using namespace attn;

namespace {

std::vector<float> drawn(const char* rule, const char* name, int64_t rows, int64_t columns, uint64_t seed = 1) {
    return initialWeights(initialisationNamed(rule), 8, name, {rows, columns}, 0.02, seed);
}

double deviationOf(const std::vector<float>& values) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(sum / static_cast<double>(values.size()));
}

} // namespace

TEST_CASE("initial weights: each rule has the deviation of its paper", "[training]") {
    const char *in = "blocks.0.mlp.W_in", *out = "blocks.0.mlp.W_out"; // of 256 rows and 64 columns
    // 2 %: 16,384 numbers.
    CHECK(deviationOf(drawn("scaled_normal", in, 256, 64)) == Approx(0.02).epsilon(0.02));
    CHECK(deviationOf(drawn("scaled_normal", out, 256, 64)) == Approx(0.02 / 4).epsilon(0.02)); // sqrt(2 * 8)
    CHECK(deviationOf(drawn("normal", in, 256, 64)) == Approx(0.02).epsilon(0.02));
    CHECK(deviationOf(drawn("normal", out, 256, 64)) == Approx(0.02).epsilon(0.02));
    CHECK(deviationOf(drawn("kaiming", in, 256, 64)) == Approx(std::sqrt(2.0 / 64)).epsilon(0.02));
    CHECK(deviationOf(drawn("xavier", in, 256, 64)) == Approx(std::sqrt(2.0 / 320)).epsilon(0.02)); // a / sqrt(3)
    const std::vector<float> xavier = drawn("xavier", in, 256, 64);
    CHECK(std::ranges::max(xavier) <= std::sqrt(6.0 / 320));
    CHECK(std::ranges::max(xavier) > 0.99 * std::sqrt(6.0 / 320));
    CHECK(deviationOf(drawn("zero_residual", in, 256, 64)) == Approx(0.02).epsilon(0.02));
    CHECK(deviationOf(drawn("zero_residual", out, 256, 64)) == 0);
    CHECK(deviationOf(drawn("zero_residual", "blocks.3.attn.W_O", 64, 64)) == 0);
    for (const Initialisation& rule : initialisations()) {
        INFO(rule.id);
        CHECK(drawn(rule.id.data(), in, 8, 8) == drawn(rule.id.data(), in, 8, 8));
        CHECK(drawn(rule.id.data(), in, 8, 8) != drawn(rule.id.data(), in, 8, 8, 2));
        CHECK(initialWeights(rule, 8, "ln_final.w", {5}, 1, 0) == std::vector<float>(5, 1.0f));
        CHECK(initialWeights(rule, 8, "blocks.0.attn.b_Q", {5}, 1, 0) == std::vector<float>(5, 0.0f));
    }
}

TEST_CASE("initial weights: the shorter side of an orthogonal matrix has orthogonal rows of length 1", "[training]") {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{12, 30}, {30, 12}, {9, 9}}) {
        INFO(rows << " x " << columns);
        const std::vector<float> w = drawn("orthogonal", "m", rows, columns);
        const int64_t count = std::min(rows, columns), length = std::max(rows, columns);
        const auto at = [&, rows = rows, columns = columns](int64_t line, int64_t i) {
            return static_cast<double>(
                w[static_cast<size_t>(rows <= columns ? line * columns + i : i * columns + line)]);
        };
        for (int64_t a = 0; a < count; ++a)
            for (int64_t b = 0; b < count; ++b) {
                double product = 0;
                for (int64_t i = 0; i < length; ++i) product += at(a, i) * at(b, i);
                CHECK(std::abs(product - (a == b ? 1 : 0)) < 1e-6);
            }
    }
}

TEST_CASE("initial weights: a recipe names a rule, keeps it, and refuses others", "[training]") {
    Recipe recipe{.task = "sort"};
    CHECK(recipe.architecture.init == initialisations().front().id);
    recipe.architecture.init = "orthogonal";
    const test::TemporaryFolder folder;
    startRun(folder.path(), recipe);
    CHECK(readRecipe(folder.path() / "recipe.json") == recipe);
    recipe.architecture.init = "good";
    CHECK_THROWS_WITH(check(recipe), CONTAINS("there is no \"good\""));
}

TEST_CASE("initial weights: small numbers learn in the steps in which large ones do not", "[training][gpu]") {
    const auto lossAfter = [](const char* rule, double deviation) {
        Recipe recipe{
            .task = "copy",
            .settings = {.values = {{"length", 3}}, .seed = 1},
            .architecture = {.layers = 2, .heads = 2, .width = 16, .init = rule, .initialDeviation = deviation},
            .schedule = {.rate = 5e-3, .finalRate = 5e-3, .warmUp = 5, .steps = 120},
            .batch = 16};
        Trainer trainer(recipe, {.softwareThreads = 0});
        double last = 0;
        for (int step = 0; step < 120; ++step)
            if (const double loss = trainer.step().loss; step >= 110) last += loss / 10;
        return last;
    };
    const double bad = lossAfter("normal", 1);
    for (const char* rule : {"scaled_normal", "xavier", "kaiming", "orthogonal", "zero_residual"}) {
        INFO(rule);
        CHECK(lossAfter(rule, 0.1) < bad - 0.5);
    }
}
