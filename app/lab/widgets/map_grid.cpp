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
            const auto place = static_cast<size_t>(std::ranges::find(views_, view) - views_.begin());
            if (place == large())
                isAlone_ = !isAlone_;
            else
                chosen_ = names_[place];
            arrange();
        });
    }
    for (size_t i = 0; i < names.size(); ++i) {
        views_[i]->setFigure(mapFigure(snapshot->maps[i], snapshot->query.spec, head, plane, labels_));
        // Small maps truncate the note.
        views_[i]->setToolTip(tr("%1\nDouble-click to enlarge this heatmap; once more, to hide the others or to show "
                                 "them again.\nComputed in %2 ms on %3")
                                  .arg(views_[i]->figure().note, QString::number(snapshot->elapsedMs, 'f', 0),
                                       QString::fromStdString(snapshot->device)));
        views_[i]->setObjectName("map." + QString::fromStdString(names[i]));
    }
    count_ = names.size();
    if (names == names_) { // only the numbers under the pointer have changed
        alignCells();
        if (lastUsed_ && lastUsed_->figure().hovered) point(lastUsed_, lastUsed_->figure().hovered);
        return;
    }
    names_ = std::move(names);
    isAlone_ = false;
    lastUsed_ = nullptr;
    arrange();
}

size_t MapGrid::large() const {
    for (const std::string& name : {chosen_, std::string("pattern")}) // another attention may lack the chosen map
        if (const auto found = std::ranges::find(names_, name); found != names_.end())
            return static_cast<size_t>(found - names_.begin());
    return 0;
}

void MapGrid::showPattern() {
    chosen_.clear();
    isAlone_ = false;
    lastUsed_ = nullptr;
    arrange();
}

void MapGrid::arrange() {
    for (MatrixView* view : views_) grid_->removeWidget(view);
    for (int column = 0; column < grid_->columnCount(); ++column) grid_->setColumnStretch(column, 0);
    constexpr int kMostRows = 4, kLargeShare = 3; // of the strip; of the large map, where a column of the strip has 1
    const int others = isAlone_ ? 0 : std::max(0, static_cast<int>(count_) - 1);
    const int columns = (others + kMostRows - 1) / kMostRows;
    const int rows = columns > 0 ? std::max(1, (others + columns - 1) / columns) : 1;
    grid_->setColumnStretch(0, kLargeShare);
    for (int column = 1; column <= columns; ++column) grid_->setColumnStretch(column, 1);
    constexpr int kLeastHeight = 44; // of a map of the strip: four of them fit into the smallest window
    int place = 0;
    for (size_t i = 0; i < views_.size(); ++i) {
        const bool isLarge = i == large(), isShown = i < count_ && (isLarge || !isAlone_);
        if (isShown && isLarge)
            grid_->addWidget(views_[i], 0, 0, rows, 1);
        else if (isShown)
            grid_->addWidget(views_[i], place % rows, 1 + place / rows);
        place += isShown && !isLarge ? 1 : 0;
        views_[i]->setMinimumHeight(isLarge ? 0 : kLeastHeight); // 0: that of the view itself
        views_[i]->setVisible(isShown);
    }
    alignCells();
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
            if (view.isHidden() || (isMeasured && i == large())) continue;
            const bool isWide = view.figure().columns() > view.figure().rows(); // an output of many features
            if (isMeasured) {
                view.setLargestCell(MatrixFigure().largestCell);
                if (!isWide) least = std::min(least, view.figureLayout().cellWidth);
            } else {
                view.setLargestCell(i == large() ? MatrixFigure().largestCell : least);
            }
        }
}

void MapGrid::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    for (MatrixView* view : views_) view->setTheme(theme);
    alignCells();
}

const MatrixView* MapGrid::current() const {
    if (lastUsed_ && !lastUsed_->isHidden()) return lastUsed_;
    return count_ > 0 ? views_[large()] : nullptr;
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
