#include "app/lab/widgets/map_grid.h"

#include "app/figures/map_figure.h"
#include "app/figures/spacing.h"

#include <QEvent>
#include <QGridLayout>

#include <algorithm>

namespace attn {

MapGrid::MapGrid(QWidget* parent) : QWidget(parent), grid_(new QGridLayout(this)) {
    grid_->setContentsMargins(0, 0, 0, 0);
    grid_->setSpacing(spacing::kTight);
}

void MapGrid::showMaps(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head, int plane) {
    std::vector<std::string> names;
    for (const PlaygroundMap& map : snapshot->maps) names.push_back(map.name);
    while (views_.size() < names.size()) {
        auto* view = new MatrixView(this);
        view->setTheme(theme_);
        views_.push_back(view);
        connect(view, &MatrixView::pointedAt, this,
                [this, view](const std::optional<MatrixCell>& cell) { point(view, cell); });
        connect(view, &MatrixView::activated, this, [this, view] {
            enlarged_ = enlarged_ ? nullptr : view;
            arrange();
        });
    }
    for (size_t i = 0; i < names.size(); ++i) {
        views_[i]->setFigure(mapFigure(snapshot->maps[i], snapshot->query.spec, head, plane, labels_));
        // Small maps truncate the note.
        views_[i]->setToolTip(
            tr("%1\nDouble-click to enlarge this heatmap, or to show all of them again.\nComputed in %2 ms on %3")
                .arg(views_[i]->figure().note, QString::number(snapshot->elapsedMs, 'f', 0),
                     QString::fromStdString(snapshot->device)));
        views_[i]->setObjectName("map." + QString::fromStdString(names[i]));
    }
    count_ = names.size();
    alignCells();
    if (names == names_) { // only the numbers under the pointer have changed
        if (lastUsed_ && lastUsed_->figure().hovered) point(lastUsed_, lastUsed_->figure().hovered);
        return;
    }
    // Another attention may lack the enlarged map.
    names_ = std::move(names);
    enlarged_ = nullptr;
    lastUsed_ = nullptr;
    arrange();
}

void MapGrid::arrange() {
    for (MatrixView* view : views_) {
        grid_->removeWidget(view);
        view->hide();
    }
    const int columns = enlarged_ || count_ <= 1 ? 1 : count_ <= 4 ? 2 : 3;
    int place = 0;
    for (size_t i = 0; i < count_; ++i) {
        if (enlarged_ && enlarged_ != views_[i]) continue;
        grid_->addWidget(views_[i], place / columns, place % columns);
        views_[i]->show();
        ++place;
    }
}

bool MapGrid::event(QEvent* event) {
    const bool handled = QWidget::event(event);
    if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) alignCells();
    return handled;
}

void MapGrid::alignCells() {
    double least = MatrixFigure().largestCell;
    for (const bool isMeasured : {true, false})
        for (size_t i = 0; i < count_; ++i) {
            MatrixView& view = *views_[i];
            if (view.isHidden()) continue;
            const bool isWide = view.figure().columns() > view.figure().rows(); // an output of many features
            if (isMeasured) {
                view.setLargestCell(MatrixFigure().largestCell);
                if (!isWide) least = std::min(least, view.figureLayout().cellWidth);
            } else {
                view.setLargestCell(least);
            }
        }
}

void MapGrid::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    for (MatrixView* view : views_) view->setTheme(theme);
    alignCells();
}

const MatrixView* MapGrid::current() const {
    if (enlarged_) return enlarged_;
    if (lastUsed_) return lastUsed_;
    const auto pattern = std::ranges::find(names_, "pattern");
    if (pattern != names_.end()) return views_[static_cast<size_t>(pattern - names_.begin())];
    return count_ > 0 ? views_.front() : nullptr;
}

void MapGrid::point(const MatrixView* from, const std::optional<MatrixCell>& cell) {
    const MatrixFigure& figure = from->figure();
    lastUsed_ = from;
    emit rowPointed(cell ? std::optional(cell->row) : std::nullopt);
    for (size_t i = 0; i < count_; ++i)
        if (views_[i] != from && views_[i]->figure().rowTitle == figure.rowTitle &&
            views_[i]->figure().columnTitle == figure.columnTitle)
            views_[i]->setLinked(cell);
    if (!cell) {
        emit readingChanged({});
        return;
    }
    emit readingChanged(readingOf(figure, *cell));
}

} // namespace attn
