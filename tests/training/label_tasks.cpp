#include "engine/inference/label_scores.h"
#include "engine/training/answers.h"
#include "engine/training/metrics.h"
#include "engine/training/trainer.h"
#include "tests/training/short_runs.h"
#include "tests/training/tasks_test.h"

#include <cmath>

// Tasks whose answers are several labels, or numbers.

using namespace attn;
using attn::test::onOneThread;
using attn::test::refuses;

namespace {

Recipe recipeOf(const char* task, const char* file) {
    Recipe recipe = suggestedRecipe(taskNamed(task));
    recipe.settings = {.values = {{"context", 24}, {"vocabulary", 200}},
                       .seed = 3,
                       .data = {.text = std::string(ATTN_TEST_DIR "/golden/training/") + file}};
    recipe.architecture = {
        .family = "bert", .layers = 1, .heads = 2, .width = 16, .activation = "gelu", .initialDeviation = 0.1};
    recipe.schedule = {.rate = 1e-2, .warmUp = 10, .steps = 100};
    recipe.batch = 16;
    return recipe;
}

} // namespace

TEST_CASE("label tasks: training learns them, and measures as eval does what the model says", "[training][gpu]") {
    const auto [task, file, activation] = GENERATE(std::tuple{"text-labels", "dishes.csv", ClassActivation::Sigmoid},
                                                   std::tuple{"text-numbers", "marks.csv", ClassActivation::None});
    INFO(task);
    Trainer trainer(recipeOf(task, file), onOneThread());
    const Evaluation before = trainer.evaluate(Split::Validation, 100);
    for (int step = 0; step < 100; ++step) trainer.step();
    const Evaluation after = trainer.evaluate(Split::Validation, 100);
    CHECK(after.loss < 0.5 * before.loss);

    const size_t width = sequencesOf(trainer)->instance().labels().size();
    std::vector<double> right;
    std::vector<float> logits;
    for (const TaskAnswer& answer : answersOf(trainer, Split::Validation, 0, static_cast<int>(after.examples))) {
        REQUIRE(answer.said.size() == width);
        for (const float said : answer.said)
            logits.push_back(activation == ClassActivation::None ? said : std::log(said / (1 - said)));
        right.insert(right.end(), answer.example.numbers.begin(), answer.example.numbers.end());
    }
    const LabelScores scores = labelScores(activation, static_cast<int64_t>(width), logits, right);
    CHECK(after.loss == Approx(scores.loss).epsilon(1e-3)); // logits from probabilities in floats
    if (activation == ClassActivation::None) {
        CHECK(after.metric == Approx(after.loss));
        CHECK(after.shares.at(metric_names::kAbsoluteError) ==
              Approx(meanOf(scores.numbers, &NumberScore::absoluteError)).epsilon(1e-3));
    } else {
        CHECK(after.metric == Approx(scores.exactMatch));
        CHECK(after.shares.at(metric_names::kLabelsF1) == Approx(scores.macro().f1));
    }
}

TEST_CASE("label tasks: label smoothing is of one class of several", "[training]") {
    Recipe recipe = recipeOf("text-labels", "dishes.csv");
    recipe.smoothing = 0.1;
    CHECK(refuses([&] { check(recipe); }, "label smoothing is of one class of several"));
}
