#include "engine/inference/language_model.h"
#include "engine/models/bundled.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <array>
#include <sstream>

// What a newcomer sees first of a bundled model is its example: the model must answer it rightly.

using namespace attn;

namespace {

std::unique_ptr<LanguageModel> open(const std::string& path) {
    return std::make_unique<LanguageModel>(openModelSource(path),
                                           LanguageModel::Options{.device = {.validation = true}});
}

/// Writes greedily after the tokens, until the text ends.
std::vector<int> continued(LanguageModel& model, std::vector<int> tokens, size_t most) {
    const auto end = model.tokenizer()->endId();
    std::vector<int> written;
    while (written.size() < most) {
        REQUIRE(model.feed(tokens));
        const int best = static_cast<int>(std::ranges::max_element(model.logits()) - model.logits().begin());
        if (best == end) break;
        written.push_back(best);
        tokens = {best};
    }
    return written;
}

std::string answerTo(LanguageModel& model, const std::string& prompt, size_t most) {
    return model.tokenizer()->decode(continued(model, model.tokenizer()->read(prompt).ids, most), true);
}

std::vector<std::string> wordsOf(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

/// The question of an example, which ends with "=".
std::vector<std::string> questionIn(const std::string& example) {
    std::vector<std::string> words = wordsOf(example);
    REQUIRE(words.back() == "=");
    words.pop_back();
    return words;
}

} // namespace

TEST_CASE("bundled models: their examples are answered rightly", "[models][gpu]") {
    for (const std::string example : {"", "5 2 9 2 7 4 ="}) { // the second is the task's
        const auto sort = open("builtin:sort");
        const std::string asked = example.empty() ? sort->source().example() : example;
        std::vector<std::string> expected = questionIn(asked);
        std::ranges::sort(expected);
        CHECK(wordsOf(answerTo(*sort, asked, 20)) == expected);
    }
    const auto reverse = open("builtin:reverse");
    std::vector<std::string> letters = questionIn(reverse->source().example());
    std::ranges::reverse(letters);
    CHECK(wordsOf(answerTo(*reverse, reverse->source().example(), 30)) == letters);

    const auto add = open("builtin:add"); // 687 + 988: the lowest digit comes first
    REQUIRE(add->source().example() == "7 8 6 + 8 8 9 =");
    CHECK(answerTo(*add, add->source().example(), 10) == "5 7 6 1");

    const auto induction = open("builtin:induction-trained");
    const std::vector<std::string> passage = wordsOf(induction->source().example());
    CHECK(wordsOf(answerTo(*induction, induction->source().example(), 9)) ==
          std::vector<std::string>(passage.begin() + 1, passage.begin() + 10)); // it ends as the passage begins
    REQUIRE(passage.back() == passage.front());

    const auto numbers = open("builtin:numbers-de");
    numbers->setSides({.source = numbers->sourceTokenizer()->read(numbers->source().example()).ids});
    REQUIRE(numbers->source().example() == "two hundred seventy-two");
    CHECK(numbers->tokenizer()->decode(continued(*numbers, {static_cast<int>(numbers->config().startToken)}, 20),
                                       true) == "zweihundertzweiundsiebzig");

    const auto stories = open("builtin:stories");
    CHECK(answerTo(*stories, stories->source().example(), 1) == " she");
}

TEST_CASE("bundled models: induction repeats its example, and without its first head it does not", "[models][gpu]") {
    const auto model = open("builtin:induction");
    const std::string word = "playground ", example = model->source().example();
    const auto repeats = [&] {
        model->truncate(0);
        const std::string text = example + answerTo(*model, example, 40);
        return std::ranges::all_of(
            text, [&, at = size_t{0}](char letter) mutable { return letter == word[at++ % word.size()]; });
    };
    CHECK(repeats());
    for (const auto& [layer, head] : {std::pair{0, 0}, {1, 0}}) {
        model->setGate(layer, head, 0);
        CHECK_FALSE(repeats());
        model->setGate(layer, head, 1);
    }
    CHECK(repeats());
}
