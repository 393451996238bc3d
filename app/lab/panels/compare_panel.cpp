#include "app/lab/panels/compare_panel.h"

#include "app/figures/drawing.h"
#include "app/figures/head_label.h"
#include "app/figures/map_figure.h"
#include "app/figures/scale.h"
#include "app/figures/token_label.h"
#include "app/figures/vision_figures.h"
#include "app/lab/panels/answers.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/panels/model_box.h"
#include "app/lab/panels/other_picture_box.h"
#include "app/lab/panels/snapshot_views.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"
#include "engine/analysis/token_alignment.h"
#include "engine/inference/pattern_divergence.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTimer>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace attn {
namespace {

constexpr const char* kWithKeys[] = {"nothing", "unedited", "text", "model"};
constexpr int kMostTokens = 1024; ///< longest pattern that is shown cell by cell
constexpr int kMostExact = 256;   ///< most tokens of a thumbnail with one pixel per token
constexpr int kLargeShare = 72;   ///< of the width, in per cent: what the large map gets
constexpr int kTextStart = 40;    ///< characters of a text that the caption shows
constexpr int kLeastAnswers = 32; ///< characters; in a narrower table names of tokens are cut off

/// Numbers the token texts of both sequences. Equal texts get equal numbers, also where the models' token ids differ.
std::pair<std::vector<int>, std::vector<int>> contents(const Sequence& a, const Sequence& b) {
    std::map<QString, int> numbers;
    const auto numbered = [&](const Sequence& sequence) {
        std::vector<int> result;
        for (const QString& label : tokenLabels(&sequence))
            result.push_back(numbers.emplace(label, static_cast<int>(numbers.size())).first->second);
        return result;
    };
    std::vector<int> first = numbered(a);
    return {std::move(first), numbered(b)};
}

MatrixFigure patternFigure(const Snapshot& snapshot, const std::shared_ptr<const PatternTile>& tile,
                           const QString& title) {
    MatrixFigure figure;
    figure.title = title;
    figure.rowTitle = ComparePanel::tr("query");
    figure.columnTitle = ComparePanel::tr("key");
    figure.kind = MatrixFigure::Kind::Weights;
    figure.writesValues = true;
    if (!tile || tile->rows == 0) return figure;
    figure.setMatrix(tile->rows, tile->columns, visibleWeights(*tile));
    if (!tile->isExact()) {
        figure.note = tile->leavesOutFirst
                          ? ComparePanel::tr("each pixel covers several tokens; the first token is left out")
                          : ComparePanel::tr("each pixel covers several tokens");
        return figure;
    }
    figure.rowLabels = figure.columnLabels = tokenLabels(snapshot.sequence.get());
    figure.rowLabels.resize(static_cast<size_t>(tile->rows));
    figure.columnLabels.resize(static_cast<size_t>(tile->columns));
    return figure;
}

} // namespace

