#include "app/lab/panels/changes_panel.h"

#include "app/figures/difference.h"
#include "app/figures/token_label.h"
#include "app/lab/bridge/token_text.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/panels/shown_tile.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/workbench/undo_commands.h"
#include "engine/analysis/continuation.h"
#include "engine/inference/hook_edits.h"
#include "engine/inference/sampling.h"
#include "engine/inference/whole_layer.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr int kMostPainted = 64; ///< most tokens of a pattern that can be painted
constexpr int kEffectRows = 8;   ///< rows of the effect table

/// Adds the gates of a session file from before version 0.3, which has them apart: [layers, heads].
void restoreGates(Changes& changes, const QJsonArray& gates, const ModelInfo& model) {
    if (gates.size() != qsizetype{model.layers} * model.heads) return;
    for (int at = 0; at < gates.size(); ++at)
        if (const double gate = gates[at].toDouble(1); gate >= 0 && gate <= 1)
            changes.setGate(at / model.heads, at % model.heads, static_cast<float>(gate));
}

} // namespace

ChangesPanel::ChangesPanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), title_(new QLabel), reset_(new QPushButton(tr("Restore original"))) {
    title_->setObjectName("interventionsTitle");
    title_->setWordWrap(true);
    reset_->setObjectName("interventionsReset");
    reset_->setAccessibleName(tr("Restore the original model"));
    reset_->setToolTip(tr("Remove every change and set every gate to 1"));
    connect(reset_, &QPushButton::clicked, &bench_, &Workbench::restoreOriginal);
    auto* head = new QHBoxLayout;
    run_ = new QComboBox;
    run_->setObjectName("interventionsRun");
    run_->setAccessibleName(tr("Run that the views show"));
    run_->setToolTip(tr("Show the changed run, the original run or their difference in every view"));
    run_->addItems({tr("Changed"), tr("Original"), tr("Difference")});
    connect(run_, &QComboBox::currentIndexChanged, this,
            [this](int index) { bench_.showRun(static_cast<ShownRun>(index)); });
    head->addWidget(title_, 1);
    head->addWidget(run_);
    head->addWidget(reset_);

    list_ = new QTreeWidget;
    list_->setObjectName("interventionsList");
    list_->setAccessibleName(tr("Changes"));
    list_->setToolTip(tr("Select a change to set its amount or to remove it"));
    list_->setHeaderHidden(true);
    list_->setRootIsDecorated(false);
    list_->setUniformRowHeights(true);
    list_->setFixedHeight(fontMetrics().height() * 5);
    remove_ = new QPushButton(tr("Remove"));
    remove_->setObjectName("interventionsRemove");
    remove_->setAccessibleName(tr("Remove the selected change"));
    remove_->setToolTip(remove_->accessibleName());
    connect(list_, &QTreeWidget::itemSelectionChanged, this,
            [this] { remove_->setEnabled(list_->currentItem() != nullptr && list_->currentItem()->isSelected()); });
    connect(remove_, &QPushButton::clicked, this, &ChangesPanel::removeSelected);

    effect_ = new QTreeWidget;
    effect_->setObjectName("interventionsEffect");
    effect_->setAccessibleName(tr("Next tokens of the original and the changed run"));
    effect_->setToolTip(tr("Probabilities at temperature 1: original, changed and difference"));
    effect_->setHeaderLabels({tr("Next token"), tr("Original"), tr("Changed"), tr("Difference")});
    effect_->setRootIsDecorated(false);
    effect_->setUniformRowHeights(true);
    effect_->setSelectionMode(QAbstractItemView::NoSelection);
    effect_->header()->setStretchLastSection(false);
    effect_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (int column : {1, 2, 3}) effect_->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
    effect_->setMinimumHeight(fontMetrics().height() * 6);

    write_ = new QPushButton(tr("Compare continuations"));
    write_->setObjectName("interventionsWrite");
    write_->setAccessibleName(tr("Compare continuations of the original and the changed run"));
    write_->setToolTip(
        tr("Continue the text by 24 tokens in the original and the changed run, always with the most likely token"));
    connect(write_, &QPushButton::clicked, this,
            [this] { bench_.post(RunAnalysisCommand{std::make_shared<ContinuationAnalysis>()}); });
    written_ = makeHintLabel("interventionsWritten");
    written_->setAccessibleName(tr("Continuations of the original and the changed run"));
    written_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* writeRow = new QHBoxLayout;
    writeRow->addWidget(write_, 0, Qt::AlignTop);
    writeRow->addWidget(written_, 1);

    auto* listRow = new QHBoxLayout;
    listRow->addWidget(list_, 1);
    listRow->addWidget(remove_, 0, Qt::AlignTop);
    auto* left = new QVBoxLayout;
    left->addWidget(makeForm());
    left->addLayout(listRow);
    left->addWidget(effect_, 1);
    left->addLayout(writeRow);
    auto* both = new QHBoxLayout;
    both->addLayout(left, 3);
    right_ = new QStackedWidget;
    right_->addWidget(makePattern());
    right_->addWidget(makeCells());
    both->addWidget(right_, 2);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(head);
    column->addLayout(both, 1);

    new FrontWatch(this,
                   [this](bool isInFront) { bench_.want(this, isInFront ? WantedViews::patterns() : WantedViews()); });
    connect(&bench_, &Workbench::headSelected, this, &ChangesPanel::showHead);
    connect(&bench_, &Workbench::changesChanged, this, [this] {
        showList();
        if (snapshot_) showCells();
    });
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        const QSignalBlocker quiet(run_);
        run_->setCurrentIndex(static_cast<int>(run));
        showList();
    });
    const auto setTheme = [this](ThemeId theme) { pattern_->setTheme(figureTheme(theme)); };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
    showForm();
    showList();
    showEffect();
}

