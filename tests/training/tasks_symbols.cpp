#include "tests/training/tasks_test.h"

using namespace attn;
using attn::test::shown;
using Words = std::vector<std::string>;

namespace {

const std::string kEnd = "<|endoftext|>";

Words wordsOf(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

/// The words before the first that is equal.
Words before(const Words& words, const std::string& mark) { return {words.begin(), std::ranges::find(words, mark)}; }

/// Asks for 300 examples of each split and checks every answer.
void checkAnswers(const TaskInstance& task, const std::function<std::string(const Words& prompt)>& answer) {
    for (const Split split : {Split::Train, Split::Validation, Split::Test})
        for (uint64_t i = 0; i < 300; ++i) {
            const Example example = task.example(split, i);
            const std::string prompt = shown(task, example.prompt);
            CAPTURE(prompt);
            CHECK(shown(task, example.answer) == answer(wordsOf(prompt)));
        }
}

} // namespace

TEST_CASE("copy: the answer is the prompt", "[training]") {
    const double varied = GENERATE(0.0, 1.0);
    std::set<size_t> lengths;
    checkAnswers(*test::task("copy", {{"varied", varied}}), [&](const Words& prompt) {
        const Words letters = before(prompt, "=");
        lengths.insert(letters.size());
        return joined(letters) + " " + kEnd;
    });
    CHECK(lengths.size() == (varied == 0 ? 1 : 12));
}

TEST_CASE("reverse: the answer is the prompt backwards", "[training]") {
    checkAnswers(*test::task("reverse"), [](const Words& prompt) {
        Words letters = before(prompt, "=");
        std::ranges::reverse(letters);
        return joined(letters) + " " + kEnd;
    });
}

TEST_CASE("sort: the answer is in rising order", "[training]") {
    for (const double values : {10.0, 100.0})
        checkAnswers(*test::task("sort", {{"values", values}}), [](const Words& prompt) {
            std::multiset<int> numbers;
            for (const std::string& word : before(prompt, "=")) numbers.insert(std::stoi(word));
            Words answer;
            for (const int number : numbers) answer.push_back(std::to_string(number));
            return joined(answer) + " " + kEnd;
        });
    // Six digits, "=", six digits and the end in thirteen columns.
    CHECK(test::task("sort")->contextLength() == 13);
}

TEST_CASE("add: the answer is the sum, and long carries occur", "[training]") {
    const double reversed = GENERATE(0.0, 1.0);
    int longCarries = 0;
    checkAnswers(*test::task("add", {{"digits", 5}, {"reversed", reversed}}), [&](const Words& prompt) {
        const std::string text = [&] {
            std::string all;
            for (const std::string& word : prompt) all += word;
            return all;
        }();
        REQUIRE(text.size() == 12);
        REQUIRE(text[5] == '+');
        const int a = std::stoi(text.substr(0, 5)), b = std::stoi(text.substr(6, 5));
        longCarries += a % 10000 + b % 10000 >= 10000 && (a / 10 % 1000) + (b / 10 % 1000) == 999;
        std::string sum = std::to_string(1000000 + a + b).substr(1);
        if (reversed != 0) std::ranges::reverse(sum);
        std::string spaced;
        for (const char digit : sum) spaced += std::string(1, digit) + " ";
        return spaced + kEnd;
    });
    CHECK(longCarries > 10); // of 900
}

TEST_CASE("modular addition: the answer wraps around, and the share of trained pairs is as set", "[training]") {
    const auto answer = [](int modulus) {
        return [modulus](const Words& prompt) {
            REQUIRE(prompt.size() == 4);
            return std::to_string((std::stoi(prompt[0]) + std::stoi(prompt[2])) % modulus) + " " + kEnd;
        };
    };
    checkAnswers(*test::task("modular-addition"), answer(59));
    checkAnswers(*test::task("modular-addition", {{"modulus", 211}}), answer(211));

    const auto task = test::task("modular-addition", {{"modulus", 20}, {"share", 0.3}});
    std::set<std::string> trained;
    for (uint64_t i = 0; i < 4000; ++i) trained.insert(shown(*task, task->example(Split::Train, i).prompt));
    CHECK(std::abs(static_cast<double>(trained.size()) / 400 - 0.3) < 0.07);
}

TEST_CASE("induction: every asked token follows the earlier copy of the one before it", "[training]") {
    std::set<size_t> periods;
    checkAnswers(*test::task("induction"), [&](const Words& prompt) {
        const size_t period = prompt.size() - 1;
        periods.insert(period);
        CHECK(std::set<std::string>(prompt.begin(), prompt.end() - 1).size() == period);
        CHECK(prompt.back() == prompt.front());
        Words all = prompt;
        while (all.size() < 65) {
            // Found by content: the token after the last earlier occurrence.
            const auto earlier = std::find(std::next(all.rbegin()), all.rend(), all.back());
            all.push_back(*std::prev(earlier));
        }
        return joined({all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end()});
    });
    CHECK(*periods.begin() == 4);
    CHECK(*periods.rbegin() == 32);
}

TEST_CASE("associative recall: each query gets its key's value", "[training]") {
    const auto task = test::task("associative-recall");
    checkAnswers(*task, [](const Words& prompt) {
        const Words pairs = before(prompt, "?");
        REQUIRE(pairs.size() == 16);
        for (size_t i = 0; i + 1 < 16; i += 2)
            if (pairs[i] == prompt.back()) return pairs[i + 1];
        return std::string("no such key");
    });
    const Batch batch = task->batch(Split::Train, 0, 4);
    CHECK(std::ranges::count_if(batch["targets"], [](int32_t id) { return id != Batch::kIgnored; }) == 4 * 4);
}

TEST_CASE("delayed recall: the answer is the letters without the dots", "[training]") {
    for (const double scattered : {0.0, 1.0})
        checkAnswers(*test::task("delayed-recall", {{"scattered", scattered}}), [&](const Words& prompt) {
            Words letters = before(prompt, "=");
            CHECK(letters.size() == 28);
            if (scattered == 0) CHECK(letters[3] != ".");
            std::erase(letters, ".");
            CHECK(letters.size() == 4);
            return joined(letters) + " " + kEnd;
        });
}

TEST_CASE("brackets: beginning and answer together are balanced, as deep as allowed", "[training]") {
    size_t deepest = 0;
    checkAnswers(*test::task("brackets"), [&](const Words& prompt) {
        const std::string opening = "([{", closing = ")]}";
        std::string stack;
        for (const std::string& bracket : prompt) {
            if (const size_t kind = closing.find(bracket); kind != std::string::npos) {
                REQUIRE_FALSE(stack.empty());
                CHECK(stack.back() == opening[kind]);
                stack.pop_back();
            } else {
                stack += bracket;
            }
            deepest = std::max(deepest, stack.size());
        }
        Words answer;
        for (; !stack.empty(); stack.pop_back()) answer.emplace_back(1, closing[opening.find(stack.back())]);
        answer.push_back(kEnd);
        CHECK(answer.size() > 1);
        return joined(answer);
    });
    CHECK(deepest == 4);
}

TEST_CASE("majority: the answer is the one most frequent letter", "[training]") {
    for (const double symbols : {2.0, 5.0})
        checkAnswers(*test::task("majority", {{"symbols", symbols}}), [](const Words& prompt) {
            std::map<std::string, int> counts;
            for (const std::string& letter : before(prompt, "=")) ++counts[letter];
            Words winners;
            const auto isLess = [](const auto& a, const auto& b) { return a.second < b.second; };
            const int most = std::ranges::max_element(counts, isLess)->second;
            for (const auto& [letter, count] : counts)
                if (count == most) winners.push_back(letter);
            return joined(winners) + " " + kEnd;
        });
}

TEST_CASE("compare: the answer is the order of the two places, and all three are frequent", "[training]") {
    std::map<std::string, int> answers;
    checkAnswers(*test::task("compare"), [&](const Words& prompt) {
        REQUIRE(prompt.size() == 9);
        const std::string places = prompt.back();
        REQUIRE(places.size() == 2);
        const auto at = [&](char place) { return std::stoi(prompt[static_cast<size_t>(place - 'a')]); };
        const int difference = at(places[0]) - at(places[1]);
        const std::string order = difference < 0 ? "<" : difference > 0 ? ">" : "=";
        ++answers[order];
        CHECK(places[0] != places[1]);
        return order + " " + kEnd;
    });
    for (const auto& [order, count] : answers) CHECK(count > 200); // of 900
    CHECK(answers.size() == 3);
}

TEST_CASE("parity: the answer counts the ones modulo 2", "[training]") {
    const double running = GENERATE(0.0, 1.0);
    std::set<size_t> lengths;
    checkAnswers(*test::task("parity", {{"running", running}}), [&](const Words& prompt) {
        const Words bits = before(prompt, "=");
        lengths.insert(bits.size());
        Words answer;
        for (size_t i = 1; i <= bits.size(); ++i)
            answer.push_back(
                std::to_string(std::count(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(i), "1") % 2));
        if (running == 0) answer = {answer.back()};
        return joined(answer) + " " + kEnd;
    });
    CHECK(lengths.size() >= 14); // few short sequences are in every split
}
