#include "engine/data/bpe_learner.h"
#include "engine/inference/language_model.h"
#include "engine/models/model_source.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/answers.h"
#include "engine/training/trainer.h"
#include "tests/training/tasks_test.h"

#include <fmt/format.h>

using namespace attn;
using attn::test::refuses;

namespace {

std::unique_ptr<TaskInstance> maskedTask(std::map<std::string, double, std::less<>> values, uint64_t seed = 0) {
    return makeTask(taskNamed("masked-text"),
                    {.values = std::move(values), .seed = seed, .data = {.text = "builtin:stories"}});
}

/// How many targets are masked, replaced by another token, and kept.
std::array<int, 3> fates(const TaskInstance& task, const Batch& batch) {
    std::array<int, 3> counts{};
    for (size_t i = 0; i < batch["targets"].size(); ++i) {
        if (batch["targets"][i] == Batch::kIgnored) continue;
        const bool isMask = batch["inputs"][i] == task.tokenizer().maskId(),
                   isKept = batch["inputs"][i] == batch["targets"][i];
        ++counts[isMask ? 0 : isKept ? 2 : 1];
    }
    return counts;
}

Recipe maskedRecipe() {
    Recipe recipe = suggestedRecipe(taskNamed("masked-text"));
    recipe.settings = {
        .values = {{"context", 24}, {"vocabulary", 150}}, .seed = 3, .data = {.text = "builtin:stories"}};
    recipe.architecture.layers = 1;
    recipe.architecture.width = 16;
    recipe.architecture.heads = 2;
    recipe.schedule = {.rate = 1e-2, .warmUp = 10, .steps = 200};
    recipe.batch = 8;
    return recipe;
}

} // namespace

TEST_CASE("masked text: of the hidden tokens 80 % are masked, 10 % replaced and 10 % kept", "[training]") {
    const auto task = maskedTask({{"context", 64}, {"vocabulary", 300}});
    const Batch batch = task->batch(Split::Train, 0, 400);
    const auto [masked, replaced, kept] = fates(*task, batch);
    const int all = masked + replaced + kept;
    CHECK(all == 400 * 9); // 15 % of 62
    // Four standard deviations of the shares: sqrt(0.1 * 0.9 / 3600) * 4 = 2 %. A random token may be the same.
    CHECK(std::abs(masked - all * 0.8) < all * 0.027);
    CHECK(std::abs(replaced - all * 0.1) < all * 0.02);
    CHECK(std::abs(kept - all * 0.1) < all * 0.02);
    for (size_t row = 0; row < 400; ++row) { // the tokens around the text are never hidden
        CHECK(batch["inputs"][row * 64] == task->tokenizer().beginId());
        CHECK(batch["inputs"][row * 64 + 63] == task->tokenizer().endId());
        CHECK(batch["targets"][row * 64] == Batch::kIgnored);
        CHECK(batch["targets"][row * 64 + 63] == Batch::kIgnored);
    }
}

TEST_CASE("masked text: training hides other tokens each time, validation always the same", "[training]") {
    const auto task = maskedTask({{"context", 16}, {"vocabulary", 300}}),
               other = maskedTask({{"context", 16}, {"vocabulary", 300}}, 7);
    CHECK(task->batch(Split::Train, 0, 8) == task->batch(Split::Train, 0, 8));
    CHECK(task->batch(Split::Train, 0, 8) != task->batch(Split::Train, 1, 8));
    CHECK(task->batch(Split::Train, 0, 8) != other->batch(Split::Train, 0, 8));
    CHECK(task->batch(Split::Validation, 0, 8) == other->batch(Split::Validation, 0, 8));
    // Rows do not depend on how many are asked for at once, and an example is its row.
    const Batch both = task->batch(Split::Validation, 0, 2), second = task->batch(Split::Validation, 1, 1);
    CHECK(std::equal(second["inputs"].begin(), second["inputs"].end(), both["inputs"].begin() + 16));
    const Example example = task->example(Split::Validation, 1);
    CHECK(example.prompt == second["inputs"]);
    CHECK(example.answer.size() == 2); // 15 % of 14
    // Consecutive windows cover the held-out text once.
    const uint64_t rows = *task->rowCount(Split::Validation);
    const Batch beyond = task->batch(Split::Validation, rows, 1);
    CHECK(std::ranges::all_of(beyond["targets"], [](int32_t target) { return target == Batch::kIgnored; }));
}