/// Follows the head that all panels show.
void ChangesPanel::showHead() {
    const QSignalBlocker quietLayer(layer_), quietHead(head_);
    layer_->setValue(bench_.selection().site);
    head_->setValue(bench_.selection().head);
    showPattern();
    showCells();
}

/// Sets the amount of the selected change to the slider's value. Without a selection the value is for the next change.
void ChangesPanel::changeSelected() {
    amountText_->setText(amountText(amount()));
    QTreeWidgetItem* item = list_->currentItem();
    if (!item || !item->isSelected()) return;
    const int at = list_->indexOfTopLevelItem(item);
    Changes after = bench_.changes();
    const std::span<Intervention> change = changeAt(after, at);
    if (change.empty()) return;
    for (Intervention& each : change) each.amount = amountAt(amount_->value(), each.kind);
    amountText_->setText(amountText(change.front().amount));
    bench_.change(std::move(after), tr("setting an amount"), QStringLiteral("amount %1").arg(at));
}

void ChangesPanel::removeSelected() {
    QTreeWidgetItem* item = list_->currentItem();
    if (!item) return;
    Changes after = bench_.changes();
    removeChange(after, list_->indexOfTopLevelItem(item));
    bench_.change(std::move(after), tr("removing a change"), "remove");
}

void ChangesPanel::applyPattern(const std::function<void(PatternEdit&)>& change, const QString& text) {
    Changes after = bench_.changes();
    const auto found = std::ranges::find_if(after.patterns, [this](const PatternEdit& edit) {
        return edit.site == layer_->value() && edit.head == head_->value();
    });
    PatternEdit edit{.site = layer_->value(), .head = head_->value()};
    if (found != after.patterns.end()) edit = *found;
    change(edit);
    if (found != after.patterns.end())
        *found = std::move(edit);
    else
        after.patterns.push_back(std::move(edit));
    bench_.change(std::move(after), text, QStringLiteral("pattern %1.%2").arg(layer_->value()).arg(head_->value()));
}

/// Sets the cell to the brush's weight and scales the other cells of the row to share the rest.
void ChangesPanel::paint(const MatrixCell& cell) {
    const MatrixFigure& figure = pattern_->figure();
    if (figure.isEmpty() || cell.row >= figure.rows() || cell.column >= figure.columns()) return;
    bool looksAhead = false; // then the model is not causal
    for (int query = 0; query < figure.rows(); ++query)
        for (int key = query + 1; key < figure.columns(); ++key) looksAhead |= figure.valueAt({query, key}) > 0;
    const auto seenBy = [&](int query) { return looksAhead ? figure.columns() : query + 1; };
    const int keys = seenBy(cell.row);
    if (cell.column >= keys) return;
    std::vector<float> row;
    for (int key = 0; key < keys; ++key) row.push_back(figure.valueAt({cell.row, key}));
    const float weight = static_cast<float>(brush_->value()) / kAmountSteps;
    float rest = 0;
    for (int key = 0; key < keys; ++key) rest += key == cell.column ? 0 : row[static_cast<size_t>(key)];
    for (int key = 0; key < keys; ++key) {
        float& each = row[static_cast<size_t>(key)];
        if (key == cell.column)
            each = keys == 1 ? 1 : weight;
        else
            each = rest > 0 ? each * (1 - weight) / rest : (1 - weight) / static_cast<float>(keys - 1);
    }
    const PatternEdit::Kind now = [&] {
        for (const PatternEdit& edit : bench_.changes().patterns)
            if (edit.site == layer_->value() && edit.head == head_->value()) return edit.kind;
        return PatternEdit::Kind::Rows;
    }();
    applyPattern(
        [&](PatternEdit& edit) {
            if (now != PatternEdit::Kind::Rows) // the pattern on screen becomes the rows
                for (int query = 0; query < figure.rows(); ++query)
                    for (int key = 0; key < seenBy(query); ++key)
                        edit.rows[query].push_back(figure.valueAt({query, key}));
            edit.kind = PatternEdit::Kind::Rows;
            edit.rows[cell.row] = row;
        },
        tr("painting a pattern"));
}

