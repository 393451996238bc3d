#include "app/lab/widgets/thumbnail_grid_view.h"

#include "app/figures/drawing.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {
constexpr int kGlowMs = 450;
}

ThumbnailGridView::ThumbnailGridView(QWidget* parent)
    : QWidget(parent), theme_(FigureTheme::light()), emptyText_(tr("Nothing to show yet.")) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Attention of all heads: layers down, heads across"));
    glow_.setDuration(kGlowMs);
    glow_.setStartValue(1.0);
    glow_.setEndValue(0.0);
    connect(&glow_, &QVariantAnimation::valueChanged, this, [this](const QVariant& value) {
        figure_.glow = value.toDouble();
        update();
    });
}

void ThumbnailGridView::setGrid(const std::shared_ptr<const PatternGrid>& grid, int keyValueHeads,
                                const std::shared_ptr<const PatternGrid>& before) {
    if (grid == figure_.grid() && keyValueHeads == figure_.keyValueHeads && before == figure_.before()) return;
    const QSize smallest = minimumSizeHint();
    figure_.setGrid(grid, before);
    figure_.keyValueHeads = keyValueHeads;
    figure_.hovered.reset();
    if (minimumSizeHint() != smallest) updateGeometry();
    update();
}

void ThumbnailGridView::setNewest(const std::shared_ptr<const NewestRows>& newest,
                                  const std::shared_ptr<const NewestRows>& before) {
    if (newest == figure_.newest && before == figure_.newestBefore) return;
    figure_.newestBefore = before;
    const bool isGrown = newest && figure_.newest && newest->keys > figure_.newest->keys;
    figure_.newest = newest;
    if (isGrown && isVisible()) {
        // While one token follows another the light stays on instead of flickering.
        glow_.stop();
        figure_.glow = 1;
        glow_.start();
    }
    update();
}

void ThumbnailGridView::setScale(const Scale& scale) {
    figure_.scale = scale;
    update();
}

void ThumbnailGridView::setColours(ColourMapId colours) {
    figure_.colours = colours;
    update();
}

void ThumbnailGridView::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    updateGeometry();
    update();
}

void ThumbnailGridView::setSelected(const HeadChoice& choice) {
    if (choice == figure_.selected) return;
    figure_.selected = choice;
    setAccessibleDescription(describe(choice));
    update();
}

void ThumbnailGridView::setEmptyText(const QString& text) {
    emptyText_ = text;
    update();
}

int ThumbnailGridView::thumbnailPixels() const {
    return static_cast<int>(std::ceil(figureLayout().origin.width() * devicePixelRatioF()));
}

QSize ThumbnailGridView::minimumSizeHint() const { return figure_.smallestSize(theme_).toSize(); }

void ThumbnailGridView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (figure_.isEmpty()) return drawMessage(painter, rect(), emptyText_, theme_);
    figure_.hasFocus = hasFocus();
    figure_.paint(painter, rect(), theme_);
}

void ThumbnailGridView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    if (const auto choice = figure_.choiceAt(event->position(), figureLayout())) {
        choose(*choice);
        emit activated(*choice);
    }
}

void ThumbnailGridView::mouseMoveEvent(QMouseEvent* event) {
    const auto choice = figure_.choiceAt(event->position(), figureLayout());
    if (choice == figure_.hovered) return;
    figure_.hovered = choice;
    setCursor(choice ? Qt::PointingHandCursor : Qt::ArrowCursor);
    update();
}

void ThumbnailGridView::leaveEvent(QEvent*) {
    figure_.hovered.reset();
    update();
}

void ThumbnailGridView::choose(const HeadChoice& choice) {
    if (choice == figure_.selected) return;
    setSelected(choice);
    emit selected(choice);
}

void ThumbnailGridView::move(int layers, int columns) {
    const int layer = std::clamp(figure_.selected.site + layers, 0, figure_.grid()->sites - 1);
    const int column = std::clamp(figure_.columnOf(figure_.selected) + columns, 0, figure_.columns() - 1);
    choose(figure_.choiceOf(layer, column));
}

void ThumbnailGridView::keyPressEvent(QKeyEvent* event) {
    if (figure_.isEmpty()) return QWidget::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_Left:
        return move(0, -1);
    case Qt::Key_Right:
        return move(0, 1);
    case Qt::Key_Up:
        return move(-1, 0);
    case Qt::Key_Down:
        return move(1, 0);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        emit activated(figure_.selected);
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

void ThumbnailGridView::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void ThumbnailGridView::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    update();
}

QString ThumbnailGridView::describe(const HeadChoice& choice) const {
    switch (choice.aggregate) {
    case HeadAggregate::Mean:
        return tr("Layer %1, mean of all heads").arg(choice.site);
    case HeadAggregate::Maximum:
        return tr("Layer %1, maximum of all heads").arg(choice.site);
    case HeadAggregate::None:
        break;
    }
    const QString head = tr("Layer %1, head %2").arg(choice.site).arg(choice.head);
    const int heads = figure_.isEmpty() ? 0 : figure_.grid()->heads, groups = figure_.keyValueHeads;
    if (groups <= 0 || groups >= heads) return head;
    return head + tr(", shares key/value head %1").arg(choice.head / (heads / groups));
}

bool ThumbnailGridView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const auto choice = figure_.choiceAt(help->pos(), figureLayout()))
            QToolTip::showText(help->globalPos(),
                               describe(*choice) + tr(". Click to open it. The strip below is the newest token's row."),
                               this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace attn
