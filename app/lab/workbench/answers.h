#pragma once

#include "engine/session/snapshot.h"

#include <QString>

#include <optional>
#include <vector>

namespace attn {

/// The probability of each answer of a run, at temperature 1: of the next token, or of the class of a picture or a
/// text; the numbers of a regression.
/// @param isOriginal of the original run  @return [choices]; empty: there is no answer
std::vector<float> answerProbabilities(const Snapshot& snapshot, bool isOriginal = false);
/// The `count` most probable answers, most probable first.
std::vector<int> likeliestAnswers(const std::vector<float>& probabilities, size_t count);

/// What the answers of a model are, as the title of a column: "Next token", "Hidden word", "Class",
/// "Quantity" of a regression, or "Answer".
QString answerTitle(const ModelInfo& model);

/// What the numbers beside the answers are, in a sentence; empty: nothing that a reader would not expect.
QString meaningOfAnswer(const ModelInfo& model);

/// The answer of another model with the same name; -1: it has none.
int sameAnswer(const ModelInfo& from, int answer, const ModelInfo& to);

/// An answer in two runs.
struct AnswerRow {
    QString name;
    std::optional<double> first, second; ///< probabilities; none: the model has no such answer
};

/// The likely answers of one run, or of two, as rows of a table.
/// @param a, b the models; answers of two models with other tokens or classes are matched by name
/// @param first, second answerProbabilities(); `second` may be empty
std::vector<AnswerRow> likelyAnswers(const ModelInfo& a, const std::vector<float>& first, const ModelInfo& b,
                                     const std::vector<float>& second);

} // namespace attn
