#include "engine/training/checkpoint.h"
#include "engine/training/precision.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/support/farthest.h"
#include "tests/training/short_runs.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

using namespace attn;
using attn::test::farthest;
using attn::test::losses;
using attn::test::onOneThread;
using attn::test::TemporaryFolder;

namespace {

Recipe recipeIn(DType precision) {
    Recipe recipe{.task = "sort", .batch = 8, .precision = precision};
    recipe.architecture = {.layers = 2, .heads = 2, .width = 16};
    recipe.schedule = {.rate = 3e-3, .warmUp = 5, .steps = 40};
    recipe.settings.seed = 3;
    return recipe;
}

void setScale(Trainer& trainer, double scale) { trainer.write("loss_scale", LossScale{.scale = scale}.numbers()); }

} // namespace

TEST_CASE("mixed precision: models of all kinds learn as with 32 bits, in less memory", "[training][gpu]") {
    struct Model {
        const char *task, *family, *attention;
        int64_t patch = 4;
    };
    const Model model =
        GENERATE(Model{"sort", "gpt2", ""}, Model{"sort", "llama", ""}, Model{"masked-text", "bert", ""},
                 Model{"numbers", "t5", ""}, Model{"shapes", "vit", ""},
                 Model{"sort", "gpt2", "position=rope, mask=causal & window(6)"},
                 Model{"sort", "gpt2", "heads=shared_query_key, position=rope, normaliser=reformer, mask=causal"},
                 Model{"sort", "gpt2", "normaliser=linear, position=learned, mask=causal"},
                 Model{"sort", "gpt2", "position=learned, feed_forward=gelu(factor = 8, chunks = 4), mask=causal"});
    const DType precision = GENERATE(DType::BF16, DType::F16);
    const auto trainerIn = [&](DType dtype) {
        Recipe recipe = suggestedRecipe(taskNamed(model.task));
        recipe.batch = 32;
        recipe.settings.seed = 3;
        if (taskNamed(model.task).readsText) recipe.settings.data.text = "builtin:stories";
        recipe.architecture.family = model.family;
        recipe.architecture.attention = model.attention;
        recipe.architecture.layers = 2;
        recipe.precision = dtype;
        return std::make_unique<Trainer>(recipe, onOneThread());
    };
    const auto whole = trainerIn(DType::F32), rounded = trainerIn(precision);
    const std::vector<double> expected = losses(*whole, 12), found = losses(*rounded, 12);
    INFO(model.family << " " << model.attention << " in " << precisionOf(precision).id << ": " << expected.back()
                      << " and " << found.back());
    CHECK(found != expected);
    CHECK(farthest(found, expected) < 0.05 * expected.front());
    CHECK(rounded->arenaBytes() < whole->arenaBytes());
}

TEST_CASE("mixed precision: gradient checkpointing gives the same bits", "[training][gpu]") {
    const DType precision = GENERATE(DType::BF16, DType::F16);
    Recipe recipe = recipeIn(precision);
    recipe.dropout = 0.1;
    Trainer keeping(recipe, onOneThread());
    recipe.gradientCheckpointing = true;
    Trainer recomputing(recipe, onOneThread());
    CHECK(losses(keeping, 8) == losses(recomputing, 8));
    CHECK(recomputing.arenaBytes() < keeping.arenaBytes());
}

TEST_CASE("mixed precision: gradients of parts of a batch add up to those of the whole", "[training][gpu]") {
    Recipe recipe = recipeIn(DType::F16);
    Trainer whole(recipe, onOneThread());
    recipe.accumulation = 2;
    Trainer parts(recipe, onOneThread());
    CHECK(farthest(losses(whole, 8), losses(parts, 8)) < 5e-3);
}

TEST_CASE("mixed precision: the scale of the loss does not change what is learned", "[training][gpu]") {
    Trainer one(recipeIn(DType::F16), onOneThread()), other(recipeIn(DType::F16), onOneThread());
    setScale(other, 4096);
    CHECK(farthest(losses(one, 12), losses(other, 12)) < 5e-3);
    CHECK(one.lossScale()->skipped == 0);
}

