#include "app/lab/widgets/arcs_view.h"

#include <QMouseEvent>

namespace attn {

ArcsView::ArcsView(QWidget* parent) : FigureView(parent) {
    setMouseTracking(true);
    setAccessibleName(tr("Attention as lines between words"));
}

void ArcsView::setFigure(ArcsFigure figure) {
    const bool isResized = figure.labels.size() != figure_.labels.size();
    if (pointed_ && pointed_->token < static_cast<int>(figure.labels.size())) {
        figure.query = pointed_->isKey ? std::nullopt : std::optional(pointed_->token);
        figure.key = pointed_->isKey ? std::optional(pointed_->token) : std::nullopt;
    }
    figure_ = std::move(figure);
    setAccessibleDescription(figure_.title);
    if (isResized) updateGeometry();
    update();
}

void ArcsView::point(std::optional<ArcsFigure::Place> place) {
    if (place == pointed_) return;
    pointed_ = place;
    emit tokenHovered(place ? place->token : -1);
}

void ArcsView::mouseMoveEvent(QMouseEvent* event) { point(figure_.placeAt(event->position(), rect(), shownTheme())); }

void ArcsView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    if (const auto place = figure_.placeAt(event->position(), rect(), shownTheme())) emit tokenClicked(place->token);
}

void ArcsView::leaveEvent(QEvent*) { point(std::nullopt); }

} // namespace attn
