#include "app/lab/controls/patch_embedding_page.h"

#include "app/figures/tiles_figure.h"
#include "app/figures/vision_figures.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/pointed_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/snapshot_views.h"

#include <QComboBox>

#include <utility>

namespace attn {
namespace {

constexpr const char* kFilterKeys[] = {"components", "all"};

} // namespace

PatchEmbeddingPage::PatchEmbeddingPage(Kind kind, Workbench& bench, QWidget* parent)
    : QWidget(parent), kind_(kind), bench_(bench),
      view_(
          new PointedView(kind == Kind::Positions ? tr("Position similarity") : tr("Filters of the patch embedding"))) {
    view_->setObjectName(kind == Kind::Positions ? "modelPositions" : "modelFilters");
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, spacing::kTight, 0, 0);
    if (kind == Kind::Filters) {
        filterKind_ = named(new QComboBox, "modelFilterKind", tr("Filters to show"),
                            tr("The directions in which the filters differ most, or the filters themselves"));
        filterKind_->addItems({tr("Principal components"), tr("All filters")});
        setChoiceKeys(*filterKind_, kFilterKeys);
        column->addWidget(filterKind_);
        connect(filterKind_, &QComboBox::currentIndexChanged, this, &PatchEmbeddingPage::show);
        connect(view_, &PointedView::chosen, view_, &PointedView::setChosen);
    } else {
        connect(view_, &PointedView::chosen, &bench_.pictures(), &PictureBench::togglePatch);
        connect(&bench_, &Workbench::selectionChanged, this, [this] { view_->setChosen(bench_.selection().row); });
    }
    column->addWidget(view_, 1);
    followTheme(bench_, view_);
}

void PatchEmbeddingPage::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewModel = !snapshot_ || snapshot_->model != snapshot->model;
    snapshot_ = snapshot;
    const auto result = resultIn(snapshot->analyses, PatchEmbeddingAnalysis{}.key());
    if (!result && shown_) asked_ = nullptr; // other parameters
    const QString problem = failureIn(*snapshot, PatchEmbeddingAnalysis{}.key());
    const bool isNewProblem = std::exchange(problem_, problem) != problem;
    if (isNewModel || isNewProblem || result != shown_ || !view_->figure()) {
        shown_ = result;
        show();
    }
    ask();
}

void PatchEmbeddingPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    ask();
}

void PatchEmbeddingPage::ask() {
    const bool isWanted = isVisible() && snapshot_ && snapshot_->answer && !shown_ && asked_ != snapshot_->model;
    if (!isWanted) return;
    asked_ = snapshot_->model;
    bench_.post(RunAnalysisCommand{std::make_shared<PatchEmbeddingAnalysis>()});
}

void PatchEmbeddingPage::show() {
    if (!snapshot_) return;
    const PictureRun run = pictureRun(*snapshot_);
    if (kind_ == Kind::Positions) {
        setFigure(positionsFigure(run));
        view_->setChosen(bench_.selection().row);
    } else {
        setFigure(filtersFigure(run, filterKind_->currentIndex() == 1));
    }
}

void PatchEmbeddingPage::setFigure(std::unique_ptr<TilesFigure> figure) {
    if (!problem_.isEmpty()) figure->emptyText = problem_;
    view_->setFigure(std::move(figure));
}

QJsonObject PatchEmbeddingPage::saveView() const { return {{"filters", savedChoice(*filterKind_)}}; }

void PatchEmbeddingPage::restoreView(const QJsonObject& view) {
    restoreChoice(*filterKind_, view["filters"], kFilterKeys);
}

ExportNumbers PatchEmbeddingPage::numbers() const {
    return view_->figure() ? numbersOf(*view_->figure()) : ExportNumbers{};
}

} // namespace attn
