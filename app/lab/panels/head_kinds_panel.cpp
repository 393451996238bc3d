#include "app/lab/panels/head_kinds_panel.h"

#include "app/figures/difference.h"
#include "app/figures/tile_image.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/hint_label.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>

namespace attn {
namespace {

constexpr int kPicture = 72;                              ///< pixels across a thumbnail
constexpr float kAlike = 0.8f;                            ///< least similarity of patterns in one group
constexpr int kByKind = -1, kByPlace = -2, kByGroup = -3; ///< orders; values from 0 sort by the score of that HeadKind

QString nameOf(const HeadScores& head) { return QStringLiteral("L%1 H%2").arg(head.site).arg(head.head); }

/// Thumbnail of a head's pattern on the random tokens.
QIcon pictureOf(const HeadDetection& found, const HeadScores& head) {
    const auto print = found.printOf(head.site, head.head);
    const int tokens = found.printTokens;
    auto tile = std::make_shared<PatternTile>(PatternTile{.site = head.site,
                                                          .head = head.head,
                                                          .rows = tokens,
                                                          .columns = tokens,
                                                          .queryBegin = 0,
                                                          .queryEnd = tokens,
                                                          .keyBegin = 0,
                                                          .keyEnd = tokens,
                                                          .values = {print.begin(), print.end()}});
    TileImage image;
    image.update(tile, {.kind = ScaleKind::RowMaximum}, ColourMapId::Viridis);
    return QPixmap::fromImage(image.image().scaled(kPicture, kPicture, Qt::KeepAspectRatio, Qt::FastTransformation));
}

} // namespace

HeadKindsPanel::HeadKindsPanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), order_(new QComboBox), detect_(new QPushButton(tr("Find head kinds"))),
      alike_(new QPushButton(tr("Find similar heads"))), heads_(new QListWidget),
      explanation_(makeHintLabel("kindExplanation")) {
    order_->setObjectName("kindOrder");
    order_->setAccessibleName(tr("Order of the heads"));
    order_->setToolTip(order_->accessibleName());
    order_->addItem(tr("By kind"), kByKind);
    order_->addItem(tr("By layer"), kByPlace);
    order_->addItem(tr("Grouped by similar pattern"), kByGroup);
    for (size_t kind = 0; kind < kHeadKinds; ++kind) {
        const std::string_view name = attn::nameOf(static_cast<HeadKind>(kind));
        order_->addItem(tr("By “%1”").arg(fromEngine(name)), static_cast<int>(kind));
    }
    detect_->setObjectName("kindDetect");
    detect_->setAccessibleName(tr("Find the kind of each head"));
    detect_->setToolTip(tr("Run the model on repeated random tokens and on a short text, and score every head"));
    alike_->setObjectName("kindAlike");
    alike_->setAccessibleName(tr("Sort the heads by similarity to the selected head"));
    alike_->setToolTip(alike_->accessibleName());
    heads_->setObjectName("kindHeads");
    heads_->setWordWrap(true);
    heads_->setAccessibleName(tr("Heads and their kinds"));
    heads_->setToolTip(tr("Select a head to see why it has its label. The other panels then show this head."));
    heads_->setViewMode(QListView::IconMode);
    heads_->setIconSize({kPicture, kPicture});
    heads_->setResizeMode(QListView::Adjust);
    heads_->setMovement(QListView::Static);
    heads_->setUniformItemSizes(true);
    heads_->setMinimumHeight(kPicture + 3 * fontMetrics().height());
    auto* top = new QHBoxLayout;
    top->addWidget(detect_);
    top->addWidget(order_, 1);
    top->addWidget(alike_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(top);
    column->addWidget(heads_, 1);
    column->addWidget(explanation_);
    connect(detect_, &QPushButton::clicked, this, &HeadKindsPanel::detect);
    connect(order_, &QComboBox::activated, this, [this] {
        reference_.reset();
        list();
    });
    connect(alike_, &QPushButton::clicked, this, [this] {
        if (const QListWidgetItem* item = heads_->currentItem()) {
            const int at = item->data(Qt::UserRole).toInt();
            reference_ = ReferenceHead{found_, at / found_->heads, at % found_->heads,
                                       QString::fromStdString(snapshot_->model->name)};
        }
        list();
    });
    connect(heads_, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
        explain();
        if (!item || !found_) return;
        const int at = item->data(Qt::UserRole).toInt();
        bench_.selectHead(at / found_->heads, at % found_->heads);
    });
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        if (snapshot_) setSnapshot(snapshot_);
        if (run == ShownRun::Difference && front_->isInFront() && found_) detect();
    });
    front_ = new FrontWatch(this, [this](bool) { detectIfNew(); });
    list();
}

