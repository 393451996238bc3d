#include "engine/inference/text_classes.h"

#include <algorithm>
#include <functional>
#include <span>

namespace attn {
namespace {

std::vector<ClassAnswer> spans(const TextClasses& classes, int from, int most) {
    std::vector<float> first, last; // logits by token of the passage
    for (int row = from; row < classes.rows(); ++row) {
        first.push_back(classes.logits[2 * static_cast<size_t>(row)]);
        last.push_back(classes.logits[2 * static_cast<size_t>(row) + 1]);
    }
    const std::vector<float> firstShares = probabilitiesOf(first), lastShares = probabilitiesOf(last);
    std::vector<ClassAnswer> answers;
    for (size_t begin = 0; begin < first.size(); ++begin)
        for (size_t end = begin; end < first.size(); ++end)
            answers.push_back({.begin = from + static_cast<int>(begin),
                               .end = from + static_cast<int>(end) + 1,
                               .probability = firstShares[begin] * lastShares[end],
                               .logit = first[begin] + last[end]});
    const auto kept = answers.begin() + std::min(std::ssize(answers), static_cast<std::ptrdiff_t>(most));
    std::ranges::partial_sort(answers, kept, std::greater<>(), &ClassAnswer::logit);
    answers.erase(kept, answers.end());
    return answers;
}

} // namespace

std::vector<ClassAnswer> classAnswers(const TextClasses& classes, int from, int most) {
    if (classes.readout == TextReadout::Span) return spans(classes, from, most);
    const size_t labels = classes.labels.size();
    const bool isOneRow = readsOneRow(classes.readout);
    std::vector<ClassAnswer> answers;
    for (int row = 0; row < classes.rows(); ++row) {
        const std::span<const float> logits =
            std::span(classes.logits).subspan(static_cast<size_t>(row) * labels, labels);
        const std::vector<float> shares = saidOf(logits, classes.activation);
        const size_t best = static_cast<size_t>(std::ranges::max_element(logits) - logits.begin());
        for (size_t label = 0; label < labels; ++label)
            if (isOneRow || label == best)
                answers.push_back({.label = static_cast<int>(label),
                                   .begin = row,
                                   .end = row + 1,
                                   .probability = shares[label],
                                   .logit = logits[label]});
    }
    if (isOneRow) std::ranges::stable_sort(answers, std::greater<>(), &ClassAnswer::logit);
    return answers;
}

} // namespace attn
