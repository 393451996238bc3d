#include "app/lab/widgets/linear_layer_view.h"

#include "app/figures/drawing.h"
#include "app/figures/map_figure.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/plot_grid.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/playground/static_layer.h"

#include <QPushButton>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr std::array kNames{"linear.dynamic",      "linear.static",        "linear.dynamicChange",
                            "linear.staticChange", "linear.dynamicOutput", "linear.staticOutput"};

/// Whether two queries ask for the same layers, possibly with different inputs.
bool showSameLayers(const PlaygroundQuery& a, const PlaygroundQuery& b) {
    return a.spec == b.spec && a.seed == b.seed && a.width == b.width && a.other == b.other;
}
bool haveSameInput(const PlaygroundQuery& a, const PlaygroundQuery& b) {
    return a.inputSeed == b.inputSeed && a.layer == b.layer && a.features == b.features && a.tokens == b.tokens &&
           a.keys == b.keys;
}

/// The figure of now - before, for the cells that both have.
MatrixFigure changeFigure(const PlaygroundMap& now, const PlaygroundMap& before, int head) {
    MatrixFigure figure;
    const int64_t rows = std::min(now.rows, before.rows), columns = std::min(now.columns, before.columns);
    const auto a = now.at(head), b = before.at(head);
    std::vector<float> values;
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
            values.push_back(a[static_cast<size_t>(row * now.columns + column)] -
                             b[static_cast<size_t>(row * before.columns + column)]);
    figure.setMatrix(static_cast<int>(rows), static_cast<int>(columns), std::move(values));
    return figure;
}

float largestIn(const MatrixFigure& figure) {
    float largest = 0;
    for (int row = 0; row < figure.rows(); ++row)
        for (int column = 0; column < figure.columns(); ++column)
            if (const float value = figure.valueAt({row, column}); !std::isnan(value))
                largest = std::max(largest, std::abs(value));
    return largest;
}

} // namespace

LinearLayerView::LinearLayerView(QWidget* parent) : QWidget(parent) {
    draw_ = helped(new QPushButton(tr("Draw another input")), "drawInput",
                   tr("Draw other random queries, keys and values, and see which of the two weights changes"));
    summary_ = makeTextLabel("linearSummary");
    reading_ = makeHintLabel("linearReading");
    grid_ = new PlotGrid("linearPlots");
    for (size_t i = 0; i < maps_.size(); ++i) {
        auto* view = maps_[i] = identified(new MatrixView(this), QLatin1String(kNames[i]));
        connect(view, &MatrixView::pointedAt, this, [this, view](const std::optional<MatrixCell>& cell) {
            lastUsed_ = view;
            reading_->setText(cell ? readingOf(view->figure(), *cell) : QString());
        });
    }
    makeColumn(this, spacing::kTight, {makeRow({draw_, {summary_, 1}}), {grid_, 1}, reading_});
    grid_->setPlots({maps_.begin(), maps_.end()});
    connect(draw_, &QPushButton::clicked, this, [this] {
        ++draws_;
        emit queryChanged();
    });
}

PlaygroundQuery LinearLayerView::query(PlaygroundQuery query) const {
    query.other = staticLayerLike(query.spec);
    if (!query.layer && !query.features) query.inputSeed = query.seed + draws_;
    return query;
}

std::optional<float> LinearLayerView::showLayer(size_t column, const std::vector<PlaygroundMap>& maps,
                                                const std::vector<PlaygroundMap>* before, const AttentionSpec& spec,
                                                int head) {
    const bool isDynamic = column == 0;
    std::array<MatrixFigure, 3> figures; // weight, change, output
    std::optional<float> largest;
    const PlaygroundMap* weight = findMap(maps, "pattern");
    if (weight) figures[0] = mapFigure(*weight, spec, head, 0, labels_);
    const PlaygroundMap* earlier = weight && before ? findMap(*before, "pattern") : nullptr;
    if (earlier) {
        MatrixFigure change = changeFigure(*weight, *earlier, head);
        largest = largestIn(change);
        change.rowTitle = figures[0].rowTitle;
        change.columnTitle = figures[0].columnTitle;
        change.numbersAxes = true;
        figures[1] = std::move(change);
    }
    if (const PlaygroundMap* output = findMap(maps, "z")) figures[2] = mapFigure(*output, spec, head, 0, labels_);
    figures[0].title = isDynamic ? tr("Attention: W(x)") : tr("Static layer: W");
    figures[0].note = !weight     ? tr("This attention has no weights between tokens.")
                      : isDynamic ? tr("computed from the input x: the pattern")
                                  : tr("learned numbers, the same for every input");
    figures[1].title = isDynamic ? tr("Change of W(x)") : tr("Change of W");
    figures[1].note = earlier ? tr("this input minus the input before") : tr("Change the input to see the change.");
    figures[2].title = isDynamic ? tr("Output W(x) v") : tr("Output W v");
    for (size_t row = 0; row < figures.size(); ++row) {
        MatrixView* view = maps_[2 * row + column];
        view->setToolTip(figures[row].note);
        view->setFigure(std::move(figures[row]));
    }
    return largest;
}

void LinearLayerView::showLayers(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head) {
    if (shown_ && !showSameLayers(shown_->query, snapshot->query)) shown_ = before_ = nullptr;
    if (shown_ && !haveSameInput(shown_->query, snapshot->query)) before_ = shown_;
    shown_ = snapshot;
    lastUsed_ = nullptr;
    const bool isRandom = !snapshot->query.layer && !snapshot->query.features;
    draw_->setVisible(isRandom);
    const auto dynamic = showLayer(0, snapshot->maps, before_ ? &before_->maps : nullptr, snapshot->query.spec, head);
    const auto fixed =
        showLayer(1, snapshot->otherMaps, before_ ? &before_->otherMaps : nullptr, *snapshot->query.other, head);
    QString text = tr("Both layers multiply the values v by a matrix. Attention is a dynamic linear layer: it computes "
                      "W(x) from the input x. A static layer keeps its W.");
    if (dynamic && fixed)
        text +=
            ' ' + tr("With the newest input, W(x) changed by at most %1 and W by at most %2.")
                      .arg(formatShort(static_cast<double>(*dynamic), 3), formatShort(static_cast<double>(*fixed), 3));
    else
        text += ' ' + (isRandom ? tr("Draw another input to see which one changes.")
                                : tr("Change the prompt or the picture to see which one changes."));
    summary_->setText(text);
}

void LinearLayerView::setTheme(const FigureTheme& theme) {
    for (MatrixView* view : maps_) view->setTheme(theme);
}

const Figure& LinearLayerView::current() const { return (lastUsed_ ? lastUsed_ : maps_.front())->figure(); }

} // namespace attn
