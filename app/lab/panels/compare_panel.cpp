#include "app/lab/panels/compare_panel.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/controls/answer_table.h"
#include "app/lab/controls/model_box.h"
#include "app/lab/controls/other_picture_box.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTimer>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

constexpr const char* kWithKeys[] = {"nothing", "unedited", "text", "model"};
constexpr int kTextStart = 40;     ///< characters of a text that the caption shows
constexpr int kMostTokens = 1024;  ///< longest pattern that is shown cell by cell
constexpr int kMostExact = 256;    ///< most tokens of a thumbnail with one pixel per token
constexpr int kLargeShare = 72;    ///< of the width, in per cent: what the large map gets
constexpr int kBesideLetters = 76; ///< of a panel that has room for the tables beside the large map
constexpr int kLeastAnswers = 32;  ///< characters; in a narrower table names of tokens are cut off

} // namespace

ComparePanel::ComparePanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), second_(bench), message_(makeHintLabel("compareMessage")) {
    makeMaps();
    makeTables();
    message_->setAlignment(Qt::AlignTop | Qt::AlignLeft); // without figures it has the whole panel
    QSizePolicy whole = message_->sizePolicy();
    whole.setVerticalPolicy(QSizePolicy::Expanding);
    message_->setSizePolicy(whole);
    makeColumn(this, spacing::kGap, {makeChoice(), message_, {makeEmpty(), 9}, {makeBody(), 1}});

    connect(&second_, &SecondRun::changed, this, &ComparePanel::show);
    connect(&bench_.pictures(), &PictureBench::changed, this, [this] {
        second_.follow();
        show();
    });
    connect(&bench_, &Workbench::headSelected, this, [this] {
        want();
        show();
    });
    connect(&bench_, &Workbench::comparisonRequested, this, [this](const QString& path) {
        path_->setPath(path);
        with_->setCurrentIndex(SecondRun::OtherModel);
        choose();
    });
    front_ = new FrontWatch(this, [this](bool) { want(); });
    choose();
}

QLayout* ComparePanel::makeChoice() {
    with_ = named(new QComboBox, "compareWith", tr("Compare with"));
    with_->addItems({tr("No comparison"), tr("Same model without changes"), {}, tr("Another model or checkpoint")});
    setChoiceKeys(*with_, kWithKeys);
    with_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    text_ = named(new QLineEdit, "compareText", tr("Text of run B"));
    text_->setPlaceholderText(tr("Type another text; its tokens are aligned with those of the prompt"));
    picture_ = new OtherPictureBox("comparePicture", bench_);
    path_ = new ModelBox("comparePath", tr("Model of run B"), bench_.runs());
    browse_ = named(new QPushButton(tr("Browse…")), "compareBrowse", tr("Look for the other model among your files"));
    auto* places = new QMenu(browse_);
    places->addAction(tr("Choose a folder…"), path_, [this] { path_->browse(true); });
    places->addAction(tr("Choose a file…"), path_, [this] { path_->browse(false); });
    browse_->setMenu(places);
    compare_ = named(new QPushButton(tr("Compare")), "compareRun", tr("Compare now"));
    connect(with_, &QComboBox::currentIndexChanged, this, &ComparePanel::choose);
    connect(compare_, &QPushButton::clicked, this, &ComparePanel::choose);
    connect(text_, &QLineEdit::returnPressed, this, &ComparePanel::choose);
    connect(path_, &ModelBox::pathChosen, this, &ComparePanel::choose);
    auto* row = new FlowLayout;
    row->addWidget(with_);
    for (QWidget* field : std::initializer_list<QWidget*>{text_, picture_, path_}) row->addStretched(field);
    row->addWidget(browse_);
    row->addWidget(compare_);
    return row;
}