bool ChangesPanel::eventFilter(QObject* watched, QEvent* event) {
    const bool isPress = event->type() == QEvent::MouseButtonPress, isMove = event->type() == QEvent::MouseMove;
    if (watched != pattern_ || (!isPress && !isMove)) return Panel::eventFilter(watched, event);
    const auto* mouse = static_cast<QMouseEvent*>(event);
    if (isPress ? mouse->button() == Qt::LeftButton : (mouse->buttons() & Qt::LeftButton) != 0)
        if (const auto cell = pattern_->figure().cellAt(mouse->position(), pattern_->figureLayout())) paint(*cell);
    return Panel::eventFilter(watched, event);
}

void ChangesPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const bool isNewModel = !before || before->model != snapshot->model;
    if (isNewModel && snapshot->model) {
        const QSignalBlocker quietLayer(layer_), quietHead(head_);
        layer_->setMaximum(snapshot->model->layers - 1);
        head_->setMaximum(snapshot->model->heads - 1);
        showHead();
    }
    if (isNewModel || before->sequence != snapshot->sequence) showTokens();
    if (isNewModel || before->detail != snapshot->detail || before->grid != snapshot->grid) showPattern();
    if (isNewModel) showList();
    if (isNewModel || before->next != snapshot->next || before->unedited != snapshot->unedited) showEffect();
    showWritten();
    showCells();
}

void ChangesPanel::showWritten() {
    const auto found = snapshot_->analyses.find(ContinuationAnalysis{}.key());
    write_->setEnabled(snapshot_->sequence && !snapshot_->sequence->tokens.empty());
    if (found == snapshot_->analyses.end() || found->second->inputVersion != snapshot_->sequenceVersion) {
        written_->clear();
        return;
    }
    const auto& continuation = static_cast<const Continuation&>(*found->second);
    const auto line = [](const std::string& text) { return visibleText(QString::fromStdString(text)).toHtmlEscaped(); };
    written_->setText(
        tr("<b>Original</b> %1<br><b>Changed</b> %2").arg(line(continuation.textBefore), line(continuation.textAfter)));
}

void ChangesPanel::showTokens() {
    const QSignalBlocker quiet(token_);
    const int current = token_->currentIndex();
    token_->clear();
    token_->addItem(tr("every token"));
    const std::vector<QString> labels = tokenLabels(snapshot_->sequence.get());
    for (size_t token = 0; token < labels.size() && token < 1024; ++token)
        token_->addItem(QStringLiteral("%1 “%2”").arg(token).arg(labels[token]));
    token_->setCurrentIndex(current >= 0 && current < token_->count() ? current : 0);
}

void ChangesPanel::showPattern() {
    MatrixFigure figure;
    figure.title = tr("Layer %1, head %2").arg(layer_->value()).arg(head_->value());
    figure.rowTitle = tr("query");
    figure.columnTitle = tr("key");
    figure.kind = MatrixFigure::Kind::Weights;
    const auto tile = snapshot_ ? shownTile(*snapshot_, layer_->value(), head_->value()) : nullptr;
    if (tile && tile->isExact() && tile->rows == tile->columns && tile->rows <= kMostPainted) {
        figure.setMatrix(tile->rows, tile->columns, tile->values);
        figure.rowLabels = figure.columnLabels = tokenLabels(snapshot_->sequence.get());
        figure.rowLabels.resize(static_cast<size_t>(tile->rows));
        figure.columnLabels.resize(static_cast<size_t>(tile->columns));
    } else {
        figure.note = tr("only a pattern of up to %1 tokens can be painted").arg(kMostPainted);
    }
    pattern_->setFigure(std::move(figure));
}

