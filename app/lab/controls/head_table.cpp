#include "app/lab/controls/head_table.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/figures/tile_image.h"
#include "app/figures/token_label.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/core/error.h"
#include "engine/inference/model_info.h"

#include <QComboBox>
#include <QHeaderView>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTreeWidget>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

enum Column { Head, Kind, Score, Group, Similarity };

constexpr int kThumbnail = 40; ///< pixels across
constexpr int kByKind = -1, kByPlace = -2, kByGroup = -3,
              kBySimilarity = -4; ///< values from 0 sort by that kind's score

QString wholePercent(float share) {
    return std::isnan(share) ? QStringLiteral("–") : formatPercent(static_cast<double>(share), 0);
}

QString titleOf(const HeadKind& kind) { return fromEngine(kind.title); }

/// Where a head looks: on the random tokens of a text, or by offset from each patch, or between areas of the picture.
QIcon thumbnailOf(const HeadPrint& print) {
    const bool hasOffsets = !print.offsets.empty();
    const auto columns = static_cast<size_t>(hasOffsets ? 2 * HeadPrint::kReach + 1 : print.areas.area());
    const size_t stride = hasOffsets ? columns : print.columns();
    const std::vector<float>& from = hasOffsets ? print.offsets : print.weights;
    PatternTile tile{.rows = static_cast<int>(columns),
                     .columns = static_cast<int>(columns),
                     .queryEnd = static_cast<int>(columns),
                     .keyEnd = static_cast<int>(columns)};
    for (size_t row = 0; row < columns; ++row) {
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row * stride);
        tile.values.insert(tile.values.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
    }
    const float largest = std::ranges::max(tile.values);
    if (hasOffsets && largest > 0)
        for (float& value : tile.values) value /= largest;
    TileImage image;
    image.update(std::make_shared<PatternTile>(std::move(tile)),
                 {.kind = hasOffsets ? ScaleKind::Linear : ScaleKind::RowMaximum}, ColourMapId::Viridis);
    return QPixmap::fromImage(
        image.image().scaled(kThumbnail, kThumbnail, Qt::KeepAspectRatio, Qt::FastTransformation));
}

/// The scores of a head, one line for each kind that has a score.
QString scoresOf(const HeadScores& head) {
    QStringList lines;
    for (size_t kind = 0; kind < head.kinds.size(); ++kind) {
        if (std::isnan(head.scores[kind])) continue;
        const QString title = titleOf(head.kinds[kind]), score = wholePercent(head.scores[kind]);
        lines << (head.scores[kind] == head.beyond[kind] ? HeadTable::tr("%1: %2").arg(title, score)
                                                         : HeadTable::tr("%1: %2, %3 above an even spread")
                                                               .arg(title, score, wholePercent(head.beyond[kind])));
    }
    return lines.join('\n');
}

/// A row of the table. Sorted by kind, the scores fall within each kind; heads without a kind or group come last.
class HeadItem : public QTreeWidgetItem {
public:
    struct Place {
        int index = 0, group = 0; ///< group 0: none
        float similarity = -1;    ///< to the reference; below 0: there is no reference
        int rank = 0;             ///< in the order by kind
        float score = -1;         ///< that the table shows; NaN: none
    };
    explicit HeadItem(const HeadScores& head, const Place& place)
        : QTreeWidgetItem({fromEngine(head.label), fromEngine(head.title()),
                           place.score < 0 ? QStringLiteral("–") : wholePercent(place.score)}),
          place_(place) {
        setData(Head, Qt::UserRole, place.index);
        setText(Group, place.group > 0 ? QString::number(place.group) : QStringLiteral("–"));
        setText(Similarity, place.similarity >= 0 ? wholePercent(place.similarity) : QString());
        for (const Column column : {Score, Group, Similarity})
            setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        const QString scores = scoresOf(head);
        setToolTip(Head, scores);
        setToolTip(Kind, head.kind() ? fromEngine(head.finding(*head.kind())) : scores);
        setToolTip(Score, scores);
    }

    bool operator<(const QTreeWidgetItem& item) const override {
        const Place& a = place_;
        const Place& b = static_cast<const HeadItem&>(item).place_;
        const auto number = [](float score) { return std::isnan(score) ? -1 : score; };
        const auto group = [](int of) { return of > 0 ? of : std::numeric_limits<int>::max(); };
        const int column = treeWidget()->sortColumn();
        if (column == Kind) return a.rank < b.rank;
        if (column == Score && number(a.score) != number(b.score)) return number(a.score) < number(b.score);
        if (column == Similarity && a.similarity != b.similarity) return a.similarity < b.similarity;
        if (column == Group && a.group != b.group) return group(a.group) < group(b.group);
        return a.index < b.index;
    }

private:
    Place place_;
};

