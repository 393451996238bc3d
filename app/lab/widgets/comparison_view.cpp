#include "app/lab/widgets/comparison_view.h"

#include "app/figures/map_figure.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/spec_line.h"
#include "app/lab/widgets/widget_makers.h"

#include <QComboBox>
#include <QGridLayout>

#include <algorithm>

namespace attn {
namespace {

constexpr std::array kNames{"mapA", "mapB", "mapDifference"};

LinesFigure divergenceFigure(const PlaygroundMap& map, int head, const std::vector<QString>& labels) {
    LinesFigure figure;
    const auto values = map.at(head);
    figure.title = ComparisonView::tr("Divergence of each row");
    figure.note = ComparisonView::tr("Jensen–Shannon divergence, in bits: 0 = equal, 1 = nothing in common");
    figure.placeTitle = ComparisonView::tr("query");
    if (std::ssize(labels) == map.columns) figure.placeNames = labels;
    figure.isBars = true;
    figure.range = std::pair(0.0, 1.0);
    figure.lines = {{.label = ComparisonView::tr("bits"), .values = {values.begin(), values.end()}}};
    return figure;
}

} // namespace

ComparisonView::ComparisonView(QWidget* parent) : QWidget(parent) {
    kind_ =
        named(new QComboBox, "compareKind", tr("Map to compare"), tr("The kind of map to show for both attentions"));
    kind_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    error_ = helped(makeTextLabel(), "compareError",
                    tr("The difference of the outputs, as a share of the root mean square of A's output"));
    auto* row = makeRow({labelFor(kind_, tr("Compare")), kind_, {error_, 1}});
    grid_ = new QGridLayout;
    grid_->setSpacing(spacing::kTight);
    for (size_t i = 0; i < maps_.size(); ++i) {
        auto* view = maps_[i] = identified(new MatrixView(this), QLatin1String(kNames[i]));
        connect(view, &MatrixView::pointedAt, this,
                [this, view](const std::optional<MatrixCell>& cell) { point(view, cell); });
        connect(view, &MatrixView::activated, this, [this, view] {
            enlarged_ = enlarged_ ? nullptr : view;
            arrange();
        });
    }
    divergence_ = identified(new LinesView(this), "divergence");
    connect(divergence_, &LinesView::pointedAt, this, [this] { emit readingChanged(divergence_->reading()); });
    remark_ = makeHintLabel("compareRemark");
    makeColumn(this, 0, {row, {grid_, 1}, remark_});
    connect(kind_, &QComboBox::activated, this, [this] { setKind(kind_->currentData().toString()); });
    arrange();
}

void ComparisonView::showMaps(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head, int plane) {
    shown_ = snapshot;
    head_ = head;
    plane_ = plane;
    offerKinds();
    refresh();
}

void ComparisonView::offerKinds() {
    std::vector<std::string> names;
    for (const auto* maps : {&shown_->maps, &shown_->otherMaps})
        for (const PlaygroundMap& map : *maps)
            if (std::ranges::find(names, map.name) == names.end()) names.push_back(map.name);
    kind_->clear();
    for (const std::string& name : names) kind_->addItem(mapTitle(name), QString::fromStdString(name));
    const int wanted = kind_->findData(wanted_);
    kind_->setCurrentIndex(wanted >= 0 ? wanted : kind_->findData(QStringLiteral("z")));
}

QString ComparisonView::kind() const { return wanted_; }

void ComparisonView::setKind(const QString& name) {
    if (name.isEmpty()) return;
    wanted_ = name;
    if (!shown_) return;
    offerKinds();
    refresh();
}

void ComparisonView::refresh() {
    const std::string name = kind_->currentData().toString().toStdString();
    const AttentionComparison& comparison = *shown_->comparison;
    const std::array<const PlaygroundMap*, 3> found{findMap(shown_->maps, name), findMap(shown_->otherMaps, name),
                                                    findMap(comparison.differences, name)};
    const std::array titles{tr("A: %1"), tr("B: %1"), tr("A − B: %1")};
    std::array<MatrixFigure, 3> figures;
    for (size_t i = 0; i < maps_.size(); ++i) {
        MatrixFigure& figure = figures[i];
        if (found[i]) {
            figure = mapFigure(*found[i], i == 1 ? *shown_->query.other : shown_->query.spec, head_, plane_, labels_);
            if (i == 2) {
                figure.kind = MatrixFigure::Kind::Signed;
                figure.note = tr("red: more in A; blue: more in B");
            }
        }
        figure.title = titles[i].arg(mapTitle(name));
        if (!found[i])
            figure.note = i < 2 ? tr("This attention forms no such map.")
                                : tr("No difference to show: it needs two heatmaps of the same shape.");
        maps_[i]->setToolTip(
            tr("%1\nDouble-click to enlarge this heatmap, or to show all of them again").arg(figure.note));
    }
    shareScale(figures[0], figures[1]);
    for (size_t i = 0; i < maps_.size(); ++i) maps_[i]->setFigure(std::move(figures[i]));
    const auto percent = [](double share) { return QStringLiteral("%1 %").arg(100 * share, 0, 'g', 3); };
    error_->setText(comparison.output ? tr("The outputs of A and B differ by %1 on average, and by %2 at most.")
                                            .arg(percent(comparison.output->mean), percent(comparison.output->largest))
                                      : tr("The outputs have different shapes."));
    divergence_->setFigure(comparison.divergence ? divergenceFigure(*comparison.divergence, head_, labels_)
                                                 : LinesFigure());
    showSentence(remark_, comparison.remark.empty()
                              ? QString()
                              : tr("No divergence: %1.").arg(QString::fromStdString(comparison.remark)));
    arrange();
    // The numbers under the pointer have changed.
    if (lastUsed_ && lastUsed_->figure().hovered) point(lastUsed_, lastUsed_->figure().hovered);
}

void ComparisonView::arrange() {
    const bool hasDivergence = !divergence_->figure().isEmpty();
    for (QWidget* widget : std::initializer_list<QWidget*>{maps_[0], maps_[1], maps_[2], divergence_})
        grid_->removeWidget(widget);
    int place = 0;
    for (MatrixView* view : maps_) {
        const bool isSeen = !enlarged_ || enlarged_ == view;
        view->setVisible(isSeen);
        if (isSeen) grid_->addWidget(view, place / 2, place % 2);
        if (isSeen) ++place;
    }
    divergence_->setVisible(!enlarged_ && hasDivergence);
    if (!enlarged_ && hasDivergence) grid_->addWidget(divergence_, 1, 1);
}

void ComparisonView::point(const MatrixView* from, const std::optional<MatrixCell>& cell) {
    lastUsed_ = from;
    emit rowPointed(cell ? std::optional(cell->row) : std::nullopt);
    for (MatrixView* view : maps_)
        if (view != from) view->setLinked(cell);
    divergence_->setLinked(cell ? std::optional(cell->row) : std::nullopt);
    QString text;
    if (cell)
        for (MatrixView* view : maps_) {
            const MatrixFigure& figure = view->figure();
            if (figure.isEmpty() || cell->row >= figure.rows() || cell->column >= figure.columns()) continue;
            if (!text.isEmpty()) text += QStringLiteral("   ");
            text += view == from
                        ? readingOf(figure, *cell)
                        : QStringLiteral("%1: %2").arg(figure.title.section(':', 0, 0), valueText(figure, *cell));
        }
    emit readingChanged(text);
}

const Figure& ComparisonView::current() const {
    return (enlarged_ ? enlarged_ : lastUsed_ ? lastUsed_ : maps_[2])->figure();
}

void ComparisonView::setTheme(const FigureTheme& theme) {
    for (MatrixView* view : maps_) view->setTheme(theme);
    divergence_->setTheme(theme);
}

} // namespace attn
