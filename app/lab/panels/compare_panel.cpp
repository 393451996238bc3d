#include "app/lab/panels/compare_panel.h"

#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/answers.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/panels/other_picture_box.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/file_dialog.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/named.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/workbench/picture_bench.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTimer>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

// The controls of the comparison. What it shows is in compare_panel_maps.cpp.

namespace attn {
namespace {

constexpr const char* kWithKeys[] = {"nothing", "unedited", "text", "model"};
constexpr int kMostTokens = 1024; ///< longest pattern that is shown cell by cell
constexpr int kMostExact = 256;   ///< most tokens of a thumbnail with one pixel per token

} // namespace

ComparePanel::ComparePanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), second_(bench), message_(makeHintLabel("compareMessage")), maps_(new QSplitter) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(makeChoice());
    column->addWidget(message_);
    makeMaps();
    column->addWidget(maps_, 3);
    column->addLayout(makeTables(), 2);

    connect(&second_, &SecondRun::changed, this, &ComparePanel::show);
    connect(&bench_.pictures(), &PictureBench::changed, this, [this] {
        second_.follow();
        show();
    });
    connect(&bench_.pictures(), &PictureBench::lookChanged, this, [this] {
        if (!maps_->isHidden() && bench_.readsPictures()) showOverlays(true);
    });
    connect(&bench_, &Workbench::headSelected, this, [this] {
        want();
        show();
    });
    front_ = new FrontWatch(this, [this](bool) { want(); });
    choose();
}

QLayout* ComparePanel::makeChoice() {
    with_ = named(new QComboBox, "compareWith", tr("Compare with"));
    with_->addItems({tr("No comparison"), tr("Same model without changes"), tr("Same model on another text"),
                     tr("Another model or checkpoint")});
    setChoiceKeys(*with_, kWithKeys);
    with_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    text_ = named(new QLineEdit, "compareText", tr("Text of run B"));
    text_->setPlaceholderText(tr("Type another text; tokens that match the prompt are compared"));
    picture_ = new OtherPictureBox("comparePicture", bench_);
    path_ = named(new QLineEdit, "comparePath", tr("Model of run B: a folder, a file or a built-in name"));
    path_->setPlaceholderText(tr("folder, file, or builtin:stories"));
    browse_ = named(new QPushButton(tr("Folder…")), "compareFolder", tr("Choose the folder of the other model"));
    compare_ = named(new QPushButton(tr("Compare")), "compareRun", tr("Compare now"));
    auto* row = new QHBoxLayout;
    row->addWidget(with_);
    for (QWidget* wide : std::initializer_list<QWidget*>{text_, picture_, path_}) row->addWidget(wide, 1);
    row->addWidget(browse_);
    row->addWidget(compare_);
    connect(with_, &QComboBox::currentIndexChanged, this, &ComparePanel::choose);
    connect(browse_, &QPushButton::clicked, this, &ComparePanel::chooseFolder);
    connect(compare_, &QPushButton::clicked, this, &ComparePanel::choose);
    for (QLineEdit* line : {text_, path_}) connect(line, &QLineEdit::returnPressed, this, &ComparePanel::choose);
    return row;
}

void ComparePanel::makeMaps() {
    const auto make = [this](const char* matrix, const char* overlay, const QString& name, const QString& help) {
        const Map map{named(new MatrixView, matrix, name, help), named(new PatchOverlayView, overlay, name, help)};
        maps_->addWidget(map.matrix);
        maps_->addWidget(map.overlay);
        connect(map.matrix, &MatrixView::pointedAt, this, &ComparePanel::link);
        connect(map.overlay, &PatchOverlayView::pointedAt, &bench_.pictures(), &PictureBench::point);
        connect(map.overlay, &PatchOverlayView::chosen, &bench_.pictures(), &PictureBench::togglePatch);
        const auto setTheme = [map](ThemeId theme) {
            map.matrix->setTheme(figureTheme(theme));
            map.overlay->setTheme(figureTheme(theme));
        };
        connect(&bench_, &Workbench::themeChanged, this, setTheme);
        setTheme(bench_.theme());
        return map;
    };
    maps_->setChildrenCollapsible(false);
    a_ = make("compareA", "comparePictureA", tr("A: the current run"), {});
    b_ = make("compareB", "comparePictureB", tr("B: the other run"), {});
    difference_ = make("compareDifference", "comparePictureDifference", tr("A − B"),
                       tr("Attention weights of A minus those of B; empty where a token has no match in B"));
}