TEST_CASE("masked text: word pieces merge the most frequent neighbours", "[training]") {
    const std::map<std::string, int64_t> words{{"ab", 5}, {"abc", 3}, {"xbc", 4}};
    // Pairs: a ##b 8; then ab ##c 3, ##b ##c 4, x ##b 4. Of equal pairs, the earlier ids win.
    CHECK(learnWordPieces(words, 7) == std::vector<std::string>{"##b", "##c", "a", "x", "ab", "##bc", "xbc"});
    CHECK(learnWordPieces(words, 5) == std::vector<std::string>{"##b", "##c", "a", "x", "ab"});
    CHECK(learnWordPieces(words, 2) == std::vector<std::string>{"##b", "a"}); // the most frequent characters
    CHECK(learnWordPieces(words, 100).size() == 8);
}

TEST_CASE("masked text: what is trained opens as BERT, and fills in what training measured", "[training][gpu]") {
    Trainer trainer(maskedRecipe(), {.softwareThreads = 0});
    const double first = trainer.step().loss;
    double last = first;
    for (int i = 0; i < 80; ++i) last = trainer.step().loss;
    CHECK(last < first - 0.3); // it learnt: the comparison means something
    const Evaluation evaluation = trainer.evaluate(Split::Validation, 64);
    CHECK(evaluation.metric > 0.02); // of 150 tokens, chance gets 0.7 % right

    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    const auto source = openModelSource(folder.path().string());
    CHECK(source->config().family == "bert");
    CHECK(source->config().readout() == TextReadout::MaskedToken);
    REQUIRE(source->tokenizer());
    CHECK(source->example().find("[MASK]") != std::string::npos);
    CHECK(source->stopTokens().empty());

    // Answers are the most probable tokens where targets stand.
    const auto answers = answersOf(trainer, Split::Validation, 0, 64);
    int right = 0, all = 0;
    for (const TaskAnswer& answer : answers)
        for (size_t i = 0; i < answer.given.size(); ++i, ++all) right += answer.given[i] == answer.example.answer[i];
    CHECK(static_cast<double>(right) / all == Approx(evaluation.metric));

    // The model that was written says the same of each text by itself.
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    for (size_t i = 0; i < 8; ++i) {
        const Batch row = trainer.objective().questions(Split::Validation, i, 1);
        const std::vector<float> logits = model.capture(answers[i].example.prompt, "logits").front().values; // [T,V]
        std::vector<int32_t> expected;
        for (size_t place = 0; place < answers[i].example.prompt.size(); ++place) {
            if (row["targets"][place] == Batch::kIgnored) continue;
            const auto width = static_cast<std::ptrdiff_t>(model.info().vocabulary);
            const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(place) * width;
            expected.push_back(static_cast<int32_t>(std::max_element(begin, begin + width) - begin));
        }
        CHECK(answers[i].given == expected);
    }
}

TEST_CASE("masked text: encoders of composed parts learn, and padding changes no token", "[training][gpu]") {
    const std::string attention =
        GENERATE("mask=longformer(8, 1, 1)", "mask=bigbird(4, 1, 1, 1, 1)", "mask=etc(4, 4)",
                 "mask=blocks(8); position=learned, mask=permuted_blocks(8, 1, 0)",
                 "projections=global, mask=longformer(8, 1, 1)", "normaliser=linformer(16)",
                 "normaliser=linformer(8, 0, 2)", "normaliser=linformer(8, 0, -1)", "mixer=fnet");
    CAPTURE(attention);
    Recipe recipe = maskedRecipe();
    recipe.architecture.attention = "position=learned, " + attention;
    Trainer trainer(recipe, {.softwareThreads = 0});
    const double first = trainer.step().loss;
    double last = first;
    const int steps = attention == "mixer=fnet" ? 90 : 60; // the mixing itself learns nothing
    for (int i = 0; i < steps; ++i) last = trainer.step().loss;
    CHECK(last < first - 0.25);
    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    ModelSpec written = sequencesOf(trainer)->config();
    written.name = model.config().name;
    CHECK(model.config() == written);
    CHECK(isEncoder(model.config()));
    // What stands in the rows of padding does not matter: a text has the same logits after a longer one.
    const std::vector<int> text{5, 9, 2, 11, 7};
    REQUIRE(model.feed(text));
    const std::vector<float> alone(model.logits().begin(), model.logits().end());
    model.truncate(0);
    REQUIRE(model.feed(std::vector<int>{6, 7, 8, 9, 10, 11, 12, 13, 14}));
    model.truncate(0);
    REQUIRE(model.feed(text));
    CHECK(std::ranges::equal(model.logits(), alone));
}

