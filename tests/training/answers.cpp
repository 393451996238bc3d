#include "engine/training/answers.h"
#include "engine/inference/language_model.h"
#include "engine/training/checkpoint.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/training/short_runs.h"

// Answers come from the model that people use, and are those of the graph that is measured.

using namespace attn;
using namespace attn::test;

namespace {

/// Greedy answers by whole runs of the graph that is measured: each token is put into the inputs before the next is
/// predicted.
std::vector<std::vector<int32_t>> byWholeRuns(Trainer& trainer, int rows, AnswerUntil until) {
    const TaskInstance& task = sequencesOf(trainer)->instance();
    Batch batch = questionsOf(task, Split::Validation, 0, trainer.evaluationRows());
    const auto width = static_cast<size_t>(batch.width(Batch::kInputs)),
               perRow = static_cast<size_t>(trainer.losses().front().perRow);
    std::vector<std::vector<int32_t>> all(static_cast<size_t>(rows));
    for (size_t row = 0; row < all.size(); ++row) { // no row knows its right answer
        const auto begin = batch[Batch::kInputs].begin() + static_cast<std::ptrdiff_t>(row * width);
        std::fill(begin + std::ssize(task.example(Split::Validation, row).prompt),
                  begin + static_cast<std::ptrdiff_t>(width), Batch::kIgnored);
    }
    for (size_t token = 0; token <= width; ++token) {
        const Said said = trainer.say(batch);
        for (size_t row = 0; row < all.size(); ++row) {
            const Example example = task.example(Split::Validation, row);
            std::vector<int32_t>& given = all[row];
            const size_t most =
                until == AnswerUntil::EndToken ? width + 1 - example.prompt.size() : example.answer.size();
            if (given.size() == most) continue;
            if (until == AnswerUntil::EndToken && !given.empty() && given.back() == task.tokenizer().endId()) continue;
            const size_t column = example.prompt.size() - 1 + token;
            given.push_back(said.best(Batch::kTargets, static_cast<int64_t>(row * perRow + column)));
            if (column + 1 < width) batch[Batch::kInputs][row * width + column + 1] = given.back();
        }
    }
    return all;
}

Recipe recipeOf(const std::string& task, const std::string& family, const std::string& attention = {}) {
    Recipe recipe{.task = task, .batch = 8};
    recipe.architecture = {.family = family, .layers = 2, .heads = 2, .width = 16, .attention = attention};
    recipe.architecture.initialDeviation = 0.1; // so that logits differ clearly
    recipe.schedule = {.rate = 3e-3, .warmUp = 1, .steps = 40};
    if (task == "prefix-lm") recipe.settings = {.values = {{"context", 20}}, .data = {.text = "builtin:stories"}};
    return recipe;
}

} // namespace

TEST_CASE("answers: those of the model that people use are those of whole runs, to the token", "[training][gpu]") {
    Recipe recipe = recipeOf("reverse", "gpt2");
    AnswerUntil until = AnswerUntil::RightLength;
    bool hasMemory = true; // of the tokens before; else it runs the whole text for each token
    SECTION("gpt2") {}
    SECTION("llama") { recipe = recipeOf("sort", "llama"); }
    SECTION("in 16 bits") { recipe.precision = DType::BF16; }
    SECTION("distances") { recipe = recipeOf("reverse", "gpt2", "position=alibi, mask=causal"); }
    SECTION("a window") { recipe = recipeOf("sort", "gpt2", "mask=causal & window(4)"); }
    SECTION("a running state") { recipe = recipeOf("sort", "gpt2", "normaliser=linear, mask=causal"); }
    SECTION("a prefix") {
        recipe = recipeOf("prefix-lm", "llama");
        hasMemory = false;
    }
    SECTION("later tokens decide what earlier ones see") {
        recipe = recipeOf(
            "sort", "gpt2",
            GENERATE("normaliser=routing, mask=causal", "heads=shared_query_key(2), normaliser=reformer, mask=causal"));
        hasMemory = false;
    }
    SECTION("translations without a memory, up to the end") {
        recipe = recipeOf("numbers", "marian", "decoder: normaliser=routing, mask=causal"); // T5 needs scores
        until = AnswerUntil::EndToken;
        hasMemory = false;
    }
    SECTION("translations, up to the end") {
        recipe = recipeOf("numbers", GENERATE("t5", "marian", "bart"));
        until = AnswerUntil::EndToken;
    }
    Trainer trainer(recipe, onOneThread());
    CAPTURE(recipe.task, recipe.architecture.family, recipe.architecture.attention);
    CHECK(trainer.writer().noCacheReason().empty() == hasMemory);
    for (const int steps : {0, 12, 12}) { // the model that writes sees each step
        losses(trainer, steps);
        if (steps > 0) trainer.setEvaluationGate(0, 1, 0);
        std::vector<std::vector<int32_t>> given;
        for (TaskAnswer& answer : answersOf(trainer, Split::Validation, 0, 6, until)) given.push_back(answer.given);
        CHECK(given == byWholeRuns(trainer, 6, until));
    }
}

TEST_CASE("answers: they come with the adapters, and take no step of a run's numbers", "[training][gpu]") {
    const TemporaryFolder folder;
    Recipe recipe = recipeOf("sort", "gpt2");
    {
        Trainer first(recipe, onOneThread());
        writeModel(folder / "model", first);
    }
    recipe.start.model = (folder / "model").string();
    recipe.start.adapters = {.rank = 2, .matrices = "*.W_Q,*.W_V,*.W_in"};
    recipe.schedule.rate = 0.05;
    Trainer alone(recipe, onOneThread()), asked(recipe, onOneThread());
    for (int i = 0; i < 4; ++i) {
        std::vector<std::vector<int32_t>> given;
        for (TaskAnswer& answer : answersOf(asked, Split::Validation, 0, 6)) given.push_back(answer.given);
        CHECK(given == byWholeRuns(asked, 6, AnswerUntil::RightLength));
        CHECK(losses(alone, 3) == losses(asked, 3));
    }
}
