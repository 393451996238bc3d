#include "app/lab/panels/vision_views.h"

#include "app/figures/vision_figures.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/shown_picture.h"
#include "app/lab/panels/vision_changes.h"
#include "app/lab/panels/vision_comparison.h"
#include "app/lab/panels/vision_lenses.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/pointed_view.h"

#include <QComboBox>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace attn {
namespace {

constexpr const char* kPageKeys[] = {"heads", "distance", "positions", "filters", "compare", "changes", "lenses"};
constexpr const char* kFilterKeys[] = {"components", "all"};

} // namespace

VisionViews::VisionViews(Workbench& bench, QWidget* parent)
    : QWidget(parent), shown_(std::make_shared<VisionSnapshot>()),
      heads_(new PointedView(tr("Every head of every layer"))),
      distance_(new PointedView(tr("Attention distance of every head"))),
      positions_(new PointedView(tr("Position similarity"))),
      filters_(new PointedView(tr("Filters of the patch embedding"))), page_(new QComboBox), filterKind_(new QComboBox),
      pages_(new QStackedWidget), comparison_(new VisionComparison(bench)), changes_(new VisionChanges),
      lenses_(new VisionLenses(bench)) {
    page_->setObjectName("visionBeside");
    page_->setAccessibleName(tr("View beside the picture"));
    heads_->setObjectName("visionHeads");
    distance_->setObjectName("visionDistance");
    positions_->setObjectName("visionPositions");
    filters_->setObjectName("visionFilters");
    filterKind_->setObjectName("visionFilterKind");
    filterKind_->setAccessibleName(tr("Filters to show"));
    filterKind_->setToolTip(tr("The directions in which the filters differ most, or the filters themselves"));
    filterKind_->addItems({tr("Principal components"), tr("All filters")});
    setChoiceKeys(*filterKind_, kFilterKeys);
    auto* filters = new QWidget;
    auto* column = new QVBoxLayout(filters);
    column->setContentsMargins(0, 4, 0, 0);
    column->addWidget(filterKind_);
    column->addWidget(filters_, 1);
    const auto add = [this](QWidget* widget, const QString& title, const QString& help) {
        pages_->addWidget(widget);
        page_->addItem(title);
        page_->setItemData(page_->count() - 1, help, Qt::ToolTipRole);
    };
    add(heads_, tr("Every head"), tr("Where the chosen token looks in every head of every layer"));
    add(distance_, tr("Attention distance"), tr("How far every head looks, in pixels"));
    add(positions_, tr("Position similarity"), tr("How similar the position embeddings of the patches are"));
    add(filters, tr("Patch filters"), tr("The filters of the patch embedding"));
    add(comparison_, tr("Compare"), tr("Compare with another picture or another model"));
    auto* scroll = new QScrollArea;
    scroll->setAccessibleName(tr("Changes to the model"));
    scroll->setWidget(changes_);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumWidth(changes_->minimumSizeHint().width() + 20);
    add(scroll, tr("Changes"), tr("Remove heads, replace values, set patterns"));
    add(lenses_, tr("Lenses"), tr("Predictions by layer, contributions to a class, and what each head does"));
    setChoiceKeys(*page_, kPageKeys);
    page_->setToolTip(tr("The view beside the picture: every head, attention distance, positions, filters, a "
                         "comparison, changes or lenses"));
    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(page_);
    all->addWidget(pages_, 1);
    connect(page_, &QComboBox::currentIndexChanged, this, [this](int index) {
        pages_->setCurrentIndex(index);
        showEmbedding();
        emit pageChanged();
    });
    connect(changes_, &VisionChanges::headChosen, this, &VisionViews::headChosen);
    connect(lenses_, &VisionLenses::changeRequested, this, &VisionViews::changeRequested);
    connect(lenses_, &VisionLenses::headChosen, this, &VisionViews::headChosen);
    for (const PointedView* view : {heads_, distance_}) // both number the heads of layer 0 first
        connect(view, &PointedView::chosen, this,
                [this](int item) { emit headChosen(item / shown_->model->heads, item % shown_->model->heads); });
    connect(positions_, &PointedView::chosen, this, &VisionViews::patchChosen);
    connect(filters_, &PointedView::chosen, filters_, &PointedView::setChosen);
    connect(filterKind_, &QComboBox::currentIndexChanged, this, &VisionViews::showEmbedding);
    connect(&bench, &Workbench::themeChanged, this, &VisionViews::setTheme);
    setTheme(bench.theme());
    showAnswer(shown_, look_);
}