QLayout* ComparePanel::makeTables() {
    heads_ = makePlainTable("compareHeads", tr("Difference between A and B for each head"),
                            tr("Jensen-Shannon divergence of the rows, in bits from 0 to 1, over what both runs share. "
                               "Click a head to show it."),
                            {tr("Head"), tr("Divergence")});
    answers_ = makePlainTable("compareNext", tr("Answers of A and B"), tr("Probabilities at temperature 1"),
                              {tr("Next token"), tr("A"), tr("B"), tr("A − B")});
    connect(heads_, &QTreeWidget::itemClicked, this, [this](const QTreeWidgetItem* item) {
        bench_.pictures().showHead(item->data(0, Qt::UserRole).toInt(), item->data(1, Qt::UserRole).toInt());
    });
    auto* row = new QHBoxLayout;
    row->addWidget(heads_, 1);
    row->addWidget(answers_, 2);
    return row;
}

void ComparePanel::choose() {
    second_.choose(static_cast<SecondRun::With>(with_->currentIndex()), text_->text(), path_->text());
    showControls();
    want();
    show();
}

void ComparePanel::chooseFolder() {
    auto* dialog = makeFileDialog(this, tr("Open the folder of a model"), QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        path_->setText(path);
        choose();
    });
    dialog->open();
}

void ComparePanel::showControls() {
    const bool isPicture = bench_.readsPictures();
    const SecondRun::With with = second_.with();
    with_->setItemText(SecondRun::OtherInput,
                       isPicture ? tr("Same model on another picture") : tr("Same model on another text"));
    text_->setVisible(with == SecondRun::OtherInput && !isPicture);
    picture_->setVisible(with == SecondRun::OtherInput && isPicture);
    path_->setVisible(with == SecondRun::OtherModel);
    browse_->setVisible(with == SecondRun::OtherModel);
    compare_->setVisible(!text_->isHidden() || !path_->isHidden());
}

/// Asks B for patterns with as many pixels as A's, without the first token where A leaves it out.
void ComparePanel::want() {
    const bool isWanted = front_ && front_->isInFront() && second_.with() != SecondRun::Nothing;
    bench_.want(this, isWanted ? WantedViews::patterns() : WantedViews());
    const PatternGrid* grid = first_ ? first_->grid.get() : nullptr;
    const PatternTile* tile = grid && !grid->tiles.empty() ? &grid->tiles.front() : nullptr;
    second_.want({.site = bench_.selection().site,
                  .head = bench_.selection().head,
                  .thumbnailSize = !tile || tile->isExact() ? kMostExact : std::max(8, tile->rows),
                  .detailSize = kMostTokens,
                  .hidesFirst = tile && tile->leavesOutFirst});
}

void ComparePanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(first_, snapshot);
    if (!before || before->model != snapshot->model) showControls();
    if (second_.with() == SecondRun::Nothing) return;
    second_.follow();
    want();
    if (!before || before->detail != snapshot->detail || before->grid != snapshot->grid ||
        before->next != snapshot->next || before->answer != snapshot->answer || before->analyses != snapshot->analyses)
        show();
}

void ComparePanel::show() {
    align();
    const QString problem = second_.problem();
    const bool isOn = problem.isEmpty() && second_.isComparable(), isPicture = bench_.readsPictures();
    message_->setText(problem.isEmpty() ? tr("Running B…") : problem);
    showMatrices(isOn && !isPicture);
    showOverlays(isOn && isPicture);
    maps_->setVisible(isOn);
    showHeads(isOn); // the message, too, if they can be compared
    answers_->setVisible(isOn);
    answers_->headerItem()->setText(0, isPicture ? tr("Class") : tr("Next token"));
    if (isOn)
        showAnswers(*answers_,
                    likelyAnswers(*first_->model, answerProbabilities(*first_), *second_.snapshot()->model,
                                  answerProbabilities(*second_.snapshot())),
                    1);
}

QJsonObject ComparePanel::saveView() const {
    return {{"with", savedChoice(*with_)}, {"text", text_->text()}, {"path", path_->text()}};
}

void ComparePanel::restoreView(const QJsonObject& view) {
    text_->setText(view.value("text").toString());
    path_->setText(view.value("path").toString());
    restoreChoice(*with_, view.value("with"), kWithKeys);
    // Files from before 0.4 name the second picture or model of a vision model apart.
    const QString other = view["picture"].toObject()["compare"].toString();
    if (with_->currentIndex() != SecondRun::Nothing || other.isEmpty()) return choose();
    const bool isModel = other.startsWith("model:");
    const QString name = other.section(':', 1);
    if (isModel)
        path_->setText(name);
    else // once the picture itself is restored
        QTimer::singleShot(0, this, [this, name] { bench_.pictures().requestOther(name); });
    with_->setCurrentIndex(isModel ? SecondRun::OtherModel : SecondRun::OtherInput);
}

} // namespace attn
