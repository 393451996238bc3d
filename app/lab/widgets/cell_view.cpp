#include "app/lab/widgets/cell_view.h"

namespace attn {

CellView::CellView(QWidget* parent) : FigureView(parent, {360, 200}, {}) {
    setAccessibleName(tr("Arithmetic of the selected cell"));
    setMinimumWidth(220);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void CellView::setExplanation(const std::shared_ptr<const CellExplanation>& explanation,
                              const std::shared_ptr<const CellExplanation>& before) {
    if (explanation == figure_.explanation && before == figure_.before) return;
    figure_.explanation = explanation;
    figure_.before = before;
    setAccessibleDescription(explanation ? tr("Attention weight of query %2 on key %1: %3")
                                               .arg(explanation->key)
                                               .arg(explanation->query)
                                               .arg(static_cast<double>(explanation->probability))
                                         : tr("Click a cell of a heatmap to see its arithmetic."));
    refresh();
}

void CellView::setCondition(const QString& condition, double kept) {
    if (condition == figure_.condition && kept == figure_.kept) return;
    figure_.condition = condition;
    figure_.kept = kept;
    refresh();
}

void CellView::setHeatmap(HeadAggregate aggregate, bool isInHeatmap) {
    if (aggregate == figure_.aggregate && isInHeatmap == figure_.isInHeatmap) return;
    figure_.aggregate = aggregate;
    figure_.isInHeatmap = isInHeatmap;
    refresh();
}

void CellView::setLabels(std::vector<QString> queries, std::vector<QString> keys, const QString& site) {
    if (queries == figure_.labels && keys == figure_.keyLabels && site == figure_.site) return;
    figure_.labels = std::move(queries);
    figure_.keyLabels = std::move(keys);
    figure_.site = site;
    refresh();
}

void CellView::refresh() {
    updateGeometry();
    update();
}

int CellView::heightForWidth(int width) const { return static_cast<int>(figure_.heightForWidth(width, leastTheme())); }

} // namespace attn
