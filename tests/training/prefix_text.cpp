#include "engine/inference/language_model.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/answers.h"
#include "engine/training/trainer.h"
#include "tests/training/tasks_test.h"

using namespace attn;
using attn::test::refuses;

namespace {

Recipe prefixRecipe(const std::string& family) {
    Recipe recipe = suggestedRecipe(taskNamed("prefix-lm"));
    recipe.settings = {.values = {{"context", 20}}, .seed = 3, .data = {.text = "builtin:stories"}};
    recipe.architecture = {.family = family, .layers = 1, .heads = 2, .width = 16, .initialDeviation = 0.1};
    recipe.schedule = {.rate = 1e-2, .warmUp = 10, .steps = 100};
    recipe.batch = 8;
    return recipe;
}

} // namespace

TEST_CASE("prefix: targets begin where the prefix ends, at every place", "[training]") {
    const auto task =
        makeTask(taskNamed("prefix-lm"), {.values = {{"context", 20}}, .data = {.text = "builtin:stories"}});
    const Batch batch = task->batch(Split::Train, 0, 400);
    std::set<std::ptrdiff_t> lengths;
    for (std::ptrdiff_t row = 0; row < batch.rows; ++row) {
        const auto inputs = batch["inputs"].begin() + row * 20, targets = batch["targets"].begin() + row * 20;
        const auto first =
            std::find_if(targets, targets + 20, [](int32_t target) { return target != Batch::kIgnored; });
        lengths.insert(first - targets + 1);
        for (auto at = first - targets; at + 1 < 20; ++at) CHECK(targets[at] == inputs[at + 1]);
        CHECK(targets[19] != Batch::kIgnored);
    }
    CHECK(lengths.size() == 20); // all lengths from 1 to 20
    CHECK(*lengths.begin() == 1);
    CHECK(task->batch(Split::Validation, 0, 4) == task->batch(Split::Validation, 0, 4));
    const uint64_t rows = *task->rowCount(Split::Validation);
    const Batch beyond = task->batch(Split::Validation, rows, 1);
    CHECK(std::ranges::all_of(beyond["targets"], [](int32_t target) { return target == Batch::kIgnored; }));
}

TEST_CASE("prefix: what is trained opens with the same prefix, and writes what training measured", "[training][gpu]") {
    const char* family = GENERATE("gpt2", "llama");
    Trainer trainer(prefixRecipe(family), {.softwareThreads = 0});
    const double before = trainer.evaluate(Split::Validation, 64).loss;
    for (int i = 0; i < 60; ++i) trainer.step();
    CHECK(trainer.evaluate(Split::Validation, 64).loss < before - 0.3);

    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    CHECK(model.config().family == family);
    REQUIRE(model.config().hasPrefix);
    int written = 0;
    for (const TaskAnswer& answer : answersOf(trainer, Split::Validation, 0, 6)) {
        model.truncate(0);
        model.feed(answer.example.prompt);
        for (const int32_t token : answer.given) {
            const auto logits = model.logits();
            CHECK(std::ranges::max_element(logits) - logits.begin() == token);
            ++written;
            if (model.tokens().size() < 20) model.feed(std::array{token});
        }
    }
    CHECK(written > 12);

    // The tokens of the prefix see one another, those after it all before them.
    const std::vector<int> tokens{1, 2, 3, 4, 5, 6, 7, 8};
    model.truncate(0);
    model.feed(std::span(tokens).first(5));
    model.feed(std::span(tokens).subspan(5));
    const CapturedHook pattern = model.capture(tokens, "blocks.0.attn.hook_pattern").front();
    REQUIRE(pattern.values.size() == 2 * 8 * 8);
    for (size_t query = 0; query < 8; ++query)
        for (size_t key = 0; key < 8; ++key) {
            CAPTURE(query, key);
            CHECK((pattern.values[query * 8 + key] > 0) == (key < 5 || key <= query));
        }
}

TEST_CASE("prefix: attention that cannot show a prefix is refused with the remedy", "[training]") {
    for (const char* attention : {"position=alibi, mask=causal", "mask=causal & window(4)", "mask=full"}) {
        Recipe recipe = prefixRecipe("gpt2");
        recipe.architecture.attention = attention;
        CAPTURE(attention);
        CHECK(refuses([&] { check(recipe); }, "attention"));
    }
    Recipe recipe = prefixRecipe("gpt2");
    recipe.architecture.attention = "position=alibi, mask=causal";
    CHECK(refuses([&] { check(recipe); }, "cannot show a prefix in both directions; leave it empty"));
    recipe.architecture.attention = "position=rope, mask=causal";
    check(recipe);
    recipe.architecture = {.family = "bert"};
    CHECK(refuses([&] { check(recipe); }, "choose gpt2 or llama"));
    CHECK(refuses([] { makeTask(taskNamed("prefix-lm"), {}); }, "choose a UTF-8 text file, or builtin:stories"));
}
