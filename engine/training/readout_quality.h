#pragma once

#include "engine/training/tasks/task.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

class Trainer;

/// How many of the spans that a model found are right, and how many of the right ones it found.
struct SpanScore {
    int64_t found = 0, right = 0, all = 0; ///< `right` are both found and among `all`
    double precision() const;
    double recall() const;
    double f1() const; ///< harmonic mean of both; 0 if there are no spans
};

/// A span of words with a tag such as LOC, from the word `begin` to before the word `end`.
struct TagSpan {
    std::string kind;
    size_t begin = 0, end = 0;
    bool operator==(const TagSpan&) const = default;
};
/// The spans of a sentence whose words have tags such as B-LOC, I-LOC, E-LOC, S-LOC and O. A span also begins with
/// I-LOC after another kind or after O.
/// @source Tjong Kim Sang and Buchholz 2000, conlleval; Nakayama 2018, seqeval
std::vector<TagSpan> spansOf(std::span<const std::string> tags);
/// Adds the spans of a sentence to a score. Spans are equal if kind, begin and end are.
void addSpans(SpanScore& score, std::span<const std::string> tags, std::span<const std::string> expected);

/// How well answers are found in passages, by SQuAD's measures.
struct AnswerScore {
    double exact = 0; ///< share of answers that are equal to the right ones
    double f1 = 0;    ///< mean over the answers of the harmonic mean of the shares of right words and of found ones
    int64_t count = 0;
};
/// The words of an answer as SQuAD compares them: in lower case, without punctuation and the articles a, an and the.
std::vector<std::string> answerWords(std::string_view answer);
/// F1 of the words of an answer. @source Rajpurkar et al. 2016, arXiv:1606.05250, section 6.1
double answerF1(std::string_view given, std::string_view expected);

/// The spans of a task that asks for a class of each token. @param count of examples
SpanScore spanScore(Trainer& trainer, Split split, int count);
/// The answers of a task that asks for spans. @param count of examples
AnswerScore answerScore(Trainer& trainer, Split split, int count);

} // namespace attn
