#include "engine/training/readout_quality.h"

#include "engine/training/answers.h"
#include "engine/training/trainer.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace attn {
namespace {

double harmonic(double a, double b) { return a + b > 0 ? 2 * a * b / (a + b) : 0; }

/// The share of a number; 0 of nothing.
double shareOf(int64_t part, int64_t all) { return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0; }

/// "B" and "LOC" of "B-LOC"; "O" and nothing of "O".
std::pair<std::string_view, std::string_view> cutTag(std::string_view tag) {
    const size_t dash = tag.find('-');
    return dash == std::string_view::npos ? std::pair{tag, std::string_view()}
                                          : std::pair{tag.substr(0, dash), tag.substr(dash + 1)};
}

} // namespace

double SpanScore::precision() const { return shareOf(right, found); }
double SpanScore::recall() const { return shareOf(right, all); }
double SpanScore::f1() const { return harmonic(precision(), recall()); }

std::vector<TagSpan> spansOf(std::span<const std::string> tags) {
    std::vector<TagSpan> spans;
    bool isOpen = false;
    for (size_t word = 0; word < tags.size(); ++word) {
        const auto [place, kind] = cutTag(tags[word]);
        if (kind.empty()) { // O
            isOpen = false;
            continue;
        }
        const bool continues = isOpen && spans.back().kind == kind && place != "B" && place != "S";
        if (!continues) spans.push_back({.kind = std::string(kind), .begin = word});
        spans.back().end = word + 1;
        isOpen = place != "E" && place != "S";
    }
    return spans;
}

void addSpans(SpanScore& score, std::span<const std::string> tags, std::span<const std::string> expected) {
    const std::vector<TagSpan> found = spansOf(tags), right = spansOf(expected);
    score.found += std::ssize(found);
    score.all += std::ssize(right);
    score.right +=
        std::ranges::count_if(found, [&](const TagSpan& span) { return std::ranges::count(right, span) > 0; });
}

std::vector<std::string> answerWords(std::string_view answer) {
    std::vector<std::string> words;
    std::string word;
    const auto end = [&] {
        if (!word.empty() && word != "a" && word != "an" && word != "the") words.push_back(word);
        word.clear();
    };
    for (const char each : answer) {
        const auto byte = static_cast<unsigned char>(each);
        if (std::isspace(byte) != 0)
            end();
        else if (std::ispunct(byte) == 0)
            word += static_cast<char>(std::tolower(byte));
    }
    end();
    return words;
}

double answerF1(std::string_view given, std::string_view expected) {
    const std::vector<std::string> found = answerWords(given), right = answerWords(expected);
    if (found.empty() || right.empty()) return found == right ? 1 : 0;
    std::map<std::string, int64_t> left;
    for (const std::string& word : right) ++left[word];
    int64_t shared = 0;
    for (const std::string& word : found)
        if (left[word]-- > 0) ++shared;
    return harmonic(shareOf(shared, std::ssize(found)), shareOf(shared, std::ssize(right)));
}

SpanScore spanScore(Trainer& trainer, Split split, int count) {
    SpanScore score;
    const TaskInstance& task = sequencesOf(trainer)->instance();
    for (const TaskAnswer& answer : answersOf(trainer, split, 0, count))
        addSpans(score, task.answerTexts(answer.example, answer.given),
                 task.answerTexts(answer.example, answer.example.answer));
    return score;
}

AnswerScore answerScore(Trainer& trainer, Split split, int count) {
    AnswerScore score;
    const TaskInstance& task = sequencesOf(trainer)->instance();
    const auto words = [&](const Example& example, std::span<const int32_t> answer) {
        if (answer.size() != 2 || answer[0] > answer[1]) return std::string();
        const std::span<const int32_t> prompt = example.prompt;
        const auto end = std::min<size_t>(static_cast<size_t>(answer[1]) + 1, prompt.size()),
                   begin = std::min<size_t>(static_cast<size_t>(answer[0]), end);
        return task.tokenizer().decode(prompt.subspan(begin, end - begin), true);
    };
    for (const TaskAnswer& answer : answersOf(trainer, split, 0, count)) {
        const std::string given = words(answer.example, answer.given),
                          expected = words(answer.example, answer.example.answer);
        score.exact += answerWords(given) == answerWords(expected) ? 1 : 0;
        score.f1 += answerF1(given, expected);
        ++score.count;
    }
    const auto answers = static_cast<double>(std::max<int64_t>(score.count, 1));
    score.exact /= answers;
    score.f1 /= answers;
    return score;
}

} // namespace attn
