#include "app/lab/workbench/answers.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/workbench/input_kind.h"
#include "engine/inference/vision_model.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace attn {
namespace {

constexpr size_t kShownAnswers = 10; ///< most rows of a table

struct AnswersText {
    Q_DECLARE_TR_FUNCTIONS(attn::Answers)
};

/// The name of an answer: a class, a token, or "#id" if the model has no text for it.
std::string answerName(const ModelInfo& model, int answer) {
    if (model.classes > 0) return model.labelOf(answer);
    const auto at = static_cast<size_t>(answer);
    return at < model.tokenTexts.size() ? model.tokenTexts[at] : "#" + std::to_string(answer);
}

} // namespace

std::vector<float> answerProbabilities(const Snapshot& snapshot, bool isOriginal) {
    if (const auto& answer = isOriginal ? snapshot.originalAnswer : snapshot.answer) return answer->probabilities;
    if (snapshot.model && snapshot.model->classes > 0) {
        const auto& classes = isOriginal ? snapshot.originalClasses : snapshot.classes;
        return classes ? saidOf(classes->logits, classes->activation) : std::vector<float>();
    }
    const auto& next = isOriginal ? snapshot.original : snapshot.next;
    if (!next || next->logits.empty()) return {};
    // Logits that rank no tokens have no probabilities. The session reports them as a failure.
    const bool ranks = std::ranges::none_of(next->logits, [](float x) { return std::isnan(x) || x == INFINITY; }) &&
                       std::ranges::max(next->logits) > -INFINITY;
    return ranks ? probabilitiesOf(next->logits) : std::vector<float>();
}

std::vector<int> likeliestAnswers(const std::vector<float>& probabilities, size_t count) {
    std::vector<int> order(probabilities.size());
    std::iota(order.begin(), order.end(), 0);
    count = std::min(order.size(), count);
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), std::less(),
                              [&](int at) { return std::pair(-probabilities[static_cast<size_t>(at)], at); });
    order.resize(count);
    return order;
}

QString answerTitle(const ModelInfo& model) {
    const bool hasClasses = model.classes > 0;
    return hasClasses && model.activation == ClassActivation::None ? AnswersText::tr("Quantity")
           : hasClasses                                            ? AnswersText::tr("Class")
           : model.writesText()                                    ? AnswersText::tr("Next token")
           : model.maskToken                                       ? AnswersText::tr("Hidden word")
                             : inputKind(model.inputAxis()).say(&InputWords::otherAnswer);
}

QString meaningOfAnswer(const ModelInfo& model) {
    switch (model.activation) {
    case ClassActivation::Sigmoid:
        return AnswersText::tr("Each label has a probability of its own (sigmoid), so they need not sum to 100 %.");
    case ClassActivation::None:
        return AnswersText::tr("It is a regression: its answers are numbers, not probabilities.");
    default:
        return inputKind(model.inputAxis()).say(&InputWords::shares);
    }
}

int sameAnswer(const ModelInfo& from, int answer, const ModelInfo& to) {
    const int count = to.classes > 0 ? to.classes : to.vocabulary;
    const bool hasSameNames = &from == &to || (from.tokenTexts == to.tokenTexts && from.labels == to.labels);
    if (hasSameNames) return answer < count ? answer : -1;
    const std::string name = answerName(from, answer);
    for (int each = 0; each < count; ++each)
        if (answerName(to, each) == name) return each;
    return -1;
}

std::vector<AnswerRow> likelyAnswers(const ModelInfo& a, const std::vector<float>& first, const ModelInfo& b,
                                     const std::vector<float>& second) {
    std::vector<std::pair<int, int>> shown; // the answer of each model
    const std::vector<int> ofFirst = likeliestAnswers(first, kShownAnswers),
                           ofSecond = likeliestAnswers(second, kShownAnswers);
    const auto nameOf = [&](const std::pair<int, int>& answer) {
        return answer.first >= 0 ? answerName(a, answer.first) : answerName(b, answer.second);
    };
    // Two tokens of a model may have one text, of which the other model has one token: the likelier one stands for
    // both.
    const auto isShown = [&](const std::pair<int, int>& answer) {
        return std::ranges::any_of(shown, [&](const std::pair<int, int>& each) {
            return each == answer ||
                   ((each.first == answer.first || each.second == answer.second) && nameOf(each) == nameOf(answer));
        });
    };
    const auto take = [&](std::pair<int, int> answer) {
        if (shown.size() < kShownAnswers && !isShown(answer)) shown.push_back(answer);
    };
    for (size_t at = 0; at < std::max(ofFirst.size(), ofSecond.size()); ++at) {
        if (at < ofFirst.size()) take({ofFirst[at], sameAnswer(a, ofFirst[at], b)});
        if (at < ofSecond.size()) take({sameAnswer(b, ofSecond[at], a), ofSecond[at]});
    }
    const auto of = [](const std::vector<float>& probabilities, int answer) {
        const bool isThere = answer >= 0 && static_cast<size_t>(answer) < probabilities.size();
        return !isThere ? std::nullopt : std::optional(static_cast<double>(probabilities[static_cast<size_t>(answer)]));
    };
    std::vector<AnswerRow> rows;
    for (const auto& [one, other] : shown) {
        rows.push_back({visibleText(QString::fromStdString(nameOf({one, other}))), of(first, one), of(second, other)});
    }
    std::ranges::stable_sort(rows, std::greater(), [](const AnswerRow& row) {
        constexpr double kNone = -std::numeric_limits<double>::infinity(); // a regression may answer less than 0
        return std::max(row.first.value_or(kNone), row.second.value_or(kNone));
    });
    return rows;
}

} // namespace attn
