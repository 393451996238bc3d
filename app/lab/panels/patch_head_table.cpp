#include "app/lab/panels/patch_head_table.h"

#include "app/lab/widgets/hint_label.h"
#include "engine/inference/model_info.h"

#include <QCoreApplication>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

enum Column { Head, Kind, Score, Group, Similarity };

/// Heads of one group are at least so similar. Below it, wide heads of few patches would all be one group.
constexpr float kLeastSimilarity = 0.9f;

QString translated(const char* text) { return QCoreApplication::translate("attn::Lens", text); }

QString wholePercent(float share) { return PatchHeadTable::tr("%1 %").arg(qRound(share * 100)); }

/// The scores of a head, one line for each kind that has a score.
QString scoresOf(const PatchHeadScores& head) {
    QStringList lines;
    for (size_t kind = 0; kind < kPatchHeadKinds; ++kind) {
        if (std::isnan(head.scores[kind])) continue;
        const QString title = translated(textOf(static_cast<PatchHeadKind>(kind)).title);
        const auto each = static_cast<PatchHeadKind>(kind);
        lines << (each == PatchHeadKind::Content || each == PatchHeadKind::WholePicture
                      ? PatchHeadTable::tr("%1: %2").arg(title, wholePercent(head.scores[kind]))
                      : PatchHeadTable::tr("%1: %2, %3 above an even spread")
                            .arg(title, wholePercent(head.scores[kind]), wholePercent(head.beyond[kind])));
    }
    return lines.join('\n');
}

/// A row of the table. Sorted by kind, the scores fall within each kind; heads without a kind or group come last.
class HeadItem : public QTreeWidgetItem {
public:
    /// @param group 0: none  @param similarity to the reference; below 0: there is no reference
    HeadItem(const PatchHeadScores& head, int index, int group, float similarity)
        : QTreeWidgetItem({PatchHeadTable::tr("L%1 H%2").arg(head.site).arg(head.head),
                           QString::fromStdString(head.title()),
                           head.kind() ? wholePercent(head.of(*head.kind())) : QStringLiteral("–")}),
          index_(index), group_(group), similarity_(similarity),
          kind_(head.kind() ? static_cast<int>(*head.kind()) : static_cast<int>(kPatchHeadKinds)),
          score_(head.kind() ? head.of(*head.kind()) : -1) {
        setData(Head, Qt::UserRole, index);
        setText(Group, group > 0 ? QString::number(group) : QStringLiteral("–"));
        setText(Similarity, similarity >= 0 ? wholePercent(similarity) : QString());
        for (const Column column : {Score, Group, Similarity})
            setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        const QString scores = scoresOf(head);
        setToolTip(Head, scores);
        setToolTip(Kind, head.kind() ? translated(textOf(*head.kind()).explanation) : scores);
        setToolTip(Score, scores);
    }

    bool operator<(const QTreeWidgetItem& item) const override {
        const auto& other = static_cast<const HeadItem&>(item);
        const int column = treeWidget()->sortColumn();
        if (column == Kind && kind_ != other.kind_) return kind_ < other.kind_;
        if (column == Kind && score_ != other.score_) return score_ > other.score_;
        if (column == Score && score_ != other.score_) return score_ < other.score_;
        if (column == Similarity && similarity_ != other.similarity_) return similarity_ < other.similarity_;
        const auto place = [](int group) { return group > 0 ? group : std::numeric_limits<int>::max(); };
        if (column == Group && group_ != other.group_) return place(group_) < place(other.group_);
        return index_ < other.index_;
    }

private:
    int index_, group_;
    float similarity_;
    int kind_;
    float score_;
};

QString csvOf(const PatchHeadDetection& found) {
    QString text = "layer,head,kind,down,right";
    for (size_t kind = 0; kind < kPatchHeadKinds; ++kind)
        text += QStringLiteral(",%1").arg(QLatin1String(textOf(static_cast<PatchHeadKind>(kind)).id));
    text += '\n';
    for (const PatchHeadScores& head : found.heads) {
        text += QStringLiteral("%1,%2,%3,%4,%5")
                    .arg(head.site)
                    .arg(head.head)
                    .arg(QLatin1String(head.kind() ? textOf(*head.kind()).id : "mixed"))
                    .arg(head.down)
                    .arg(head.right);
        for (const float score : head.scores)
            text += std::isnan(score) ? QStringLiteral(",") : QStringLiteral(",%1").arg(static_cast<double>(score));
        text += '\n';
    }
    return text;
}