/// Labels the heads of a model automatically when the panel first shows them.
void HeadKindsPanel::detectIfNew() {
    if (!front_->isInFront() || found_ || !snapshot_ || !snapshot_->model || asked_ == snapshot_->model) return;
    if (snapshot_->status.activity != Activity::Idle) return;
    asked_ = snapshot_->model;
    detect();
}

void HeadKindsPanel::detect() {
    if (snapshot_ && snapshot_->model) bench_.post(RunAnalysisCommand{std::make_shared<HeadDetectionAnalysis>()});
}

void HeadKindsPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewModel = !snapshot_ || snapshot_->model != snapshot->model;
    snapshot_ = snapshot;
    const auto result = snapshot->analyses.find(HeadDetectionAnalysis{}.key());
    const auto found =
        result == snapshot->analyses.end() ? nullptr : std::static_pointer_cast<const HeadDetection>(result->second);
    const auto before = std::static_pointer_cast<const HeadDetection>(
        bench_.comparedAnalysis(*snapshot, HeadDetectionAnalysis{}.key()));
    if (!isNewModel && found == found_ && before == before_) return detectIfNew();
    before_ = before;
    found_ = found; // reference_ stays, so that a new model is sorted by the head of the previous one
    list();
    detectIfNew();
}

void HeadKindsPanel::list() {
    const int order = order_->currentData().toInt();
    const QSignalBlocker quiet(heads_); // clearing the list must not select a head
    heads_->clear();
    if (found_) {
        std::vector<std::pair<HeadScores, QString>> rows;
        if (reference_ && reference_->in->printTokens != found_->printTokens)
            reference_.reset(); // too small to compare
        if (reference_) {
            if (reference_->in == found_)
                rows.emplace_back(found_->all[static_cast<size_t>(reference_->site * found_->heads + reference_->head)],
                                  tr("selected head"));
            for (const SimilarHead& each : similarHeads(*reference_->in, reference_->site, reference_->head, *found_))
                rows.emplace_back(found_->all[static_cast<size_t>(each.site * found_->heads + each.head)],
                                  tr("%1 % similar").arg(qRound(each.similarity * 100)));
        } else if (order == kByGroup) {
            int number = 1;
            for (const auto& group : headClusters(*found_, kAlike)) {
                for (const auto& [layer, head] : group)
                    rows.emplace_back(found_->all[static_cast<size_t>(layer * found_->heads + head)],
                                      tr("group %1").arg(number));
                ++number;
            }
        } else {
            for (const HeadScores& head : found_->all)
                rows.emplace_back(head, order >= 0
                                            ? tr("%1 %").arg(qRound(head.scores[static_cast<size_t>(order)] * 100))
                                            : QString::fromStdString(head.title()));
            const auto rank = [&](const HeadScores& head) { // by first label, then by score
                const auto labels = head.labels();
                return labels.empty() ? std::pair(static_cast<int>(kHeadKinds), 0.0f)
                                      : std::pair(static_cast<int>(labels.front()), -head.of(labels.front()));
            };
            if (order == kByKind)
                std::ranges::stable_sort(rows, std::less(), [&](const auto& row) { return rank(row.first); });
            else if (order >= 0)
                std::ranges::stable_sort(rows, std::greater(),
                                         [&](const auto& row) { return row.first.scores[static_cast<size_t>(order)]; });
        }
        for (auto& [head, remark] : rows) {
            if (const HeadScores* before = beforeOf(head); before && before->title() != head.title())
                remark += QStringLiteral("\n") + tr("original: %1").arg(QString::fromStdString(before->title()));
            auto* item = new QListWidgetItem(pictureOf(*found_, head),
                                             QStringLiteral("%1 %2").arg(nameOf(head), remark), heads_);
            item->setSizeHint({fontMetrics().horizontalAdvance("L00 H00 duplicate token "),
                               kPicture + (before_ ? 4 : 2) * fontMetrics().height()}); // room for the original label
            item->setData(Qt::UserRole, head.site * found_->heads + head.head);
            QStringList reasons;
            for (HeadKind kind : head.labels()) reasons << QString::fromStdString(head.explanation(kind));
            item->setToolTip(tr("Layer %1, head %2").arg(head.site).arg(head.head) + "\n" + reasons.join("\n"));
        }
    }
    explain();
}