void ChangesPanel::showList() {
    const int current = list_->currentItem() ? list_->indexOfTopLevelItem(list_->currentItem()) : -1;
    const int countBefore = list_->topLevelItemCount();
    {
        const QSignalBlocker quiet(list_);
        list_->clear();
        for (const auto change : changesOf(bench_.changes().interventions))
            new QTreeWidgetItem(list_, {QString::fromStdString(describe(change))});
        for (const PatternEdit& each : bench_.changes().patterns)
            new QTreeWidgetItem(list_, {QString::fromStdString(describe(each))});
        for (int i = 0; i < list_->topLevelItemCount(); ++i)
            list_->topLevelItem(i)->setToolTip(0, list_->topLevelItem(i)->text(0));
    }
    const int count = list_->topLevelItemCount();
    // A new change is selected, so that the slider sets its amount.
    const int selected = count > countBefore ? static_cast<int>(changesOf(bench_.changes().interventions).size()) - 1
                                             : std::min(current, count - 1);
    if (selected >= 0) list_->setCurrentItem(list_->topLevelItem(selected));
    remove_->setEnabled(selected >= 0);
    const auto gates = static_cast<int>(bench_.changes().gates.size());
    QStringList parts;
    if (count > 0) parts << (count == 1 ? tr("1 change") : tr("%1 changes").arg(count));
    if (gates > 0) parts << (gates == 1 ? tr("1 reduced gate") : tr("%1 reduced gates").arg(gates));
    title_->setText(parts.isEmpty() ? tr("No changes.")
                    : bench_.shownRun() == ShownRun::Original
                        ? tr("Showing the original run, without %1.").arg(parts.join(tr(" and ")))
                        : tr("The model runs with %1.").arg(parts.join(tr(" and "))));
    reset_->setEnabled(!parts.isEmpty());
    run_->setEnabled(!parts.isEmpty());
}

void ChangesPanel::showEffect() {
    effect_->clear();
    if (!snapshot_ || !snapshot_->next || snapshot_->next->logits.empty()) return;
    const Sampling plain{.greedy = false};
    const auto after = rankCandidates(snapshot_->next->logits, plain, {}, -1);
    std::vector<float> then(after.size(), 0), now(after.size(), 0);
    for (const Candidate& each : after) now[static_cast<size_t>(each.token)] = each.probability;
    const bool isEdited = snapshot_->unedited != nullptr && snapshot_->unedited->logits.size() == after.size();
    for (int column : {2, 3}) effect_->setColumnHidden(column, !isEdited);
    effect_->headerItem()->setText(1, isEdited ? tr("Original") : tr("Probability"));
    std::vector<int> shown;
    const auto take = [&](const std::vector<Candidate>& from) {
        for (const Candidate& each : from)
            if (static_cast<int>(shown.size()) < kEffectRows && std::ranges::find(shown, each.token) == shown.end())
                shown.push_back(each.token);
    };
    if (isEdited) {
        auto before = rankCandidates(snapshot_->unedited->logits, plain, {}, -1);
        for (const Candidate& each : before) then[static_cast<size_t>(each.token)] = each.probability;
        before.resize(std::min<size_t>(before.size(), kEffectRows / 2));
        take(before);
    }
    take(after);
    std::ranges::stable_sort(shown, std::greater(), [&](int token) {
        return std::max(then[static_cast<size_t>(token)], now[static_cast<size_t>(token)]);
    });
    const auto percent = [](float value) {
        return QStringLiteral("%1 %").arg(static_cast<double>(value) * 100, 0, 'f', 1);
    };
    for (int token : shown) {
        const auto at = static_cast<size_t>(token);
        const QString label = visibleText(tokenText(*snapshot_, token));
        const float difference = now[at] - then[at];
        auto* item = new QTreeWidgetItem(
            effect_, {label, isEdited ? percent(then[at]) : percent(now[at]), isEdited ? percent(now[at]) : QString(),
                      isEdited ? tr("%1 %").arg(formatSigned(static_cast<double>(difference) * 100, 1)) : QString()});
        for (int column : {1, 2, 3}) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
}

ExportNumbers ChangesPanel::numbers() const {
    QString text = "token,before,after,difference\n";
    for (int row = 0; row < effect_->topLevelItemCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < 4; ++column)
            cells << "\"" + effect_->topLevelItem(row)->text(column).replace('"', "\"\"") + "\"";
        text += cells.join(',') + '\n';
    }
    return {.csv = [text] { return text; }};
}

QJsonObject ChangesPanel::saveView() const {
    if (bench_.changes().empty()) return {};
    const std::string json = changesToJson(bench_.changes());
    return {{"edits", QJsonDocument::fromJson(QByteArray::fromStdString(json)).object()}};
}

void ChangesPanel::restoreView(const QJsonObject& view) {
    if (!bench_.hasModel()) return;
    Changes changes;
    QString problem;
    try {
        const QByteArray json = QJsonDocument(view.value("edits").toObject()).toJson(QJsonDocument::Compact);
        changes = changesFromJson(json.toStdString());
    } catch (const std::exception& error) { // the rest of the session is restored
        problem = QString::fromUtf8(error.what());
    }
    restoreGates(changes, view.value("gates").toArray(), *bench_.snapshot()->model);
    if (changes != bench_.changes()) bench_.setChanges(std::move(changes));
    bench_.showRun(ShownRun::Changed);
    if (!problem.isEmpty()) title_->setText(problem);
}

} // namespace attn