QString csvOf(const HeadDetection& found) {
    QString text = "layer,head,kind,down,right";
    for (const HeadKind& kind : found.kinds) text += QStringLiteral(",%1").arg(fromEngine(kind.id));
    text += '\n';
    for (const HeadScores& head : found.heads) {
        text += QStringLiteral("%1,%2,%3,%4,%5")
                    .arg(QString::number(head.site), QString::number(head.head),
                         fromEngine(head.kind() ? head.kinds[*head.kind()].id : "mixed"), QString::number(head.down),
                         QString::number(head.right));
        for (const float score : head.scores)
            text += std::isnan(score) ? QStringLiteral(",") : QStringLiteral(",%1").arg(static_cast<double>(score));
        text += '\n';
    }
    return text;
}

std::vector<NumberArray> arraysOf(const HeadDetection& found) {
    const auto count = static_cast<int64_t>(found.heads.size());
    const HeadPrint& first = found.prints.front();
    NumberArray heads{"heads", {count, 2}, {}}, scores{"scores", {count, static_cast<int64_t>(found.kinds.size())}, {}},
        patterns{"patterns", {count, first.areas.area(), static_cast<int64_t>(first.columns())}, {}};
    for (const HeadScores& head : found.heads) {
        scores.values.insert(scores.values.end(), head.scores.begin(), head.scores.end());
        heads.values.insert(heads.values.end(), {static_cast<float>(head.site), static_cast<float>(head.head)});
    }
    for (const HeadPrint& print : found.prints)
        patterns.values.insert(patterns.values.end(), print.weights.begin(), print.weights.end());
    return {heads, patterns, scores};
}

} // namespace

HeadTable::HeadTable(const QString& name, QWidget* parent)
    : QWidget(parent), table_(new QTreeWidget), order_(new QComboBox),
      explanation_(makeHintLabel(name + "Explanation")), similar_(new QPushButton(tr("Find similar heads"))) {
    named(order_, name + "Order", tr("Order of the heads"),
          tr("Choose the order of the heads, and which score is shown"));
    named(table_, name + "Heads", tr("Heads and their kinds"),
          tr("Select a head to see why it has its kind and where it looks. Click a column title to sort"));
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setAllColumnsShowFocus(true);
    table_->setIconSize({kThumbnail, kThumbnail});
    titleColumns(*table_, {{tr("Head"), tr("Layer and head. The thumbnail shows where it looks: in random tokens that "
                                           "repeat, or around a patch")},
                           {tr("Kind"), tr("The most specific kind whose score is high enough")},
                           {tr("Own score"), tr("The score of each head for its own kind")},
                           {tr("Group"), tr("Heads with the same number have similar patterns")},
                           {tr("Similar"), tr("Similarity to the head that all are compared with")}});
    table_->header()->setStretchLastSection(false);
    table_->header()->setSectionResizeMode(QHeaderView::ResizeToContents); // also with larger text
    table_->setSortingEnabled(true);
    table_->sortByColumn(Kind, Qt::AscendingOrder);
    table_->setMinimumHeight(fontMetrics().height() * 4);
    named(similar_, name + "Alike", tr("Sort the heads by similarity to the selected one"),
          tr("Sort the heads by similarity to the selected one, in this model and in models that you "
             "open later. Press again on the same head to return to groups"));
    makeColumn(this, 0, {makeRow({{order_, 1}, similar_}), {table_, 1}, explanation_});
    connect(order_, &QComboBox::activated, this, [this] {
        if (order_->currentData().toInt() != kBySimilarity) reference_.reset();
        list();
        sort();
        explain();
    });
    connect(similar_, &QPushButton::clicked, this, &HeadTable::sortBySimilarity);
    const auto choose = [this](const QTreeWidgetItem* item) {
        if (const HeadScores* head = headOf(item)) emit headChosen(head->site, head->head);
    };
    connect(table_, &QTreeWidget::currentItemChanged, this, &HeadTable::explain);
    connect(table_, &QTreeWidget::currentItemChanged, this, choose);
    // A click on the head that is selected already shows it again, whatever else was looked at meanwhile.
    connect(table_, &QTreeWidget::itemClicked, this, choose);
    listOrders();
    explain();
}