std::vector<NumberArray> arraysOf(const PatchHeadDetection& found) {
    NumberArray scores{"scores", {static_cast<int64_t>(found.heads.size()), static_cast<int64_t>(kPatchHeadKinds)}, {}};
    NumberArray heads{"heads", {static_cast<int64_t>(found.heads.size()), 2}, {}};
    for (const PatchHeadScores& head : found.heads) {
        scores.values.insert(scores.values.end(), head.scores.begin(), head.scores.end());
        heads.values.insert(heads.values.end(), {static_cast<float>(head.site), static_cast<float>(head.head)});
    }
    return {heads, scores};
}

} // namespace

PatchHeadTable::PatchHeadTable(QWidget* parent)
    : QWidget(parent), table_(new QTreeWidget), explanation_(makeHintLabel("patchHeadExplanation")),
      similar_(new QPushButton(tr("Find similar heads"))) {
    table_->setObjectName("patchHeads");
    table_->setAccessibleName(tr("Heads and their kinds"));
    table_->setToolTip(tr("Select a head to see why it has its kind and where it looks. Click a column title to sort"));
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setAllColumnsShowFocus(true);
    table_->setHeaderLabels({tr("Head"), tr("Kind"), tr("Score"), tr("Group"), tr("Similar")});
    table_->headerItem()->setToolTip(Head, tr("Layer and head"));
    table_->headerItem()->setToolTip(Kind, tr("The most specific kind whose score is high enough"));
    table_->headerItem()->setToolTip(Score, tr("The score for that kind"));
    table_->headerItem()->setToolTip(
        Group,
        tr("Heads with the same number have similar patterns (at least %1)").arg(wholePercent(kLeastSimilarity)));
    table_->headerItem()->setToolTip(Similarity, tr("Similarity to the head that all are compared with"));
    table_->header()->setStretchLastSection(false);
    table_->header()->setSectionResizeMode(QHeaderView::Fixed);
    table_->header()->setSectionResizeMode(Kind, QHeaderView::Stretch);
    for (const Column each : {Head, Score, Group, Similarity}) { // no room for the sort arrow: kinds need it more
        const QString widest = each == Head ? QStringLiteral("L00 H00") : wholePercent(1);
        table_->header()->resizeSection(each,
                                        std::max(fontMetrics().horizontalAdvance(table_->headerItem()->text(each)),
                                                 fontMetrics().horizontalAdvance(widest)) +
                                            2 * fontMetrics().averageCharWidth());
    }
    table_->setSortingEnabled(true);
    table_->sortByColumn(Kind, Qt::AscendingOrder);
    table_->setMinimumHeight(fontMetrics().height() * 4);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(table_, 1);
    column->addWidget(explanation_);
    column->addWidget(similar_);
    similar_->setObjectName("patchHeadAlike");
    similar_->setAccessibleName(tr("Sort the heads by similarity to the selected one"));
    similar_->setToolTip(tr("Sort the heads by similarity to the selected one, in this model and in models that you "
                            "open later. Press again on the same head to return to groups"));
    connect(similar_, &QPushButton::clicked, this, &PatchHeadTable::sortBySimilarity);
    connect(table_, &QTreeWidget::currentItemChanged, this, [this](const QTreeWidgetItem* item) {
        explain();
        if (const PatchHeadScores* head = headOf(item)) emit headChosen(head->site, head->head);
    });
    // A click on the head that is selected already shows it again, whatever else was looked at meanwhile.
    connect(table_, &QTreeWidget::itemClicked, this, [this](const QTreeWidgetItem* item) {
        if (const PatchHeadScores* head = headOf(item)) emit headChosen(head->site, head->head);
    });
    explain();
}

