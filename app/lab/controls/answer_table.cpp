#include "app/lab/controls/answer_table.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/lab/widgets/plain_table.h"

#include <QTreeWidget>

#include <cmath>

namespace attn {

void showAnswers(QTreeWidget& table, const std::vector<AnswerRow>& rows, int sign, ClassActivation a,
                 ClassActivation b) {
    const auto said = [](std::optional<double> value, ClassActivation activation) {
        return value ? formatSaid(*value, activation) : QStringLiteral("–");
    };
    const bool isRegression = a == ClassActivation::None, isOneKind = isRegression == (b == ClassActivation::None);
    // As the other columns show it, so that the numbers of a row add up.
    const auto shown = [&](double share) { return isRegression ? share : std::round(share * 1000) / 10; };
    QTreeWidgetItem& header = *table.headerItem();
    const auto help = [](ClassActivation activation) {
        return activation == ClassActivation::None ? QTreeWidget::tr("The number that this run gives")
                                                   : QTreeWidget::tr("The probability that this run gives it");
    };
    header.setToolTip(1, help(a));
    header.setToolTip(2, help(b));
    header.setToolTip(3, !isOneKind     ? QTreeWidget::tr("A probability and a number cannot be subtracted")
                         : isRegression ? QTreeWidget::tr("The difference of both numbers")
                                        : QTreeWidget::tr("The difference of both, in percentage points"));
    table.clear();
    for (const AnswerRow& row : rows) {
        const bool hasBoth = isOneKind && row.first && row.second;
        const double difference = hasBoth ? sign * (shown(*row.first) - shown(*row.second)) : 0;
        addPlainRow(&table, {row.name, said(row.first, a), said(row.second, b),
                             hasBoth ? formatSigned(difference, isRegression ? 4 : 1) : QString()});
    }
}

} // namespace attn