QWidget* ComparePanel::makeEmpty() {
    empty_ = new EmptyState("compareEmpty", tr("See two runs side by side. Choose the second:"));
    const auto offer = [this](SecondRun::With with, const QString& text, QWidget* field) {
        empty_->offer(text, {}, [this, with, field] {
            with_->setCurrentIndex(with);
            if (field) field->setFocus();
        });
    };
    offer(SecondRun::OtherInput, tr("Compare with another text or picture"), text_);
    offer(SecondRun::OtherModel, tr("Compare with another model"), path_);
    offer(SecondRun::Original, tr("Compare with the unchanged model"), nullptr);
    return empty_;
}

void ComparePanel::makeMaps() {
    maps_ = {{AxisKind::Tokens, new MatrixMaps(bench_, second_, this)},
             {AxisKind::Patches, new OverlayMaps(bench_, second_, this)}};
    for (const auto& [axis, each] : maps_) {
        connect(each, &RunMaps::pointed, this, &ComparePanel::say);
        connect(each, &RunMaps::activated, this, &ComparePanel::enlarge);
    }
}

void ComparePanel::makeTables() {
    heads_ = makePlainTable("compareHeads", tr("Difference between A and B for each head"),
                            tr("Jensen-Shannon divergence of the rows, in bits from 0 to 1, over what both runs share. "
                               "Click a head to show it."),
                            {{tr("Head"), tr("Layer and head, as in the figures")},
                             {tr("Divergence"), tr("How much the head's patterns in A and B differ: 0 is equal, 1 has "
                                                   "nothing in common. Jensen-Shannon divergence, in bits")}});
    answers_ = makePlainTable("compareNext", tr("Answers of A and B"),
                              tr("The most probable answers of A and B, and how likely each run finds them"),
                              {{tr("Next token"), tr("A token or class that A or B predicts")},
                               {tr("A"), tr("Its probability in run A, the current run")},
                               {tr("B"), tr("Its probability in run B, the other run")},
                               {tr("A − B"), tr("The probability in A minus that in B, in percentage points")}});
    keepCharacters(answers_, kLeastAnswers);
    connect(heads_, &QTreeWidget::itemClicked, this, [this](const QTreeWidgetItem* item) {
        bench_.input().showHead(bench_, item->data(0, Qt::UserRole).toInt(), item->data(1, Qt::UserRole).toInt());
    });
}

QWidget* ComparePanel::makeBody() {
    body_ = new QWidget;
    largePlace_ = new QVBoxLayout;
    smallPlace_ = new QVBoxLayout;
    tables_ = makeColumn({{heads_, 1}, {answers_, 1}});
    places_ = layoutOf<QGridLayout>(body_);
    places_->setColumnStretch(0, kLargeShare);
    places_->setColumnStretch(1, 100 - kLargeShare);
    places_->setRowStretch(0, 5);
    places_->setRowStretch(1, 4);
    places_->addLayout(smallPlace_, 0, 1);
    stand(true);
    arrange();
    return body_;
}

void ComparePanel::resizeEvent(QResizeEvent* event) {
    Panel::resizeEvent(event);
    stand(width() > fontMetrics().averageCharWidth() * kBesideLetters);
}