TEST_CASE("mixed precision: without a scale, half precision turns gradients to zero", "[training][gpu]") {
    Recipe recipe = recipeIn(DType::F16);
    recipe.batch = 64;
    Trainer trainer(recipe, onOneThread());
    losses(trainer, 4);
    const double without = trainer.vanishingGradients(1), with = trainer.vanishingGradients(65536);
    INFO(without << " and " << with);
    CHECK(without > 0.02);
    CHECK(with < without / 20);
    CHECK(trainer.stepsDone() == 4);
    Trainer plain(recipeIn(DType::BF16), onOneThread());
    CHECK_THROWS(plain.vanishingGradients(1));
}

TEST_CASE("mixed precision: a step whose gradients overflow is left out, and the scale halved", "[training][gpu]") {
    const int accumulation = GENERATE(1, 2);
    Recipe recipe = recipeIn(DType::F16);
    recipe.accumulation = accumulation;
    Trainer trainer(recipe, onOneThread());
    losses(trainer, 2);
    const std::string name = trainer.parameters().front().name;
    const std::vector<float> before = trainer.read(name), moment = trainer.read("moment." + name);
    setScale(trainer, 0x1p60);
    const Trainer::StepReport report = trainer.step();
    CHECK(report.isSkipped);
    CHECK(std::isfinite(report.loss));
    CHECK(report.gradientNorm == 0);
    CHECK(trainer.read(name) == before);
    CHECK(trainer.read("moment." + name) == moment);
    CHECK(*trainer.lossScale() == LossScale{.scale = 0x1p59, .goodSteps = 0, .skipped = 1});
    setScale(trainer, 1024);
    CHECK_FALSE(trainer.step().isSkipped);
    CHECK(trainer.read(name) != before);
}

TEST_CASE("mixed precision: the scale of the loss grows after many good steps", "[training]") {
    LossScale scale;
    for (int64_t step = 1; step < LossScale::kGoodSteps; ++step) scale.add(false);
    CHECK(scale.scale == 65536);
    scale.add(false);
    CHECK(scale == LossScale{.scale = 131072, .goodSteps = 0, .skipped = 0});
    scale.add(false);
    scale.add(true);
    CHECK(scale == LossScale{.scale = 65536, .goodSteps = 0, .skipped = 1});
    CHECK(LossScale::from(scale.numbers()) == scale);
}

TEST_CASE("mixed precision: a resumed run continues to the bit, with its scale", "[training][gpu]") {
    const TemporaryFolder folder;
    Trainer whole(recipeIn(DType::F16), onOneThread()), first(recipeIn(DType::F16), onOneThread());
    setScale(whole, 0x1p30);
    setScale(first, 0x1p30);
    const std::vector<double> all = losses(whole, 40);
    losses(first, 20);
    REQUIRE(first.lossScale()->skipped > 0);
    REQUIRE(first.lossScale()->skipped < 20);
    const auto checkpoint = saveCheckpoint(folder.path(), first);
    Trainer resumed(recipeIn(DType::F16), onOneThread());
    resume(resumed, checkpoint);
    CHECK(*resumed.lossScale() == *first.lossScale());
    CHECK(losses(resumed, 20) == std::vector<double>(all.begin() + 20, all.end()));
    CHECK(*resumed.lossScale() == *whole.lossScale());
}

TEST_CASE("mixed precision: a recipe keeps the precision, and refuses others and reversible layers", "[training]") {
    for (const Precision& precision : precisions()) {
        const TemporaryFolder folder;
        startRun(folder.path(), recipeIn(precision.dtype));
        CHECK(readRecipe(folder.path() / "recipe.json").precision == precision.dtype);
    }
    CHECK(attn::test::sentenceOf([] { suggestedRecipeWith(R"({"precision": "f8"})"); }).find("f32, bf16, f16") !=
          std::string::npos);
    Recipe recipe = recipeIn(DType::BF16);
    recipe.architecture.attention = "residual=reversible, mask=causal";
    CHECK(attn::test::sentenceOf([&] { const Trainer trainer(recipe, onOneThread()); }).find("reversible") !=
          std::string::npos);
}
