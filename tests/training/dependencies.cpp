#include "engine/attention/position/dependency_tree.h"
#include "engine/inference/language_model.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/answers.h"
#include "engine/training/trainer.h"
#include "tests/training/tasks_test.h"

#include <set>

using namespace attn;

TEST_CASE("dependencies: the class of a letter is the letter on which it depends", "[training]") {
    const auto task = test::task("dependencies", {{"letters", 26}});
    CHECK(task->contextLength() == 8);
    CHECK(task->labels().size() == 26);
    for (const Split split : {Split::Train, Split::Validation, Split::Test})
        for (uint64_t index = 0; index < 20; ++index) {
            const Example example = task->example(split, index);
            const std::vector<int32_t>& x = example.prompt;
            REQUIRE(x.size() == 8);
            CHECK_NOTHROW(DependencyTree(std::vector<double>(example.parents.begin(), example.parents.end())));
            for (size_t word = 0; word < x.size(); ++word) {
                const int32_t parent = example.parents[word];
                CHECK(example.answer[word] == x[parent == 0 ? word : static_cast<size_t>(parent) - 1]);
            }
        }
    const Batch batch = task->batch(Split::Train, 0, 16);
    REQUIRE(batch["parents"].size() == size_t{16} * 8);
    std::set<std::vector<int32_t>> trees;
    for (auto row = batch["parents"].begin(); row != batch["parents"].end(); row += 8) trees.emplace(row, row + 8);
    CHECK(trees.size() > 12); // each row has its own
}

TEST_CASE("dependencies: a model that reads the trees finds them, and one with other positions cannot",
          "[training][gpu]") {
    const auto accuracyWith = [](const char* attention) {
        Recipe recipe = suggestedRecipe(taskNamed("dependencies"));
        recipe.architecture.attention = attention;
        Trainer trainer(recipe, {.softwareThreads = 0});
        for (int i = 0; i < 150; ++i) trainer.step();
        return trainer.evaluate(Split::Validation, 128).metric;
    };
    CHECK(accuracyWith("position=dependency_tree") > 0.95);
    CHECK(accuracyWith("position=none") < 0.5); // the root's own letter, and letters that are there twice
    CHECK(accuracyWith("position=learned") < 0.5);
    CHECK_THROWS_WITH(accuracyWith("position=dependency_tree(tree = 2, 0, 2, 3, 3, 3, 3, 3, 3)"),
                      CONTAINS("the tree ends at token 9, but the text has 8 tokens"));
}

TEST_CASE("dependencies: a written model reads the tree that comes with a text", "[training][gpu]") {
    Recipe recipe = suggestedRecipe(taskNamed("dependencies"));
    Trainer trainer(recipe, {.softwareThreads = 0});
    for (int i = 0; i < 150; ++i) trainer.step();
    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    const auto saysOf = [&](const Example& example, const std::vector<int>& parents) {
        model.predict(TextInput{.tokens = example.prompt, .parents = parents});
        std::vector<int32_t> labels;
        for (const ClassAnswer& answer : classAnswers(*model.classes(), 1)) labels.push_back(answer.label);
        return labels;
    };
    const auto answers = answersOf(trainer, Split::Validation, 0, 8);
    const std::vector<int> usual(kExampleTree.begin(), kExampleTree.end());
    int changed = 0;
    for (const TaskAnswer& answer : answers) {
        CHECK(saysOf(answer.example, answer.example.parents) == answer.given); // as training measured, row by row
        const auto own = saysOf(answer.example, {});
        CHECK(own == saysOf(answer.example, usual)); // the tree of the composition
        changed += own == answer.given ? 0 : 1;
    }
    CHECK(changed > 6);
    const std::vector<int>& letters = answers.front().example.prompt;
    CHECK_THROWS_WITH(model.predict(TextInput{.tokens = letters, .parents = {2, 0, 2, 3, 3, 3, 3, 3, 3}}),
                      CONTAINS("the tree ends at token 9, but the text has 8 tokens"));
    CHECK_THROWS_WITH(model.predict(TextInput{.tokens = letters, .parents = {2, 0, 0}}), CONTAINS("both roots"));
    CHECK_THROWS_WITH(model.predict(TextInput{.tokens = letters, .parents = {2, 3, 1}}),
                      CONTAINS("depends on itself through other words"));
    CHECK_NOTHROW(model.predict(TextInput{.tokens = letters, .parents = {2, 0, 2}})); // the others have no position
}