TEST_CASE("masked text: Linformer's layers share a projection, or each head has its own", "[training][gpu]") {
    const auto shapesOf = [](int shared) {
        Recipe recipe = maskedRecipe();
        recipe.architecture.layers = 3;
        recipe.architecture.attention = fmt::format("normaliser=linformer(rank = 4, shared = {})", shared);
        const Trainer trainer(recipe, {.softwareThreads = 0});
        std::map<std::string, std::string> shapes;
        for (const Trainer::Named& parameter : trainer.parameters())
            if (parameter.name.find("normaliser.") != std::string::npos)
                shapes[parameter.name] = parameter.shape.text();
        return shapes;
    };
    const auto byHead = shapesOf(-1), headwise = shapesOf(0), keyValue = shapesOf(1), layerwise = shapesOf(2);
    CHECK(byHead.size() == 6);
    CHECK(headwise.size() == 6);
    CHECK(keyValue.size() == 3);
    REQUIRE(layerwise.size() == 1);
    CHECK(layerwise.begin()->first == "blocks.0.attn.normaliser.E");
    CHECK(byHead.at("blocks.2.attn.normaliser.F") != headwise.at("blocks.2.attn.normaliser.F"));
    CHECK(layerwise.begin()->second == headwise.at("blocks.0.attn.normaliser.E"));
}

TEST_CASE("masked text: BERT's parts composed give the numbers of BERT", "[training][gpu]") {
    Recipe plain = maskedRecipe(), composed = plain;
    composed.architecture.attention = "mask=full";
    Trainer bert(plain, {.softwareThreads = 0}), parts(composed, {.softwareThreads = 0});
    const TemporaryFolder folder;
    parts.objective().writeModel(folder.path(), [&](const std::string& name) { return bert.read(name); });
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    CHECK(model.config().family == "attention-lab");
    const TemporaryFolder same;
    bert.objective().writeModel(same.path(), [&](const std::string& name) {
        return name == "pos_embed.W_pos" ? std::vector<float>(bert.read(name).size()) : bert.read(name);
    });
    LanguageModel expected(openModelSource(same.path().string()), {.device = {.softwareThreads = 0}});
    const std::vector<int> text{5, 9, 2, 11, 7};
    REQUIRE(model.feed(text));
    REQUIRE(expected.feed(text));
    REQUIRE(model.logits().size() == expected.logits().size());
    for (size_t i = 0; i < model.logits().size(); ++i)
        CHECK(model.logits()[i] == Approx(expected.logits()[i]).margin(1e-5));
}

TEST_CASE("masked text: settings that cannot work are refused with the remedy", "[training]") {
    CHECK(refuses([] { maskedTask({{"context", 20}}); }, "20 is not a multiple of 8; choose 24"));
    CHECK(refuses([] { makeTask(taskNamed("masked-text"), {}); }, "choose a UTF-8 text file, or builtin:stories"));
    const TemporaryFolder folder;
    std::ofstream(folder / "short.txt") << "one line\ntwo lines\n";
    CHECK(refuses([&] { makeTask(taskNamed("masked-text"), {.data = {.text = folder / "short.txt"}}); },
                  "too long for a text with"));
    for (const auto& [change, part] : std::vector<std::pair<void (*)(Recipe&), std::string>>{
             {[](Recipe& r) { r.architecture.family = "gpt2"; }, "choose bert"},
             {[](Recipe& r) { r.architecture.attention = "normaliser=efficient"; },
              "no scores that could hide the padding"},
             {[](Recipe& r) { r.architecture.bias = false; }, "choose true"},
             {[](Recipe& r) { r.task = "sort"; }, "choose gpt2 or llama"}}) {
        Recipe recipe = maskedRecipe();
        change(recipe);
        CHECK(refuses([&] { check(recipe); }, part));
    }
}
