#include "app/figures/next_token_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <algorithm>
#include <cmath>

namespace attn {

QRectF NextTokenFigure::barRow(int index, const QRectF& area, const FigureTheme& theme) const {
    const double height = std::round(theme.lineHeight() * 1.2),
                 header = theme.lineHeight() * (title.isEmpty() ? 1.3 : 2.6);
    return {area.left(), area.top() + header + index * height, area.width(), height};
}

void NextTokenFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (bars.empty()) return drawMessage(painter, area, tr("Run a prompt to see what the model expects next."), theme);
    const FigurePage page(painter, area, theme);
    const double margin = spacing::kGap;
    double labelWidth = 0;
    for (const Bar& bar : bars) labelWidth = std::max(labelWidth, textWidth(bar.label, theme.textFont()));
    labelWidth = std::min(labelWidth, area.width() * 0.3);
    const double percentWidth = textWidth(QStringLiteral("100.0 %"), theme.textFont()),
                 logitWidth = textWidth(QStringLiteral("−000.00"), theme.smallFont());
    const double left = area.left() + margin + labelWidth + margin,
                 right = area.right() - 3 * margin - percentWidth - logitWidth;

    const QRectF first = barRow(0, area, theme);
    drawLine(painter, QRectF(area.left() + margin, area.top(), area.width() - 2 * margin, theme.lineHeight() * 1.3),
             kAtLeft, title, theme.titleFont(), theme.text);
    const QRectF names(right + margin, first.top() - theme.lineHeight(), percentWidth, theme.lineHeight());
    drawLine(painter, names.adjusted(-percentWidth, 0, 0, 0), kAtRight, tr("probability"), theme.smallFont(),
             theme.faint);
    drawLine(painter, QRectF(names.right() + margin, names.top(), logitWidth, names.height()), kAtRight, tr("logit"),
             theme.smallFont(), theme.faint);
    for (size_t i = 0; i < bars.size(); ++i) {
        const QRectF row = barRow(static_cast<int>(i), area, theme);
        if (row.bottom() > area.bottom() + 0.5) break;
        const Bar& bar = bars[i];
        const QColor ink = bar.probability > 0 ? theme.text : theme.faint;
        if (static_cast<int>(i) == hovered) painter.fillRect(row, theme.plot);
        drawLine(painter, QRectF(area.left() + margin, row.top(), labelWidth, row.height()), kAtRight, bar.label,
                 theme.textFont(), ink);
        const QRectF track(left, row.top() + 3, std::max(1.0, right - left), row.height() - 6);
        painter.fillRect(track, theme.plot);
        painter.fillRect(
            QRectF(track.topLeft(),
                   QSizeF(track.width() * std::clamp(static_cast<double>(bar.probability), 0.0, 1.0), track.height())),
            theme.prediction);
        drawLine(painter, QRectF(right + margin, row.top(), percentWidth, row.height()), kAtRight,
                 bar.probability > 0 ? formatPercent(static_cast<double>(bar.probability)) : tr("excluded"),
                 theme.textFont(), ink);
        drawLine(painter, QRectF(names.right() + margin, row.top(), logitWidth, row.height()), kAtRight,
                 formatNumber(static_cast<double>(bar.logit), 2), theme.smallFont(), theme.faint);
    }
}

QString NextTokenFigure::csv() const {
    if (bars.empty()) return {};
    QString text = QStringLiteral("token,id,probability,logit\r\n");
    for (const Bar& bar : bars)
        text += csvText(bar.label) + QStringLiteral(",%1,").arg(bar.token) + csvNumber(bar.probability) + ',' +
                csvNumber(bar.logit) + QStringLiteral("\r\n");
    return text;
}

std::vector<NumberArray> NextTokenFigure::numbers() const {
    if (bars.empty()) return {};
    const auto column = [this](const char* name, auto&& field) {
        NumberArray array{name, {static_cast<int64_t>(bars.size())}, {}};
        for (const Bar& bar : bars) array.values.push_back(field(bar));
        return array;
    };
    return {column("token", [](const Bar& bar) { return static_cast<float>(bar.token); }),
            column("probability", [](const Bar& bar) { return bar.probability; }),
            column("logit", [](const Bar& bar) { return bar.logit; })};
}

} // namespace attn
