#include "app/lab/panels/vision_lenses.h"

#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/head_table.h"
#include "app/lab/panels/shown_picture.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/workbench/picture_bench.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace attn {

VisionLenses::VisionLenses(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), page_(new QComboBox), target_(new QComboBox),
      explanation_(makeHintLabel("visionLensExplanation")), targetLabel_(new QLabel(tr("Class"))),
      run_(new QPushButton), progress_(new QProgressBar), overlay_(new PatchOverlayView),
      heads_(new HeadTable("patch")), view_(new LensAnswerView("visionLens")) {
    const auto name = [](QWidget* widget, const char* id, const QString& title, const QString& help) {
        widget->setObjectName(QString::fromLatin1(id));
        widget->setAccessibleName(title);
        widget->setToolTip(help);
    };
    name(page_, "visionLensPage", tr("Lens"), tr("The analysis to run on the picture"));
    for (const LensPage* page : lensPagesFor(AxisKind::Patches))
        page_->addItem(QCoreApplication::translate("attn::Lens", page->title), QString::fromLatin1(page->id));
    name(target_, "visionLensTarget", tr("Class"), tr("The class whose logit the lens explains"));
    target_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    target_->setMinimumContentsLength(8);
    name(run_, "visionLensRun", tr("Run or stop the lens"), tr("Run this lens. Press Stop to end it early"));
    name(progress_, "visionLensProgress", tr("Progress of the lens"), tr("How much of the lens is done"));
    progress_->setRange(0, 100);
    name(overlay_, "visionLensPicture", tr("Result over the picture"), tr("The result for each patch"));
    view_->insert(overlay_, 4);
    view_->insert(heads_, 1);

    auto* top = new QHBoxLayout;
    top->addWidget(page_, 1);
    top->addWidget(run_);
    auto* row = new QHBoxLayout;
    row->addWidget(targetLabel_);
    row->addWidget(target_, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(top);
    column->addWidget(explanation_);
    column->addLayout(row);
    column->addWidget(progress_);
    column->addWidget(view_, 1);

    connect(page_, &QComboBox::currentIndexChanged, this, &VisionLenses::choosePage);
    connect(target_, &QComboBox::activated, this, &VisionLenses::ask);
    connect(run_, &QPushButton::clicked, this, [this] {
        if (shown_->status.activity == Activity::Analysing)
            bench_.post(StopCommand{});
        else
            ask();
    });
    connect(view_, &LensAnswerView::pointedAt, this, &VisionLenses::showOverlay);
    connect(view_, &LensAnswerView::activated, this, [this](const MatrixCell& cell) {
        if (!result_ || !page().change) return;
        Intervention change = page().change(*result_, question(), cell.row, cell.column);
        if (!change.text.empty()) change.text = bench_.pictures().setup().otherName.toStdString(); // shown in the list
        bench_.addChanges({change});
        bench_.showPanel("interventions");
    });
    connect(heads_, &HeadTable::headChosen, &bench_.pictures(), &PictureBench::showHead);
    const auto setTheme = [this](ThemeId theme) {
        overlay_->setTheme(figureTheme(theme));
        view_->setTheme(figureTheme(theme));
    };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
    listClasses();
    choosePage();
}

const LensPage& VisionLenses::page() const {
    return *lensPagesFor(AxisKind::Patches)[static_cast<size_t>(std::max(0, page_->currentIndex()))];
}

LensQuestion VisionLenses::question() const {
    const Selection& selection = bench_.selection();
    return {.site = selection.site,
            .head = selection.head,
            .target = {.token = page().usesOther ? -1 : target_->currentData().toInt()},
            .text = page().usesOther ? "the other picture" : ""};
}

void VisionLenses::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    askIfQuick();
}

void VisionLenses::choosePage() {
    const bool usesTarget = page().usesTarget && !page().usesOther; // patching compares what both pictures show
    targetLabel_->setVisible(usesTarget);
    target_->setVisible(usesTarget);
    result_.reset();
    asked_ = 0;
    const auto found = shown_->analyses.find(page().make({})->key());
    if (found != shown_->analyses.end() && shown_->answer && found->second->inputVersion == shown_->sequenceVersion)
        result_ = found->second;
    showAnswer();
    askIfQuick();
}

