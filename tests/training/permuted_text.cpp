#include "engine/inference/language_model.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/answers.h"
#include "engine/training/trainer.h"
#include "tests/training/short_runs.h"
#include "tests/training/tasks_test.h"

#include <numeric>

using namespace attn;
using attn::test::outputOf;
using attn::test::refuses;

namespace {

Recipe permutedRecipe() {
    Recipe recipe = suggestedRecipe(taskNamed("permutation-lm"));
    recipe.settings = {
        .values = {{"context", 24}, {"vocabulary", 150}}, .seed = 3, .data = {.text = "builtin:stories"}};
    recipe.architecture.layers = 2;
    recipe.architecture.width = 16;
    recipe.architecture.heads = 2;
    recipe.schedule = {.rate = 1e-2, .warmUp = 10, .steps = 200};
    recipe.batch = 8;
    return recipe;
}

/// The logits of the second stream for one row: [24, vocabulary].
std::vector<float> logitsOf(Trainer& trainer, const Batch& batch) {
    const Objective::Forward forward = trainer.objective().forward(1, 0);
    return outputOf(trainer, forward, forward.losses.front().prediction, batch);
}

} // namespace

TEST_CASE("permuted text: every row has an order of its own, whose last part is predicted", "[training]") {
    const auto task =
        makeTask(taskNamed("permutation-lm"),
                 {.values = {{"context", 24}, {"vocabulary", 150}, {"parts", 5}}, .data = {.text = "builtin:stories"}});
    const Batch batch = task->batch(Split::Train, 0, 50);
    REQUIRE(batch["ranks"].size() == batch["inputs"].size());
    std::set<std::vector<int32_t>> orders;
    for (size_t row = 0; row < 50; ++row) {
        std::vector<int32_t> ranks(batch["ranks"].begin() + static_cast<std::ptrdiff_t>(row * 24),
                                   batch["ranks"].begin() + static_cast<std::ptrdiff_t>(row * 24 + 24));
        orders.insert(ranks);
        CHECK(ranks.front() == 0); // the tokens around the text come first
        CHECK(ranks.back() == 0);
        int targets = 0;
        for (size_t place = 0; place < 24; ++place) {
            const int32_t target = batch["targets"][row * 24 + place];
            if (target == Batch::kIgnored) continue;
            ++targets;
            CHECK(target == batch["inputs"][row * 24 + place]); // nothing is hidden in the input
            CHECK(ranks[place] > 22 - 4);                       // of 22 tokens, a fifth
        }
        CHECK(targets == 4);
        std::ranges::sort(ranks);
        std::vector<int32_t> expected(24, 0);
        std::iota(expected.begin() + 2, expected.end(), 1);
        CHECK(ranks == expected);
    }
    CHECK(orders.size() == 50);
    // What a person sees hides the targets.
    const Example example = task->example(Split::Validation, 0);
    CHECK(std::ranges::count(example.prompt, *task->tokenizer().maskId()) == 4);
    CHECK(example.answer.size() == 4);
}

TEST_CASE("permuted text: a prediction depends on the tokens before it in the order, and on no others",
          "[training][gpu]") {
    Trainer trainer(permutedRecipe(), {.softwareThreads = 0});
    for (int i = 0; i < 3; ++i) trainer.step();
    const Batch batch = trainer.objective().batch(Split::Validation, 0, 1);
    const std::vector<float> before = logitsOf(trainer, batch);
    const size_t stride = before.size() / 24;
    const auto place = static_cast<size_t>(std::ranges::find(batch["ranks"], 12) - batch["ranks"].begin());
    Batch other = batch;
    other["inputs"][place] = other["inputs"][place] == 20 ? 21 : 20;
    const std::vector<float> after = logitsOf(trainer, other);
    for (size_t row = 0; row < 24; ++row) {
        const bool isEqual = std::equal(before.begin() + static_cast<std::ptrdiff_t>(row * stride),
                                        before.begin() + static_cast<std::ptrdiff_t>((row + 1) * stride),
                                        after.begin() + static_cast<std::ptrdiff_t>(row * stride));
        CAPTURE(row, batch["ranks"][row]);
        CHECK(isEqual == (batch["ranks"][row] <= 12)); // its own prediction too does not see it
    }
}

TEST_CASE("permuted text: it learns, and what is trained opens as XLNet", "[training][gpu]") {
    Trainer trainer(permutedRecipe(), {.softwareThreads = 0});
    const double first = trainer.evaluate(Split::Validation, 64).loss;
    for (int i = 0; i < 60; ++i) trainer.step();
    const Evaluation evaluation = trainer.evaluate(Split::Validation, 64);
    CHECK(evaluation.loss < first - 0.3);
    CHECK(evaluation.metric > 0.02); // of 150 tokens, chance gets 0.7 % right
    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    const auto source = openModelSource(folder.path().string());
    CHECK(source->config().family == "xlnet");
    CHECK(source->config().hasQueryStream);
    for (const Trainer::Named& parameter : trainer.parameters())
        CHECK(readDense([&](const std::string& name, const Shape& shape,
                            const RowWriter& write) { source->read(name, shape, write); },
                        parameter.name, parameter.shape) == trainer.read(parameter.name));
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    CHECK(model.feed(sequencesOf(trainer)->instance().example(Split::Validation, 0).prompt));
    CHECK(model.logits().size() == static_cast<size_t>(sequencesOf(trainer)->config().tokens.vocabulary));

    Recipe further = permutedRecipe();
    further.start.model = folder.path().string();
    further.settings.data.tokens = kModelTokens;
    Trainer again(further, {.softwareThreads = 0});
    CHECK(again.evaluate(Split::Validation, 64).loss == evaluation.loss);
    further.task = "masked-text";
    further.settings.values.erase("parts");
    CHECK(refuses([&] { Trainer(further, {.softwareThreads = 0}); }, "cannot learn the task masked-text"));
}

TEST_CASE("permuted text: families without a second stream are refused", "[training]") {
    Recipe recipe = permutedRecipe();
    recipe.architecture.family = "bert";
    CHECK(refuses([&] { check(recipe); }, "bert cannot learn the task permutation-lm; choose xlnet"));
}
