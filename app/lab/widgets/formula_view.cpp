#include "app/lab/widgets/formula_view.h"

#include "app/figures/formula.h"

#include <QPainter>

#include <cmath>

namespace attn {

FormulaView::FormulaView(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Formula"));
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void FormulaView::setText(const QString& text, bool hasVectors) {
    if (text == text_ && hasVectors == hasVectors_) return;
    text_ = text;
    hasVectors_ = hasVectors;
    setAccessibleDescription(text);
    updateGeometry();
    update();
}

QSize FormulaView::sizeHint() const {
    const int wide = 30 * fontMetrics().averageCharWidth();
    return {wide, heightForWidth(width() > 0 ? width() : wide)};
}

int FormulaView::heightForWidth(int width) const {
    return static_cast<int>(std::ceil(Formula(text_, hasVectors_).sizeFor(width, font()).height()));
}

void FormulaView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    Formula(text_, hasVectors_).paint(painter, rect(), font(), palette().color(QPalette::Text));
}

} // namespace attn
