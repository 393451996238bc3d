#include "app/scope/pattern_view.h"

#include <algorithm>
#include <cmath>

namespace attn::scope {
namespace {

constexpr float kMostZoom = 4; // times the largest fitted cell

/// The start of cell 0 along one axis that makes the pattern fill the rectangle or centres it.
float clampFirst(float first, float cells, float shown) {
    return shown >= cells ? -(shown - cells) / 2 : std::clamp(first, 0.0f, cells - shown);
}

std::pair<int, int> visible(float begin, float origin, float length, float cellSize, int cells) {
    const int first = static_cast<int>(std::floor((begin - origin) / cellSize)),
              last = static_cast<int>(std::ceil((begin + length - origin) / cellSize));
    return {std::clamp(first, 0, cells), std::clamp(last, 0, cells)};
}

} // namespace

void PatternView::place(float x, float y, float width, float height, int rows, int columns, float aspect,
                        float largestCell) {
    x_ = x;
    y_ = y;
    width_ = std::max(width, 1.0f);
    height_ = std::max(height, 1.0f);
    rows_ = std::max(rows, 1);
    columns_ = std::max(columns, 1);
    aspect_ = aspect;
    largestCell_ = largestCell;
    clampZoom();
}

float PatternView::fittedSize() const {
    return std::min(
        {width_ / static_cast<float>(columns_), height_ / static_cast<float>(rows_) / aspect_, largestCell_});
}

void PatternView::clampZoom() {
    if (!zoomed_) return;
    zoomed_->cellSize = std::min(zoomed_->cellSize, largestCell_ * kMostZoom);
    if (zoomed_->cellSize <= fittedSize()) {
        fit();
        return;
    }
    zoomed_->firstKey = clampFirst(zoomed_->firstKey, static_cast<float>(columns_), width_ / zoomed_->cellSize);
    zoomed_->firstQuery =
        clampFirst(zoomed_->firstQuery, static_cast<float>(rows_), height_ / zoomed_->cellSize / aspect_);
}

void PatternView::zoom(float factor, float x, float y) {
    const float size = std::min(cellSize() * factor, largestCell_ * kMostZoom);
    const float key = (x - left()) / cellSize(), query = (y - top()) / cellHeight();
    zoomed_ = {size, key - (x - x_) / size, query - (y - y_) / size / aspect_};
    clampZoom();
}

void PatternView::pan(float dx, float dy) {
    if (!zoomed_) return;
    zoomed_->firstKey -= dx / zoomed_->cellSize;
    zoomed_->firstQuery -= dy / zoomed_->cellSize / aspect_;
    clampZoom();
}

float PatternView::cellSize() const { return zoomed_ ? zoomed_->cellSize : fittedSize(); }
float PatternView::left() const {
    return zoomed_ ? x_ - zoomed_->firstKey * zoomed_->cellSize
                   : x_ + (width_ - cellSize() * static_cast<float>(columns_)) / 2;
}
float PatternView::top() const {
    return zoomed_ ? y_ - zoomed_->firstQuery * cellHeight()
                   : y_ + (height_ - cellHeight() * static_cast<float>(rows_)) / 2;
}

std::optional<Cell> PatternView::cellAt(float x, float y) const {
    if (x < x_ || y < y_ || x >= x_ + width_ || y >= y_ + height_) return std::nullopt;
    const Cell cell{static_cast<int>(std::floor((y - top()) / cellHeight())),
                    static_cast<int>(std::floor((x - left()) / cellSize()))};
    if (cell.query < 0 || cell.key < 0 || cell.query >= rows_ || cell.key >= columns_) return std::nullopt;
    return cell;
}

std::pair<int, int> PatternView::visibleQueries() const { return visible(y_, top(), height_, cellHeight(), rows_); }
std::pair<int, int> PatternView::visibleKeys() const { return visible(x_, left(), width_, cellSize(), columns_); }

} // namespace attn::scope