void HeadKindsPanel::explain() {
    alike_->setEnabled(heads_->currentItem() != nullptr);
    order_->setEnabled(found_ != nullptr);
    if (!found_) {
        explanation_->setText(
            tr("Press Find head kinds to label each head: induction, previous token, duplicate token, sink and others. "
               "The label depends on where the head looks in repeated random tokens and in a short text."));
        return;
    }
    const QListWidgetItem* item = heads_->currentItem();
    if (!item && reference_) {
        explanation_->setText(
            tr("Sorted by similarity to layer %1, head %2 of %3. Open another model to find similar heads there.")
                .arg(reference_->site)
                .arg(reference_->head)
                .arg(reference_->model));
        return;
    }
    if (!item) {
        explanation_->setText(tr("Each thumbnail is a pattern on %1 random tokens, repeated once. Select a head to see "
                                 "why it has its label.")
                                  .arg(found_->printTokens / 2));
        return;
    }
    const HeadScores& head = found_->all[static_cast<size_t>(item->data(Qt::UserRole).toInt())];
    QStringList reasons;
    for (HeadKind kind : head.labels()) {
        const std::string_view name = attn::nameOf(kind);
        reasons << tr("%1: %2").arg(fromEngine(name), QString::fromStdString(head.explanation(kind)));
    }
    QString text = tr("Layer %1, head %2 – ").arg(head.site).arg(head.head) +
                   (reasons.isEmpty() ? tr("mixed: no kind reaches 40 % of its attention") : reasons.join("; ")) + ".";
    if (const HeadScores* before = beforeOf(head)) {
        QStringList scores;
        for (size_t kind = 0; kind < kHeadKinds; ++kind) {
            const int change = qRound((head.scores[kind] - before->scores[kind]) * 100);
            const std::string_view name = attn::nameOf(static_cast<HeadKind>(kind));
            if (change != 0) scores << QStringLiteral("%1 %2 %").arg(fromEngine(name), formatSigned(change, 0));
        }
        text += ' ' + tr("Original: %1. Difference in scores: %2.")
                          .arg(QString::fromStdString(before->title()),
                               scores.isEmpty() ? tr("none of 1 % or more") : scores.join(tr(", ")));
    }
    explanation_->setText(text);
}

const HeadScores* HeadKindsPanel::beforeOf(const HeadScores& head) const {
    const bool isSame =
        before_ && found_ && before_->heads == found_->heads && before_->all.size() == found_->all.size();
    return isSame ? &before_->all[static_cast<size_t>(head.site * found_->heads + head.head)] : nullptr;
}

ExportNumbers HeadKindsPanel::numbers() const {
    if (!found_) return {};
    const auto csv = [found = found_] {
        QString text = "layer,head,title";
        for (size_t kind = 0; kind < kHeadKinds; ++kind) {
            const std::string_view name = attn::nameOf(static_cast<HeadKind>(kind));
            text += "," + fromEngine(name);
        }
        text += '\n';
        for (const HeadScores& head : found->all) {
            text += QStringLiteral("%1,%2,%3").arg(head.site).arg(head.head).arg(QString::fromStdString(head.title()));
            for (float score : head.scores) text += QStringLiteral(",%1").arg(static_cast<double>(score));
            text += '\n';
        }
        return text;
    };
    const auto arrays = [found = found_]() -> std::vector<NumberArray> {
        NumberArray scores{"scores", {found->sites, found->heads, static_cast<int64_t>(kHeadKinds)}, {}};
        for (const HeadScores& head : found->all)
            scores.values.insert(scores.values.end(), head.scores.begin(), head.scores.end());
        return {scores,
                {"patterns", {found->sites, found->heads, found->printTokens, found->printTokens}, found->prints}};
    };
    return {.csv = csv, .arrays = arrays};
}

} // namespace attn
