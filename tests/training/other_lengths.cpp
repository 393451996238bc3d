#include "engine/inference/language_model.h"
#include "engine/training/answers.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/support/catch.h"
#include "tests/training/short_runs.h"

#include <cmath>

// A trained model that is measured on sequences of other lengths.

using namespace attn;
using namespace attn::test;

namespace {

/// The mean loss of the answers by whole runs of the model that people use, in nats.
double lossByRuns(Trainer& trainer, int rows) {
    const TaskInstance& task = sequencesOf(trainer)->instance();
    double sum = 0;
    int64_t count = 0;
    for (int row = 0; row < rows; ++row) {
        const Example example = task.example(Split::Validation, static_cast<uint64_t>(row));
        std::vector<int> known(example.prompt.begin(), example.prompt.end());
        for (const int32_t next : example.answer) {
            TextInput input;
            input.tokens = known;
            const std::vector<float> logits = trainer.writer().predict(input);
            double all = 0;
            for (const float logit : logits) all += std::exp(static_cast<double>(logit));
            sum += std::log(all) - static_cast<double>(logits[static_cast<size_t>(next)]);
            ++count;
            known.push_back(next);
        }
    }
    return sum / static_cast<double>(count);
}

} // namespace

TEST_CASE("other lengths: losses are those of a model made for the length, and of whole runs", "[training][gpu]") {
    Recipe recipe{.task = "copy", .batch = 8};
    recipe.architecture = {.family = "gpt2", .layers = 1, .heads = 2, .width = 16};
    recipe.architecture.attention = GENERATE("mask=causal", "position=alibi, mask=causal");
    recipe.architecture.initialDeviation = 0.3;
    recipe.settings.values = {{"length", 6}, {"varied", 0}};
    recipe.schedule = {.rate = 3e-3, .warmUp = 1, .steps = 4};
    Trainer trainer(recipe, onOneThread());
    losses(trainer, 3);
    const int rows = 12;
    const auto same = evaluateAt(trainer, sequencesOf(trainer)->instance(), Split::Validation, rows, 0);
    CHECK(same.loss == Approx(trainer.evaluate(Split::Validation, rows).loss).epsilon(1e-5));
    CHECK(same.loss == Approx(lossByRuns(trainer, rows)).epsilon(1e-4));
    for (const double length : {3, 12, 25}) {
        INFO(length);
        Recipe other = recipe;
        other.settings.values["length"] = length;
        Trainer made(other, onOneThread());
        for (const auto& [name, shape] : trainer.parameters()) made.write(name, trainer.read(name));
        const auto found =
            evaluateAt(trainer, *makeTask(taskNamed("copy"), other.settings), Split::Validation, rows, 0);
        CHECK(found.targets == rows * (static_cast<int64_t>(length) + 1));
        CHECK(found.loss == Approx(made.evaluate(Split::Validation, rows).loss).epsilon(1e-5));
        CHECK(found.loss == Approx(lossByRuns(made, rows)).epsilon(1e-4));
    }
}