void VisionLenses::listClasses() {
    const QSignalBlocker quiet(target_);
    target_->clear();
    target_->addItem(tr("top prediction"), -1);
    for (int index = 0; shown_->model && index < shown_->model->classes; ++index)
        target_->addItem(QString::fromStdString(shown_->model->labelOf(index)), index);
}

void VisionLenses::ask() {
    if (!shown_->answer) return;
    asked_ = shown_->sequenceVersion;
    bench_.post(RunAnalysisCommand{page().make(question())});
}

void VisionLenses::askIfQuick() {
    if (isVisible() && page().isQuick && shown_->answer && asked_ != shown_->sequenceVersion) ask();
}

void VisionLenses::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(shown_, snapshot);
    if (before->model != shown_->model) {
        listClasses();
        result_.reset();
        asked_ = 0;
        showAnswer();
    }
    askIfQuick();
    const auto found = shown_->analyses.find(page().make({})->key());
    if (found != shown_->analyses.end() && found->second != result_ && shown_->answer &&
        found->second->inputVersion == shown_->sequenceVersion) {
        result_ = found->second;
        showAnswer();
    }
    showState();
}

LensSubject VisionLenses::subject() const {
    const PictureRun run = pictureRun(*shown_);
    return {.model = *run.model, .axis = run.axis(), .patterns = run.patterns};
}

void VisionLenses::showAnswer() {
    heads_->setDetection(page().listsHeads ? std::static_pointer_cast<const HeadDetection>(result_) : nullptr, nullptr,
                         shown_->model);
    heads_->setVisible(page().listsHeads && result_);
    view_->setAnswer(result_ ? page().show(*result_, subject()) : LensAnswer{}, page().change != nullptr);
    showOverlay({});
    showState();
}

void VisionLenses::showOverlay(const std::optional<MatrixCell>& cell) {
    const bool isCurrent = result_ && shown_->answer && result_->inputVersion == shown_->sequenceVersion;
    if (isCurrent && page().overlay)
        overlay_->setFigure(page().overlay(*result_, subject(), cell));
    else if (!result_ || !page().overlay)
        overlay_->setFigure({});
    overlay_->setVisible(!overlay_->figure().isEmpty());
}

void VisionLenses::showState() {
    const bool isAnalysing = shown_->status.activity == Activity::Analysing;
    run_->setText(isAnalysing ? tr("Stop") : tr("Run"));
    run_->setEnabled(isAnalysing || shown_->answer);
    progress_->setVisible(isAnalysing && !page().isQuick);
    if (isAnalysing) progress_->setValue(qRound(shown_->status.progress * 100));
    const bool isOld = result_ && result_->inputVersion != shown_->sequenceVersion;
    explanation_->setText(isOld && !page().isQuick
                              ? tr("This result is out of date: the picture or the model has changed. Press Run.")
                              : QCoreApplication::translate("attn::Lens", page().explanation));
    view_->setWaiting(!shown_->model ? tr("Open a vision model first.")
                      : shown_->failure && asked_ == shown_->sequenceVersion
                          ? QString::fromStdString(shown_->failure->sentence())
                      : isAnalysing || page().isQuick ? tr("Computing…")
                                                      : tr("Press Run."));
}

ExportNumbers VisionLenses::numbers() const {
    if (page().listsHeads) return heads_->numbers();
    LensFigure figure;
    figure.answer = view_->answer();
    figure.overlay = overlay_->figure();
    return numbersOf(figure);
}

QJsonObject VisionLenses::saveView() const { return {{"lens", page_->currentData().toString()}}; }

void VisionLenses::restoreView(const QJsonObject& view) {
    const LensPage* page = lensPageNamed(view["lens"].toString().toStdString(), AxisKind::Patches);
    if (page) page_->setCurrentIndex(page_->findData(QString::fromLatin1(page->id)));
}

} // namespace attn
