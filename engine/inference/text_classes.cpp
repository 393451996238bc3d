#include "engine/inference/text_classes.h"

#include "engine/text/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace attn {
namespace {

/// The probabilities of the tokens among those that count.
std::vector<double> sharesIn(std::span<const float> logits, const Passage& passage) {
    constexpr double kHidden = -10000; // the pipeline's
    std::vector<double> shares;
    for (int row = 0; row < std::ssize(logits); ++row)
        shares.push_back(row == 0 || (row >= passage.begin && row < passage.end)
                             ? static_cast<double>(logits[static_cast<size_t>(row)])
                             : kHidden);
    const double largest = shares.empty() ? 0 : std::ranges::max(shares);
    double sum = 0;
    for (double& each : shares) sum += each = std::exp(each - largest);
    for (double& each : shares) each /= sum;
    return shares;
}

} // namespace

Passage passageOf(std::span<const int> tokens, std::span<const int> types, const Tokenizer* tokenizer) {
    types = types.first(std::min(types.size(), tokens.size()));
    const auto second = std::ranges::find(types, 1);
    const bool isPair = second != types.end();
    Passage passage{.begin = isPair ? static_cast<int>(second - types.begin()) : 0,
                    .end = static_cast<int>(
                        isPair ? std::find_if(second, types.end(), [](int type) { return type != 1; }) - types.begin()
                               : std::ssize(tokens))};
    const auto is = [&](int at, std::optional<int> id) { return id && tokens[static_cast<size_t>(at)] == *id; };
    if (!isPair && tokenizer && passage.end > 0 && is(0, tokenizer->beginId())) passage.begin = 1;
    std::optional<int> separator = tokenizer ? tokenizer->endId() : std::nullopt;
    if (!separator && passage.begin > 0) separator = tokens[static_cast<size_t>(passage.begin) - 1];
    if (passage.end > passage.begin && is(passage.end - 1, separator)) --passage.end;
    return passage;
}

std::vector<ClassAnswer> answerSpans(std::span<const float> first, std::span<const float> last, const Passage& passage,
                                     int most) {
    const std::vector<double> begins = sharesIn(first, passage), ends = sharesIn(last, passage);
    std::vector<ClassAnswer> answers;
    for (int begin = std::max(passage.begin, 0); begin < passage.end; ++begin)
        for (int end = begin; end < passage.end; ++end) {
            const auto b = static_cast<size_t>(begin), e = static_cast<size_t>(end);
            answers.push_back({.begin = begin,
                               .end = end + 1,
                               .probability = static_cast<float>(begins[b] * ends[e]),
                               .logit = first[b] + last[e]});
        }
    const auto kept = answers.begin() + std::min(std::ssize(answers), static_cast<std::ptrdiff_t>(most));
    std::ranges::partial_sort(answers, kept, std::greater<>(), &ClassAnswer::logit);
    answers.erase(kept, answers.end());
    return answers;
}

std::vector<ClassAnswer> classAnswers(const TextClasses& classes, int most) {
    if (classes.readout == TextReadout::Span) {
        std::vector<float> first, last;
        for (size_t row = 0; row < static_cast<size_t>(classes.rows()); ++row) {
            first.push_back(classes.logits[2 * row]);
            last.push_back(classes.logits[2 * row + 1]);
        }
        return answerSpans(first, last, classes.passage, most);
    }
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
