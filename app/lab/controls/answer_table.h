#pragma once

#include "app/lab/workbench/answers.h"

class QTreeWidget;

namespace attn {

/// Fills a table of four columns: the name, what both runs say, and their difference, which two kinds of answers do not
/// have.
/// @param sign of first - second  @param a, b what the numbers of each run are
void showAnswers(QTreeWidget& table, const std::vector<AnswerRow>& rows, int sign, ClassActivation a,
                 ClassActivation b);

} // namespace attn