void ComparePanel::stand(bool isBeside) {
    if (tablesStandBeside_ == isBeside) return;
    tablesStandBeside_ = isBeside;
    for (QBoxLayout* part : {largePlace_, tables_}) {
        places_->removeItem(part);
        part->setParent(nullptr);
    }
    places_->addLayout(largePlace_, 0, 0, isBeside ? 2 : 1, 1);
    places_->addLayout(tables_, 1, isBeside ? 1 : 0, 1, isBeside ? 1 : 2);
    tables_->setDirection(isBeside ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

RunMaps& ComparePanel::maps() const {
    const auto found = maps_.find(bench_.input().axis());
    return *(found == maps_.end() ? maps_.begin() : found)->second;
}

QString ComparePanel::helpOf(RunMaps::Map map) {
    return map == RunMaps::Difference
               ? tr("Attention weights of A minus those of B; empty where a token has no match in B")
               : RunMaps::titleOf(map);
}

void ComparePanel::enlarge(RunMaps::Map map) {
    large_ = map;
    arrange();
}

void ComparePanel::arrange() {
    // Where there is no difference, it leaves its place to A.
    const RunMaps::Map large = large_ == RunMaps::Difference && maps().hasNoDifference() ? RunMaps::First : large_;
    if (largePlace_->indexOf(maps().view(large)) >= 0) return;
    for (const RunMaps::Map map : RunMaps::kMaps) {
        const QString help = helpOf(map);
        for (const auto& [axis, maps] : maps_) {
            QWidget* const view = maps->view(map);
            (map == large ? largePlace_ : smallPlace_)->addWidget(view, 1);
            view->setToolTip(map == large ? help
                                          : tr("%1.\nDouble-click it, or press Return, to enlarge it.").arg(help));
        }
    }
}

void ComparePanel::choose() {
    second_.choose(static_cast<SecondRun::With>(with_->currentIndex()), text_->text(), path_->path());
    showControls();
    want();
    show();
}

void ComparePanel::showControls() {
    const InputKind& kind = bench_.input();
    const SecondRun::With with = second_.with();
    with_->setItemText(SecondRun::OtherInput, tr("Same model on another %1").arg(kind.say(&InputWords::noun)));
    path_->setInput(kind.axis());
    showPages({{AxisKind::Tokens, text_}, {AxisKind::Patches, picture_}}, kind.axis(), with == SecondRun::OtherInput);
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
    for (const auto& [axis, each] : maps_) each->setFirst(snapshot);
    if (!before || before->model != snapshot->model) showControls();
    if (second_.with() == SecondRun::Nothing) return;
    second_.follow();
    want();
    if (!before || before->detail != snapshot->detail || before->grid != snapshot->grid ||
        before->next != snapshot->next || before->status.activity != snapshot->status.activity ||
        before->answer != snapshot->answer || before->analyses != snapshot->analyses)
        show();
}

void ComparePanel::show() {
    maps().align();
    const QString problem = second_.problem();
    const bool isOn = problem.isEmpty() && second_.isComparable();
    const bool isEmpty = second_.with() == SecondRun::Nothing;
    empty_->setVisible(isEmpty);
    message_->setVisible(!isEmpty);
    caption_ = !problem.isEmpty()        ? problem
               : second_.waitsForFirst() ? tr("B waits for A, whose text is still being written…")
                                         : tr("Running B…");
    for (const auto& [axis, each] : maps_) each->show(isOn && each == &maps());
    body_->setVisible(isOn);
    arrange();
    showHeads(isOn); // the caption, too, if they can be compared
    say();
    answers_->setVisible(isOn);
    if (isOn) {
        const QString a = answerTitle(*first_->model), b = answerTitle(*second_.snapshot()->model);
        answers_->headerItem()->setText(0, a == b ? a : tr("A: %1, B: %2").arg(a, b));
    }
    if (isOn)
        showAnswers(*answers_,
                    likelyAnswers(*first_->model, answerProbabilities(*first_), *second_.snapshot()->model,
                                  answerProbabilities(*second_.snapshot())),
                    1, first_->model->activation, second_.snapshot()->model->activation);
}

bool ComparePanel::isSame() const {
    const Snapshot& second = *second_.snapshot();
    const SecondRun::With with = second_.with();
    const bool isOtherModel = with == SecondRun::OtherModel, isOtherInput = with == SecondRun::OtherInput;
    if (first_->path() != second.path() || (isOtherModel && first_->shown)) return false;
    const bool isChanged = !bench_.changes().empty() && bench_.shownRun() != ShownRun::Original;
    if (isChanged && !isOtherInput) return false;
    return maps().hasSameInput();
}

void ComparePanel::showHeads(bool isOn) {
    heads_->setVisible(isOn);
    const Snapshot& second = *second_.snapshot();
    if (!isOn || second.status.activity != Activity::Idle) return;
    if (RunMaps::Parts now = maps().compared(); now != counted_) {
        counted_ = std::move(now);
        byHead_ = maps().divergences();
        std::ranges::stable_sort(byHead_, std::greater(), [](const auto& row) { return row.second; });
        heads_->clear();
        for (const auto& [at, bits] : byHead_) {
            auto* item = addPlainRow(heads_, {bench_.headLabel(at.first, at.second), formatMeasured(bits, 4)});
            item->setData(0, Qt::UserRole, at.first);
            item->setData(1, Qt::UserRole, at.second);
        }
    }
    heads_->setVisible(!byHead_.empty());
    caption_ = tr("A is %1. B is %2.").arg(runName(*first_), runName(second));
    if (const QString aligned = maps().alignedText(); !aligned.isEmpty()) caption_ += ' ' + aligned;
    if (isSame())
        caption_ +=
            '\n' +
            tr("A and B are the same model and %1, so nothing differs.").arg(inputKind(*first_).say(&InputWords::noun));
    else if (byHead_.empty())
        caption_ += '\n' + tr("The program cannot compare head by head. Choose two models with the same number of "
                              "layers and heads. Long texts and pictures also need the same number of tokens.");
    for (const std::string& warning : second_.warnings()) // of A, the Model panel says them
        caption_ += QStringLiteral("\n⚠ ") + tr("B: %1").arg(shownText(warning));
    if (second.sequence && !second.sequence->notice.empty()) // of the current run, Write says it
        caption_ += '\n' + tr("B: %1").arg(shownText(second.sequence->notice));
}

QString ComparePanel::runName(const Snapshot& run) const {
    const QString text = run.sequence ? QString::fromStdString(run.sequence->text).simplified() : QString();
    if (second_.with() != SecondRun::OtherInput || text.isEmpty()) return shownText(run.model->name);
    const QFontMetrics font = message_->fontMetrics();
    return QStringLiteral("“%1”").arg(font.elidedText(text, Qt::ElideRight, kTextStart * font.averageCharWidth()));
}

void ComparePanel::say() {
    const QString text = maps().reading();
    // If the maps moved, another cell would be under the pointer.
    message_->setMinimumHeight(text.isEmpty() ? 0 : message_->height());
    message_->setText(text.isEmpty() ? caption_ : text);
}

std::optional<std::pair<int, int>> ComparePanel::exportedHead() const {
    if (!maps().hasHead()) return std::nullopt;
    return std::pair(bench_.selection().site, bench_.selection().head);
}

std::shared_ptr<const Snapshot> ComparePanel::comparedRun() const {
    return second_.isComparable() ? second_.snapshot() : nullptr;
}

ExportNumbers ComparePanel::numbers() const {
    const QString text = plainCsv(*heads_, "head,divergence");
    std::vector<NumberArray> arrays;
    for (const auto& [map, name] : {std::pair(RunMaps::First, "first"), std::pair(RunMaps::Second, "second"),
                                    std::pair(RunMaps::Difference, "difference")}) {
        const ExportNumbers of = numbersOf(maps().figure(map));
        for (NumberArray& array : of.arrays ? of.arrays() : std::vector<NumberArray>{})
            arrays.push_back({.name = name, .shape = array.shape, .values = std::move(array.values)});
    }
    return {.csv = [text] { return text; }, .arrays = [arrays] { return arrays; }};
}

QJsonObject ComparePanel::saveView() const {
    return {{"with", savedChoice(*with_)}, {"text", text_->text()}, {"path", path_->path()}};
}

void ComparePanel::restoreView(const QJsonObject& view) {
    text_->setText(view.value("text").toString());
    path_->setPath(view.value("path").toString());
    restoreChoice(*with_, view.value("with"), kWithKeys);
    // Files from before 0.4 name the second picture or model of a vision model apart.
    const QString other = view["picture"].toObject()["compare"].toString();
    if (with_->currentIndex() != SecondRun::Nothing || other.isEmpty()) return choose();
    const bool isModel = other.startsWith("model:");
    const QString name = other.section(':', 1);
    if (isModel)
        path_->setPath(name);
    else // once the picture itself is restored
        QTimer::singleShot(0, this, [this, name] { bench_.pictures().requestOther(name); });
    with_->setCurrentIndex(isModel ? SecondRun::OtherModel : SecondRun::OtherInput);
}

} // namespace attn