ComparePanel::ComparePanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), second_(bench), message_(makeHintLabel("compareMessage")) {
    makeMaps();
    makeTables();
    message_->setAlignment(Qt::AlignTop | Qt::AlignLeft); // without figures it has the whole panel
    makeColumn(this, spacing::kGap, {makeChoice(), message_, {makeEmpty(), 9}, {makeBody(), 1}});

    connect(&second_, &SecondRun::changed, this, &ComparePanel::show);
    connect(&bench_.pictures(), &PictureBench::changed, this, [this] {
        second_.follow();
        show();
    });
    connect(&bench_.pictures(), &PictureBench::lookChanged, this, [this] {
        if (!body_->isHidden() && bench_.readsPictures()) showOverlays(true);
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
    with_->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    return makeRow({with_, {text_, 1}, {picture_, 1}, {path_, 1}, browse_, compare_, room(0)});
}

QWidget* ComparePanel::makeEmpty() {
    empty_ =
        new EmptyState("compareEmpty", tr("The attention of two runs stands here side by side, with their difference. "
                                          "Choose the second run."));
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
    const auto make = [this](const char* matrix, const char* overlay, const QString& name, const QString& help) {
        return Map{named(new MatrixView, matrix, name), named(new PatchOverlayView, overlay, name), help};
    };
    difference_ = make("compareDifference", "comparePictureDifference", tr("A − B"),
                       tr("Attention weights of A minus those of B; empty where a token has no match in B"));
    a_ = make("compareA", "comparePictureA", tr("A: the current run"), tr("A: the current run"));
    b_ = make("compareB", "comparePictureB", tr("B: the other run"), tr("B: the other run"));
    for (Map* map : maps()) {
        connect(map->matrix, &MatrixView::pointedAt, this, &ComparePanel::link);
        connect(map->matrix, &MatrixView::activated, this, [this, map] { enlarge(*map); });
        connect(map->overlay, &PatchOverlayView::pointedAt, &bench_.pictures(), &PictureBench::point);
        connect(map->overlay, &PatchOverlayView::chosen, &bench_.pictures(), &PictureBench::togglePatch);
        connect(map->overlay, &PatchOverlayView::activated, this, [this, map] { enlarge(*map); });
        followTheme(bench_, map->matrix, map->overlay);
    }
}

void ComparePanel::makeTables() {
    heads_ = makePlainTable("compareHeads", tr("Difference between A and B for each head"),
                            tr("Jensen-Shannon divergence of the rows, in bits from 0 to 1, over what both runs share. "
                               "Click a head to show it."),
                            {{tr("Head"), tr("Layer and head, as in the figures")},
                             {tr("Divergence"), tr("How much the head's patterns in A and B differ: 0 is equal, 1 has "
                                                   "nothing in common. Jensen-Shannon divergence, in bits")}});
    answers_ = makePlainTable("compareNext", tr("Answers of A and B"), tr("Probabilities at temperature 1"),
                              {{tr("Next token"), tr("A token or class that A or B predicts")},
                               {tr("A"), tr("Its probability in run A, the current run")},
                               {tr("B"), tr("Its probability in run B, the other run")},
                               {tr("A − B"), tr("The probability in A minus that in B, in percentage points")}});
    answers_->setMinimumWidth(fontMetrics().averageCharWidth() * kLeastAnswers);
    connect(heads_, &QTreeWidget::itemClicked, this, [this](const QTreeWidgetItem* item) {
        bench_.pictures().showHead(item->data(0, Qt::UserRole).toInt(), item->data(1, Qt::UserRole).toInt());
    });
}

QWidget* ComparePanel::makeBody() {
    body_ = new QWidget;
    largePlace_ = new QVBoxLayout;
    smallPlace_ = new QVBoxLayout;
    QVBoxLayout* column = makeColumn({{smallPlace_, 5}, {heads_, 2}, {answers_, 2}});
    makeRow(body_, 0, {{largePlace_, kLargeShare}, {column, 100 - kLargeShare}});
    arrange();
    return body_;
}

void ComparePanel::enlarge(Map& map) {
    large_ = &map;
    arrange();
}

void ComparePanel::arrange() {
    // Where there is no difference, it leaves its place to A.
    const bool hasNone = bench_.readsPictures()
                             ? difference_.overlay->figure().isEmpty()
                             : difference_.matrix->figure().isEmpty() && !difference_.matrix->figure().note.isEmpty();
    const Map* large = large_ == &difference_ && hasNone ? &a_ : large_;
    if (largePlace_->indexOf(large->matrix) >= 0) return;
    for (const Map* map : maps()) {
        const QString help =
            map == large ? map->help : tr("%1.\nDouble-click it, or press Return, to enlarge it.").arg(map->help);
        for (QWidget* view : std::initializer_list<QWidget*>{map->matrix, map->overlay}) {
            (map == large ? largePlace_ : smallPlace_)->addWidget(view, 1);
            view->setToolTip(help);
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
    const bool isEmpty = second_.with() == SecondRun::Nothing;
    empty_->setVisible(isEmpty);
    message_->setVisible(!isEmpty);
    caption_ = problem.isEmpty() ? tr("Running B…") : problem;
    showMatrices(isOn && !isPicture);
    showOverlays(isOn && isPicture);
    body_->setVisible(isOn);
    arrange();
    showHeads(isOn); // the caption, too, if they can be compared
    say();
    answers_->setVisible(isOn);
    answers_->headerItem()->setText(0, isPicture ? tr("Class") : tr("Next token"));
    if (isOn)
        showAnswers(*answers_,
                    likelyAnswers(*first_->model, answerProbabilities(*first_), *second_.snapshot()->model,
                                  answerProbabilities(*second_.snapshot())),
                    1);
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

// The patterns of two runs, their difference, and what differs by head.

void ComparePanel::align() {
    const auto sequences = first_ ? std::pair(first_->sequence, second_.snapshot()->sequence) : decltype(aligned_){};
    if (sequences == std::exchange(aligned_, sequences)) return;
    partners_.clear();
    if (!sequences.first || !sequences.second) return;
    const auto [a, b] = contents(*sequences.first, *sequences.second);
    partners_ = alignTokens(a, b);
}

QString ComparePanel::alignedText() const {
    if (!aligned_.first || !aligned_.second) return {};
    const size_t countA = partners_.size(), countB = aligned_.second->tokens.size();
    const auto count = static_cast<size_t>(std::ranges::count_if(partners_, [](int partner) { return partner >= 0; }));
    if (count == countA && count == countB) return {};
    return tr(". %1 tokens matched (A %2, B %3).").arg(count).arg(countA).arg(countB);
}

std::pair<ComparePanel::Tile, ComparePanel::Tile> ComparePanel::tiles() const {
    const auto [site, head] = std::pair(bench_.selection().site, bench_.selection().head);
    const Snapshot& second = *second_.snapshot();
    auto a = shownTile(*first_, site, head, true), b = shownTile(second, site, head, true);
    // Details of long texts differ in size; thumbnails do not.
    const bool isFine = a && b && (a->rows == b->rows || (a->isExact() && b->isExact()));
    if (a && b && !isFine) {
        a = shownTile(nullptr, first_->grid, 0, site, head, true);
        b = shownTile(nullptr, second.grid, 0, site, head, true);
    }
    return {std::move(a), std::move(b)};
}

void ComparePanel::showMatrices(bool isOn) {
    for (const Map* map : maps()) map->matrix->setVisible(isOn);
    if (!isOn) {
        for (const Map* map : maps()) map->matrix->setFigure({});
        return;
    }
    const auto [one, other] = tiles();
    const QString head = headLabel(bench_.selection().site, bench_.selection().head);
    MatrixFigure a = patternFigure(*first_, one,
                                   tr("A: %1").arg(head) +
                                       bench_.conditionOf(bench_.selection().site, bench_.selection().head)),
                 b = patternFigure(*second_.snapshot(), other, tr("B: %1").arg(head));
    MatrixFigure difference;
    difference.title = tr("A − B: %1").arg(head);
    difference.writesValues = true;
    difference.rowTitle = tr("query");
    difference.columnTitle = tr("key");
    const bool isByToken = !a.rowLabels.empty() && !b.rowLabels.empty() &&
                           partners_.size() == static_cast<size_t>(a.rows()) &&
                           aligned_.second->tokens.size() == static_cast<size_t>(b.rows());
    const bool isAlike = one && other && one->leavesOutFirst == other->leavesOutFirst;
    if (!a.isEmpty() && isAlike && (isByToken || (a.rows() == b.rows() && a.columns() == b.columns()))) {
        std::vector<float> values;
        for (int row = 0; row < a.rows(); ++row)
            for (int column = 0; column < a.columns(); ++column) {
                const MatrixCell cell{row, column};
                const auto partner = isByToken ? partnerOf(cell) : cell;
                values.push_back(partner ? a.valueAt(cell) - b.valueAt(*partner)
                                         : std::numeric_limits<float>::quiet_NaN());
            }
        difference.setMatrix(a.rows(), a.columns(), std::move(values));
        difference.rowLabels = a.rowLabels;
        difference.columnLabels = a.columnLabels;
    } else if (!a.isEmpty() && !b.isEmpty()) {
        difference.note = tr("Long texts can be compared only if both have the same length.");
    }
    shareScale(a, b);
    a_.matrix->setFigure(std::move(a));
    b_.matrix->setFigure(std::move(b));
    difference_.matrix->setFigure(std::move(difference));
}

void ComparePanel::showOverlays(bool isOn) {
    for (const Map* map : {&a_, &b_}) map->overlay->setVisible(isOn);
    PatchOverlayFigure figure;
    if (isOn) {
        const VisionLook look = bench_.pictures().look();
        const PictureRun first = pictureRun(*first_), second = pictureRun(*second_.snapshot());
        QString shown;
        for (const auto& [map, run, title] :
             {std::tuple(&b_, &second, tr("B: %1")), std::tuple(&a_, &first, tr("A: %1"))}) {
            PatchOverlayFigure overlay = overlayFigure(*run, look);
            shown = overlay.title;
            overlay.title = title.arg(shown);
            map->overlay->setFigure(std::move(overlay));
        }
        const PatchRow a = rowOf(first, look), b = rowOf(second, look);
        if (first.model->grid == second.model->grid && !a.patches.empty() && !b.patches.empty()) {
            figure = first.axis().overlay(difference(a, b));
            figure.isSigned = true;
            figure.opacity = std::max(look.opacity, 0.75);
            figure.isSmooth = look.isSmooth;
            figure.title = tr("A − B: %1").arg(shown);
        }
    }
    difference_.overlay->setVisible(!figure.isEmpty()); // both need attention over the same grid of patches
    difference_.overlay->setFigure(std::move(figure));
}

ComparePanel::Divergences ComparePanel::divergences() const {
    Divergences all;
    const Snapshot& second = *second_.snapshot();
    if (first_->readsPictures()) {
        const auto &a = first_->answer->patterns, &b = second.answer->patterns;
        for (size_t site = 0; site < std::min(a.size(), b.size()); ++site)
            for (int head = 0; head < a[site].heads; ++head)
                if (const auto bits = patternDivergence(a[site], b[site], head))
                    all.push_back({{static_cast<int>(site), head}, *bits});
        return all;
    }
    const PatternGrid *a = first_->grid.get(), *b = second.grid.get();
    if (!a || !b || a->tiles.empty() || a->sites != b->sites || a->heads != b->heads) return all;
    const PatternTile &one = a->tiles.front(), &other = b->tiles.front();
    std::vector<int> partners;
    if (one.isExact() && other.isExact() && static_cast<size_t>(one.rows) == partners_.size() &&
        static_cast<size_t>(other.rows) == aligned_.second->tokens.size()) {
        partners = partners_;
    } else if (one.rows == other.rows) { // of pixels
        partners.resize(static_cast<size_t>(one.rows));
        std::iota(partners.begin(), partners.end(), 0);
    }
    for (int at = 0; at < std::ssize(a->tiles) && !partners.empty(); ++at)
        all.push_back(
            {{at / a->heads, at % a->heads},
             patternDivergence(a->tiles[static_cast<size_t>(at)], b->tiles[static_cast<size_t>(at)], partners)});
    return all;
}

void ComparePanel::showHeads(bool isOn) {
    heads_->setVisible(isOn);
    const Snapshot& second = *second_.snapshot();
    if (!isOn || second.status.activity != Activity::Idle) return;
    const bool isPicture = first_->readsPictures();
    const decltype(counted_) patterns{isPicture ? first_->answer : std::shared_ptr<const void>(first_->grid),
                                      isPicture ? second.answer : std::shared_ptr<const void>(second.grid),
                                      aligned_.first, aligned_.second};
    if (std::exchange(counted_, patterns) != patterns) {
        byHead_ = divergences();
        std::ranges::stable_sort(byHead_, std::greater(), [](const auto& row) { return row.second; });
        heads_->clear();
        for (const auto& [at, bits] : byHead_) {
            auto* item = addPlainRow(heads_, {headLabel(at.first, at.second), formatNumber(bits, 4)});
            item->setData(0, Qt::UserRole, at.first);
            item->setData(1, Qt::UserRole, at.second);
        }
    }
    caption_ = byHead_.empty() ? tr("To compare heads, both models need the same number of layers and heads and, "
                                    "for long texts and pictures, the same number of tokens.")
                               : tr("A: %1 · B: %2%3").arg(runName(*first_), runName(second), alignedText());
}

QString ComparePanel::runName(const Snapshot& run) const {
    const QString text = run.sequence ? QString::fromStdString(run.sequence->text).simplified() : QString();
    if (second_.with() != SecondRun::OtherInput || text.isEmpty()) return QString::fromStdString(run.model->name);
    const QFontMetrics font = message_->fontMetrics();
    return QStringLiteral("“%1”").arg(font.elidedText(text, Qt::ElideRight, kTextStart * font.averageCharWidth()));
}

QString ComparePanel::reading() const {
    const MatrixFigure &a = a_.matrix->figure(), &b = b_.matrix->figure(), &difference = difference_.matrix->figure();
    const MatrixFigure& named = a.hovered ? a : b;
    if (!named.hovered) return {};
    QStringList values;
    if (a.hovered) values << tr("A %1").arg(valueText(a, *a.hovered));
    if (b.hovered) values << tr("B %1").arg(valueText(b, *b.hovered));
    if (a.hovered && b.hovered && difference.hovered)
        values << tr("A − B %1").arg(valueText(difference, *difference.hovered));
    return tr("Query %1, key %2: %3")
        .arg(named.rowName(named.hovered->row), named.columnName(named.hovered->column), values.join(" · "));
}

void ComparePanel::say() {
    const QString text = reading();
    // If the maps moved, another cell would be under the pointer.
    message_->setMinimumHeight(text.isEmpty() ? 0 : message_->height());
    message_->setText(text.isEmpty() ? caption_ : text);
}

std::optional<MatrixCell> ComparePanel::partnerOf(const MatrixCell& cell) const {
    const auto of = [this](int token) { return partners_[static_cast<size_t>(token)]; };
    if (std::max(cell.row, cell.column) >= std::ssize(partners_) || of(cell.row) < 0 || of(cell.column) < 0) return {};
    return MatrixCell{of(cell.row), of(cell.column)};
}

void ComparePanel::link(const std::optional<MatrixCell>& cell) {
    const bool isByToken = !a_.matrix->figure().rowLabels.empty() && !b_.matrix->figure().rowLabels.empty();
    std::optional<MatrixCell> inA = cell, inB = cell;
    if (cell && isByToken && sender() == b_.matrix) {
        const auto of = [this](int token) {
            const auto found = std::ranges::find(partners_, token);
            return found == partners_.end() ? -1 : static_cast<int>(found - partners_.begin());
        };
        inA = MatrixCell{of(cell->row), of(cell->column)};
        if (std::min(inA->row, inA->column) < 0) inA.reset();
    } else if (cell && isByToken) {
        inB = partnerOf(*cell);
    }
    for (MatrixView* view : {a_.matrix, b_.matrix, difference_.matrix})
        if (view != sender()) view->setLinked(view == b_.matrix ? inB : inA);
    say();
}

ExportNumbers ComparePanel::numbers() const {
    const QString text = plainCsv(*heads_, "head,divergence");
    const bool isPicture = bench_.readsPictures();
    std::vector<NumberArray> arrays;
    for (const auto& [map, name] :
         {std::pair(&a_, "first"), std::pair(&b_, "second"), std::pair(&difference_, "difference")}) {
        const ExportNumbers of = isPicture ? numbersOf(map->overlay->figure()) : numbersOf(map->matrix->figure());
        for (NumberArray& array : of.arrays ? of.arrays() : std::vector<NumberArray>{})
            arrays.push_back({.name = name, .shape = array.shape, .values = std::move(array.values)});
    }
    return {.csv = [text] { return text; }, .arrays = [arrays] { return arrays; }};
}

} // namespace attn