void VisionViews::setTheme(ThemeId theme) {
    const FigureTheme colours = figureTheme(theme);
    for (PointedView* view : {heads_, distance_, positions_, filters_}) view->setTheme(colours);
    comparison_->setTheme(colours);
    changes_->setTheme(colours);
    lenses_->setTheme(colours);
}

void VisionViews::showState(const std::shared_ptr<const VisionSnapshot>& snapshot) {
    changes_->setSnapshot(snapshot);
    lenses_->setSnapshot(snapshot);
}

void VisionViews::showChanges() { page_->setCurrentIndex(Changes); }

void VisionViews::showAnswer(const std::shared_ptr<const VisionSnapshot>& snapshot, const VisionLook& look) {
    const bool isOther = snapshot->embedding != shown_->embedding || snapshot->model != shown_->model;
    shown_ = snapshot;
    look_ = look;
    showHeads();
    distance_->setFigure(distanceFigure(pictureRun(*shown_), look_.site, look_.isRollout ? -1 : look_.head));
    if (isOther || !positions_->figure()) showEmbedding();
    comparison_->showFirst(shown_, look_);
}

void VisionViews::setLook(const VisionLook& look) {
    look_ = look;
    showHeads();
    comparison_->showFirst(shown_, look_);
}

void VisionViews::setSelected(int layer, int head) {
    const bool isHead = shown_->model && head >= 0;
    for (PointedView* view : {heads_, distance_})
        view->setChosen(isHead ? std::optional(layer * shown_->model->heads + head) : std::nullopt);
    positions_->setChosen(look_.patch);
    changes_->setChosen(layer, head, look_.patch);
}

void VisionViews::follow(const VisionQuery& query) { comparison_->follow(query); }

VisionViews::Page VisionViews::page() const { return static_cast<Page>(page_->currentIndex()); }

bool VisionViews::needsEmbedding() const { return page() == Positions || page() == Filters; }

void VisionViews::showHeads() {
    heads_->setFigure(std::make_unique<HeadOverlaysFigure>(headOverlaysFigure(pictureRun(*shown_), look_)));
}

void VisionViews::showEmbedding() {
    positions_->setFigure(positionsFigure(pictureRun(*shown_)));
    positions_->setChosen(look_.patch);
    filters_->setFigure(filtersFigure(pictureRun(*shown_), filterKind_->currentIndex() == 1));
}

const PointedView* VisionViews::pointed() const {
    switch (page()) {
    case Distance:
        return distance_;
    case Positions:
        return positions_;
    case Filters:
        return filters_;
    default:
        return nullptr;
    }
}

QWidget* VisionViews::figure() const {
    if (page() == Compare) return comparison_->figure();
    if (page() == Changes) return changes_;
    if (page() == Lenses) return lenses_;
    return const_cast<PointedView*>(pointed());
}
ExportNumbers VisionViews::numbers() const {
    if (page() == Changes) return changes_->numbers();
    if (page() == Lenses) return lenses_->numbers();
    if (page() == Compare) return comparison_->numbers();
    return pointed() ? numbersOf(*pointed()->figure()) : ExportNumbers{};
}

QJsonObject VisionViews::saveView() const {
    QJsonObject view = comparison_->saveView();
    view["page"] = savedChoice(*page_);
    view["filters"] = savedChoice(*filterKind_);
    view["lenses"] = lenses_->saveView();
    return view;
}

void VisionViews::restoreView(const QJsonObject& view) {
    comparison_->restoreView(view);
    lenses_->restoreView(view["lenses"].toObject());
    restoreChoice(*filterKind_, view["filters"], kFilterKeys);
    restoreChoice(*page_, view["page"], kPageKeys);
}

} // namespace attn