const HeadScores* HeadTable::headOf(const QTreeWidgetItem* item) const {
    return item && shown_ ? &shown_->heads[static_cast<size_t>(item->data(Head, Qt::UserRole).toInt())] : nullptr;
}

const HeadScores* HeadTable::beforeOf(const HeadScores& head) const {
    return before_ && before_->kinds.data() == head.kinds.data() ? before_->find(head.site, head.head) : nullptr;
}

void HeadTable::setDetection(std::shared_ptr<const HeadDetection> detection,
                             std::shared_ptr<const HeadDetection> before, std::shared_ptr<const ModelInfo> model) {
    if (detection == shown_ && before == before_) return;
    const HeadScores* selected = headOf(table_->currentItem());
    const auto current = selected ? std::optional(std::pair(selected->site, selected->head)) : std::nullopt;
    // The same head on another picture.
    if (reference_ && detection && model == reference_->model) reference_->in = detection;
    shown_ = std::move(detection);
    before_ = std::move(before);
    model_ = std::move(model);
    groups_.assign(shown_ ? shown_->heads.size() : 0, 0);
    int number = 0;
    if (shown_)
        for (const auto& group : headGroups(*shown_, shown_->leastAlike)) {
            if (group.size() < 2) break; // the rest are alone, too
            ++number;
            for (const size_t at : group) groups_[at] = number;
        }
    if (shown_ && shown_->kinds.data() != kinds_.data()) {
        kinds_ = shown_->kinds;
        listOrders();
        sort();
    }
    list();
    const QSignalBlocker quiet(table_);
    for (size_t at = 0; current && at < groups_.size(); ++at)
        if (current == std::pair(shown_->heads[at].site, shown_->heads[at].head)) select(at);
    explain();
}

void HeadTable::listOrders() {
    const QSignalBlocker quiet(order_);
    order_->clear();
    order_->addItem(tr("By kind"), kByKind);
    order_->addItem(tr("By layer"), kByPlace);
    order_->addItem(tr("Grouped by similar pattern"), kByGroup);
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
        order_->addItem(tr("By “%1”").arg(titleOf(kinds_[kind])), static_cast<int>(kind));
}

void HeadTable::showHead(int site, int head) {
    if (!shown_ || !shown_->find(site, head)) return;
    const QSignalBlocker quiet(table_);
    select(shown_->indexOf(site, head));
    table_->scrollToItem(table_->currentItem());
    explain();
}

void HeadTable::select(size_t index) {
    for (int row = 0; row < table_->topLevelItemCount(); ++row)
        if (table_->topLevelItem(row)->data(Head, Qt::UserRole).toInt() == static_cast<int>(index))
            table_->setCurrentItem(table_->topLevelItem(row));
}

std::vector<float> HeadTable::similarities() {
    if (!reference_ || !shown_) return {};
    std::vector<float> all(shown_->heads.size(), 1); // the reference is equal to itself
    try {
        for (const SimilarHead& each : similarHeads(*reference_->in, reference_->index, *shown_))
            all[each.index] = each.similarity;
    } catch (const Error&) { // the models cannot be compared
        reference_.reset();
        return {};
    }
    return all;
}

void HeadTable::list() {
    const QSignalBlocker quiet(table_);
    table_->clear();
    table_->setSortingEnabled(false); // once, when all are there
    const std::vector<float> alike = similarities();
    nameReference();
    const int order = order_->currentData().toInt();
    table_->headerItem()->setText(Score, order >= 0 ? tr("Score") : tr("Own score"));
    table_->headerItem()->setToolTip(
        Score,
        order >= 0
            ? tr("The score of every head for the kind “%1”").arg(titleOf(kinds_[static_cast<size_t>(order)]))
            : tr("The score of each head for its own kind. To compare heads by one score, choose a kind above."));
    if (shown_) {
        std::vector<int> ranks(shown_->heads.size());
        for (int rank = 0; const size_t at : headsByKind(*shown_)) ranks[at] = rank++;
        for (size_t at = 0; at < shown_->heads.size(); ++at) {
            const HeadScores& head = shown_->heads[at];
            const auto kind = order >= 0 ? std::optional(static_cast<size_t>(order)) : head.kind();
            auto* item = new HeadItem(head, {.index = static_cast<int>(at),
                                             .group = groups_[at],
                                             .similarity = alike.empty() ? -1 : alike[at],
                                             .rank = ranks[at],
                                             .score = kind ? head.of(*kind) : -1});
            item->setIcon(Head, thumbnailOf(shown_->prints[at]));
            if (const HeadScores* before = beforeOf(head); before && before->title() != head.title())
                item->setText(Kind, tr("%1 (original: %2)").arg(item->text(Kind), fromEngine(before->title())));
            table_->addTopLevelItem(item);
        }
    }
    table_->setColumnHidden(Similarity, alike.empty());
    table_->setColumnHidden(Group, !alike.empty());
    table_->setSortingEnabled(true);
}