const PatchHeadScores* PatchHeadTable::headOf(const QTreeWidgetItem* item) const {
    return item && shown_ ? &shown_->heads[static_cast<size_t>(item->data(Head, Qt::UserRole).toInt())] : nullptr;
}

void PatchHeadTable::setDetection(std::shared_ptr<const PatchHeadDetection> detection,
                                  std::shared_ptr<const ModelInfo> model) {
    if (detection == shown_) return;
    const PatchHeadScores* before = headOf(table_->currentItem());
    const auto current = before ? std::optional(std::pair(before->site, before->head)) : std::nullopt;
    // The same head on another picture.
    if (reference_ && detection && model == reference_->model) reference_->in = detection;
    shown_ = std::move(detection);
    model_ = std::move(model);
    groups_.assign(shown_ ? shown_->heads.size() : 0, 0);
    int number = 0;
    if (shown_)
        for (const auto& group : headGroups(*shown_, kLeastSimilarity)) {
            if (group.size() < 2) break; // the rest are alone, too
            ++number;
            for (const size_t at : group) groups_[at] = number;
        }
    list();
    const QSignalBlocker quiet(table_);
    for (size_t at = 0; current && at < groups_.size(); ++at)
        if (current == std::pair(shown_->heads[at].site, shown_->heads[at].head)) select(at);
    explain();
}

void PatchHeadTable::select(size_t index) {
    for (int row = 0; row < table_->topLevelItemCount(); ++row)
        if (table_->topLevelItem(row)->data(Head, Qt::UserRole).toInt() == static_cast<int>(index))
            table_->setCurrentItem(table_->topLevelItem(row));
}

void PatchHeadTable::list() {
    const QSignalBlocker quiet(table_);
    table_->clear();
    table_->setSortingEnabled(false); // once, when all are there
    const std::vector<float> similarities = reference_ && shown_
                                                ? similaritiesTo(reference_->in->prints[reference_->index], *shown_)
                                                : std::vector<float>();
    for (size_t at = 0; shown_ && at < shown_->heads.size(); ++at)
        table_->addTopLevelItem(new HeadItem(shown_->heads[at], static_cast<int>(at), groups_[at],
                                             similarities.empty() ? -1 : similarities[at]));
    table_->setColumnHidden(Similarity, similarities.empty());
    table_->setColumnHidden(Group, !similarities.empty());
    table_->setSortingEnabled(true);
}

void PatchHeadTable::sortBySimilarity() {
    const PatchHeadScores* head = headOf(table_->currentItem());
    if (!head) return;
    const size_t index = shown_->indexOf(head->site, head->head);
    const QSignalBlocker quiet(table_);
    if (reference_ && reference_->model == model_ && reference_->index == index) { // once more: groups again
        reference_.reset();
        list();
        table_->sortByColumn(Group, Qt::AscendingOrder);
    } else {
        reference_ = Reference{shown_, index, model_};
        list();
        table_->sortByColumn(Similarity, Qt::DescendingOrder);
    }
    select(index);
    explain();
}

void PatchHeadTable::explain() {
    const PatchHeadScores* head = headOf(table_->currentItem());
    similar_->setEnabled(head != nullptr);
    if (!head && shown_ && reference_ && reference_->model != model_) {
        const PatchHeadScores& to = reference_->in->heads[reference_->index];
        return explanation_->setText(tr("Compared with layer %1, head %2 of %3.")
                                         .arg(to.site)
                                         .arg(to.head)
                                         .arg(QString::fromStdString(reference_->model->name)));
    }
    if (!head) return explanation_->setText(tr("Select a head to see why it has its kind and where it looks."));
    const auto kind = head->kind();
    if (!kind) return explanation_->setText(tr("Mixed: no kind dominates."));
    const PatchHeadKindText& text = textOf(*kind);
    QString said = translated(text.explanation);
    if (*text.source) said += ' ' + tr("Source: %1.").arg(QString::fromUtf8(text.source));
    explanation_->setText(said);
}

ExportNumbers PatchHeadTable::numbers() const {
    if (!shown_) return {};
    return {.csv = [shown = shown_] { return csvOf(*shown); }, .arrays = [shown = shown_] { return arraysOf(*shown); }};
}

} // namespace attn