/// The order by similarity is a choice only while there is a head to be similar to.
void HeadTable::nameReference() {
    const int at = order_->findData(kBySimilarity);
    if (reference_ && at < 0) order_->insertItem(order_->findData(kByGroup) + 1, tr("By similarity"), kBySimilarity);
    if (reference_) order_->setCurrentIndex(order_->findData(kBySimilarity));
    if (reference_ || at < 0) return;
    if (order_->currentIndex() == at) order_->setCurrentIndex(order_->findData(kByGroup));
    order_->removeItem(at);
}

void HeadTable::sort() {
    const QSignalBlocker quiet(table_);
    const int order = order_->currentData().toInt();
    if (order >= 0) return table_->sortByColumn(Score, Qt::DescendingOrder);
    if (order == kBySimilarity) return table_->sortByColumn(Similarity, Qt::DescendingOrder);
    table_->sortByColumn(order == kByKind ? Kind : order == kByPlace ? Head : Group, Qt::AscendingOrder);
}

void HeadTable::sortBySimilarity() {
    const HeadScores* head = headOf(table_->currentItem());
    if (!head) return;
    const size_t index = shown_->indexOf(head->site, head->head);
    const QSignalBlocker quiet(table_);
    if (reference_ && reference_->model == model_ && reference_->index == index) { // once more: groups again
        reference_.reset();
    } else {
        reference_ = Reference{shown_, index, model_};
    }
    list();
    sort();
    select(index);
    explain();
}

void HeadTable::explain() {
    const HeadScores* head = headOf(table_->currentItem());
    similar_->setEnabled(head != nullptr);
    order_->setEnabled(shown_ != nullptr);
    if (head) return explanation_->setText(explanationOf(*head));
    if (!shown_ || !reference_ || reference_->model == model_)
        return explanation_->setText(tr("Select a head to see why it has its kind and where it looks."));
    const HeadScores& to = reference_->in->heads[reference_->index];
    explanation_->setText(tr("Sorted by similarity to %1 of %2. Open another model to find similar heads there.")
                              .arg(fromEngine(to.label), shownText(reference_->model->name)));
}

QString HeadTable::explanationOf(const HeadScores& head) const {
    QStringList reasons;
    for (const size_t kind : head.labels()) {
        const HeadKind& named = head.kinds[kind];
        QString reason = tr("%1: %2").arg(titleOf(named), fromEngine(head.finding(kind)));
        if (*named.source) reason += ' ' + tr("(source: %1)").arg(fromEngine(named.source));
        reasons << reason;
    }
    QString text = tr("%1 – %2").arg(fromEngine(head.label),
                                     reasons.isEmpty() ? tr("mixed: no kind dominates") : reasons.join("; "));
    if (!text.endsWith('.')) text += '.';
    const HeadScores* before = beforeOf(head);
    if (!before) return text;
    QStringList scores;
    for (size_t kind = 0; kind < head.kinds.size(); ++kind) {
        const int change = qRound((head.scores[kind] - before->scores[kind]) * 100);
        if (!std::isnan(head.scores[kind]) && change != 0)
            scores << QStringLiteral("%1 %2 %").arg(titleOf(head.kinds[kind]), formatSigned(change, 0));
    }
    return text + ' ' +
           tr("Original: %1. Difference in scores: %2.")
               .arg(fromEngine(before->title()), scores.isEmpty() ? tr("none of 1 % or more") : scores.join(tr(", ")));
}

ExportNumbers HeadTable::numbers() const {
    if (!shown_) return {};
    return {.csv = [shown = shown_] { return csvOf(*shown); }, .arrays = [shown = shown_] { return arraysOf(*shown); }};
}

} // namespace attn
