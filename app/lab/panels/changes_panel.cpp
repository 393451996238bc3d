#include "app/lab/panels/changes_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/token_text.h"
#include "app/lab/common/icons.h"
#include "app/lab/controls/answer_table.h"
#include "app/lab/controls/gate_slider.h"
#include "app/lab/controls/pattern_editor.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/run_cells_view.h"
#include "app/lab/widgets/side_by_side.h"
#include "app/lab/widgets/site_box.h"
#include "app/lab/widgets/whole_rows.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/snapshot_views.h"
#include "app/lab/workbench/workbench.h"
#include "engine/analysis/continuation.h"
#include "engine/analysis/text_tokens.h"
#include "engine/inference/named_changes.h"
#include "engine/inference/whole_layer.h"

#include <QComboBox>
#include <QFormLayout>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTimer>
#include <QTreeWidget>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// Adds the gates of a session file from before version 0.3, which has them apart: [layers, heads].
void restoreGates(Changes& changes, const QJsonArray& gates, const ModelInfo& model) {
    if (gates.size() != qsizetype{model.layers} * model.heads) return;
    for (int at = 0; at < gates.size(); ++at)
        if (const double gate = gates[at].toDouble(1); gate >= 0 && gate <= 1)
            changes.setGate(at / model.heads, at % model.heads, static_cast<float>(gate));
}

constexpr size_t kMostCells = 256; ///< most tokens of a text that are shown
constexpr int kCellTypingPauseMs = 300;

} // namespace

// The form ------------------------------------------------------------------------------------------------------------

ValueChange::Kind ChangesPanel::kind() const { return static_cast<ValueChange::Kind>(kind_->currentIndex()); }
ChangePlace ChangesPanel::place() const { return static_cast<ChangePlace>(where_->currentIndex()); }
float ChangesPanel::amount() const { return amountAt(amount_->value(), kind()); }

std::vector<ValueChange> ChangesPanel::described(ChangePlace place, int layer) const {
    if (!snapshot_ || !snapshot_->model) return {};
    ValueChange made{.kind = kind(),
                     .head = place == ChangePlace::HeadOutput ? head_->value() : -1,
                     .position = token_->currentIndex() - 1,
                     .amount = amount()};
    if (made.position >= 0 && place != ChangePlace::Embedding)
        made.position = rowAtSite(*snapshot_, made.position, layer);
    source_->describe(made);
    return changeAtPlace(place, snapshot_->model->site(layer), std::move(made), snapshot_->model->hooks);
}

void ChangesPanel::addDescribed() {
    if (add_->isEnabled()) bench_.addChanges(described(place(), layer_->value()));
}

void ChangesPanel::showForm() {
    layer_->setVisible(place() != ChangePlace::Embedding);
    head_->setVisible(place() == ChangePlace::HeadOutput);
    const QSignalBlocker quiet(amount_);
    amount_->setValue(firstAmountStep(kind()));
    amountText_->setText(amountText(amount()));
    source_->show(kind());
    showSource();
}

void ChangesPanel::showSource() {
    const QString problem = source_->problem(kind());
    add_->setEnabled(bench_.hasModel() && problem.isEmpty());
    add_->setToolTip(problem.isEmpty() ? tr("Add this change") : problem);
    showCells();
}

/// Follows the head and the row that all panels show.
void ChangesPanel::showHead() {
    const QSignalBlocker quietLayer(layer_), quietHead(head_);
    layer_->setValue(bench_.selection().site);
    head_->setValue(bench_.selection().head);
    const auto row = bench_.selection().row;
    if (std::exchange(selectedRow_, row) != row && row && token_->currentIndex() > 0 && bench_.hasModel())
        token_->setCurrentIndex(1 + rowOfSelection(*bench_.snapshot(), *row));
    showCells();
}

void ChangesPanel::showRow() {
    const int row = token_->currentIndex() - 1;
    pattern_->setRow(row < 0 ? std::nullopt : std::optional(row));
    showCells();
}

/// What depends on the model alone.
void ChangesPanel::showModel() {
    const ModelInfo* model = snapshot_->model.get();
    {
        const QSignalBlocker quietLayer(layer_), quietHead(head_);
        layer_->setRange(0, model ? model->siteCount() - 1 : 0);
        layer_->setNames(bench_.siteNames());
        head_->setRange(0, model ? model->heads - 1 : 0);
    }
    const QString noun = bench_.input().say(&InputWords::noun);
    kind_->setItemText(1, tr("Replace with a %1's mean").arg(noun));
    kind_->setItemText(2, tr("Replace with a %1's value").arg(noun));
    effect_->headerItem()->setText(0, model ? answerTitle(*model) : tr("Next token"));
    for (QWidget* each : std::initializer_list<QWidget*>{write_, written_})
        each->setVisible(!model || model->writesText());
    showHead();
    showForm();
}

void ChangesPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const bool isNewModel = !before || before->model != snapshot->model;
    if (isNewModel || before->sequence != snapshot->sequence) {
        listRows(*token_, tr("every token"), *snapshot);
        showRow();
    }
    if (isNewModel) {
        showModel();
        showList();
    }
    if (isNewModel || before->next != snapshot->next || before->original != snapshot->original ||
        before->answer != snapshot->answer || before->originalAnswer != snapshot->originalAnswer)
        showEffect();
    pattern_->setSnapshot(snapshot);
    showContinuations();
    showCells();
}

// The list of changes -------------------------------------------------------------------------------------------------

/// Sets the amount of the selected change to the slider's value. Without a selection the value is for the next change.
void ChangesPanel::changeSelected() {
    amountText_->setText(amountText(amount()));
    QTreeWidgetItem* item = list_->currentItem();
    if (!item || !item->isSelected()) return;
    const int at = list_->indexOfTopLevelItem(item);
    Changes after = bench_.changes();
    const std::span<ValueChange> change = changeAt(after, at);
    if (change.empty()) return;
    for (ValueChange& each : change) each.amount = amountAt(amount_->value(), each.kind);
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

void ChangesPanel::showList() {
    const int current = list_->currentItem() ? list_->indexOfTopLevelItem(list_->currentItem()) : -1;
    {
        const QSignalBlocker quiet(list_);
        const ModelStructure structure = bench_.hasModel() ? bench_.snapshot()->model->structure : ModelStructure{};
        list_->clear();
        for (const auto change : changesOf(bench_.changes().valueChanges))
            new QTreeWidgetItem(list_, {QString::fromStdString(describe(change, structure))});
        for (const PatternChange& each : bench_.changes().patterns)
            new QTreeWidgetItem(list_, {QString::fromStdString(describe(each, structure))});
        for (const auto& [at, gate] : bench_.changes().gates) {
            const QString head = bench_.headLabel(at.first, at.second);
            new QTreeWidgetItem(list_,
                                {gate == 0 ? tr("Head %1 removed").arg(head)
                                           : tr("Head %1 at %2").arg(head).arg(static_cast<double>(gate), 0, 'f', 2)});
        }
        for (int i = 0; i < list_->topLevelItemCount(); ++i)
            list_->topLevelItem(i)->setToolTip(0, list_->topLevelItem(i)->text(0));
    }
    const int count = list_->topLevelItemCount();
    const auto adjustable = static_cast<int>(changesOf(bench_.changes().valueChanges).size());
    // A new change with an amount is selected, so that the slider sets it.
    const int selected =
        adjustable > std::exchange(adjustable_, adjustable) ? adjustable - 1 : std::min(current, count - 1);
    if (selected >= 0) list_->setCurrentItem(list_->topLevelItem(selected));
    remove_->setEnabled(selected >= 0);
    const QString changes = count == 1 ? tr("1 change") : tr("%1 changes").arg(count);
    title_->setText(count == 0                                ? tr("No changes.")
                    : bench_.shownRun() == ShownRun::Original ? tr("Showing the original run, without %1.").arg(changes)
                                                              : tr("The model runs with %1.").arg(changes));
    reset_->setEnabled(count > 0);
    run_->setEnabled(count > 0);
}

// The effect ----------------------------------------------------------------------------------------------------------

void ChangesPanel::showEffect() {
    effect_->clear();
    if (!snapshot_ || !snapshot_->model) return;
    const ModelInfo& model = *snapshot_->model;
    const std::vector<float> now = answerProbabilities(*snapshot_), original = answerProbabilities(*snapshot_, true);
    const bool isChanged = !original.empty();
    for (const int column : {2, 3}) effect_->setColumnHidden(column, !isChanged);
    effect_->headerItem()->setText(1, isChanged                                   ? tr("Original")
                                      : model.activation == ClassActivation::None ? tr("Answer")
                                                                                  : tr("Probability"));
    showAnswers(*effect_, likelyAnswers(model, isChanged ? original : now, model, isChanged ? now : original), -1,
                model.activation, model.activation);
}

void ChangesPanel::showContinuations() {
    const auto found = resultIn<Continuation>(snapshot_->analyses, ContinuationAnalysis{}.key());
    write_->setEnabled(snapshot_->sequence && !snapshot_->sequence->tokens.empty());
    if (const QString problem = failureIn(*snapshot_, ContinuationAnalysis{}.key()); !problem.isEmpty())
        return written_->setText(problem.toHtmlEscaped());
    if (!found || found->inputVersion != snapshot_->sequenceVersion) return written_->clear();
    const auto line = [](const std::string& text) { return visibleText(QString::fromStdString(text)).toHtmlEscaped(); };
    written_->setText(
        tr("<b>Original</b> %1<br><b>Changed</b> %2").arg(line(found->textBefore), line(found->textAfter)));
}

ExportNumbers ChangesPanel::numbers() const {
    NumberArray gates{.name = "gate", .shape = {}, .values = {}};
    if (bench_.hasModel()) {
        const ModelInfo& model = *bench_.snapshot()->model;
        gates.shape = {model.siteCount(), model.heads};
        for (int site = 0; site < model.siteCount(); ++site)
            for (int head = 0; head < model.heads; ++head) // NaN: a layer with fewer heads
                gates.values.push_back(head < model.site(site).heads ? bench_.changes().gate(site, head)
                                                                     : std::nanf(""));
    }
    return {.csv = [text = plainCsv(*effect_, "answer,before,after,difference")] { return text; },
            .arrays = [gates] { return std::vector<NumberArray>{gates}; }};
}

constexpr const char* kShownKeys[] = {"changed", "original", "difference"}; // as in ShownRun

QJsonObject ChangesPanel::saveView() const {
    if (bench_.changes().empty() || !bench_.hasModel()) return {};
    const std::string json = changesToJson(bench_.changes(), bench_.snapshot()->model->structure);
    return {{"edits", QJsonDocument::fromJson(QByteArray::fromStdString(json)).object()},
            {"shown", QLatin1String(kShownKeys[static_cast<size_t>(bench_.shownRun())])}};
}

void ChangesPanel::restoreView(const QJsonObject& view) {
    if (!bench_.hasModel()) return;
    Changes changes;
    QString problem;
    try {
        const QByteArray json = QJsonDocument(view.value("edits").toObject()).toJson(QJsonDocument::Compact);
        changes = changesFromJson(json.toStdString(), bench_.snapshot()->model->structure);
    } catch (const std::exception& error) { // the rest of the session is restored
        problem = QString::fromUtf8(error.what());
    }
    restoreGates(changes, view.value("gates").toArray(), *bench_.snapshot()->model);
    if (changes != bench_.changes()) bench_.setChanges(std::move(changes));
    const auto shown = std::ranges::find(kShownKeys, view.value("shown").toString());
    bench_.showRun(shown == std::end(kShownKeys) ? ShownRun::Changed : static_cast<ShownRun>(shown - kShownKeys));
    if (!problem.isEmpty()) title_->setText(problem);
}

// The controls --------------------------------------------------------------------------------------------------------

ChangesPanel::ChangesPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), right_(new QStackedWidget), pattern_(new PatternEditor(bench)) {
    QLayout* head = makeHead();
    auto* answers = new QWidget;
    auto* left = makeColumn(answers, 0, {makeForm(), makeList()});
    effect_ = makePlainTable("interventionsEffect", tr("Answers of the original and the changed run"),
                             tr("Probabilities at temperature 1: original, changed and difference"),
                             {{tr("Next token"), tr("A token or class that one of the two runs predicts")},
                              {tr("Original"), tr("Its probability in the run without changes")},
                              {tr("Changed"), tr("Its probability in the run with all changes")},
                              {tr("Difference"), tr("Changed minus original, in percentage points")}});
    effect_->setSelectionMode(QAbstractItemView::NoSelection);
    left->addWidget(effect_, 1);
    left->addLayout(makeContinuations());
    right_->addWidget(pattern_);
    right_->addWidget(makeCells());
    makeColumn(this, spacing::kGap, {head, {new SideBySide(answers, right_, 3, 2), 1}});

    new FrontWatch(this,
                   [this](bool isInFront) { bench_.want(this, isInFront ? WantedViews::patterns() : WantedViews()); });
    connect(&bench_, &Workbench::selectionChanged, this, &ChangesPanel::showHead);
    connect(&bench_, &Workbench::changesChanged, this, [this] {
        showList();
        showCells();
    });
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        const QSignalBlocker quiet(run_);
        run_->setCurrentIndex(static_cast<int>(run));
        showList();
    });
    showForm();
    showList();
}

QLayout* ChangesPanel::makeHead() {
    title_ = makeTextLabel("interventionsTitle");
    run_ = named(new QComboBox, "interventionsRun", tr("Run that the views show"),
                 tr("Show the changed run, the original run or their difference in every view"));
    run_->addItems({tr("Changed"), tr("Original"), tr("Difference")});
    reset_ = named(new QPushButton(tr("Restore original")), "interventionsReset", tr("Restore the original model"),
                   tr("Remove every change and set every gate to 1"));
    connect(run_, &QComboBox::currentIndexChanged, this,
            [this](int index) { bench_.showRun(static_cast<ShownRun>(index)); });
    connect(reset_, &QPushButton::clicked, &bench_, &Workbench::restoreOriginal);
    return makeRow({{title_, 1}, run_, reset_});
}

QWidget* ChangesPanel::makeForm() {
    where_ = named(new QComboBox, "interventionWhere", tr("What to change"),
                   tr("A whole layer is everything that its attention and its MLP add to the residual stream. Removing "
                      "all of it skips the layer."));
    where_->addItems({tr("Head output"), tr("Attention output"), tr("MLP output"), tr("Whole layer"),
                      tr("Residual stream before layer"), tr("Embedding")});
    layer_ = named(new SiteBox, "interventionLayer", tr("Layer"));
    head_ = named(new WholeBox, "interventionHead", tr("Head"));
    layer_->setPrefix(tr("layer "));
    head_->setPrefix(tr("head "));
    token_ = named(new QComboBox, "interventionToken", tr("Token to change"),
                   tr("Change every token, or a single one. While a single token is chosen, click another in the text "
                      "or in the picture to choose that"));
    kind_ = named(new QComboBox, "interventionKind", tr("How to change it"),
                  tr("Remove the value; replace it with the mean over a run (mean ablation); replace it with the "
                     "value\nfrom another run (activation patching); or add a direction between runs (steering)"));
    kind_->addItems({tr("Remove"), {}, {}, tr("Add a direction")}); // showModel() names those that read another input
    amount_ = named(new QSlider(Qt::Horizontal), "interventionAmount", tr("Amount"),
                    tr("The share that is replaced, or the factor of a direction. Drag to adjust the change that is "
                       "selected below."));
    amount_->setRange(0, kAmountSteps);
    amountText_ = plainLabel();
    keepWidthOf(amountText_, QStringLiteral("−4.00 "));
    add_ = named(new QPushButton(tr("Add")), "interventionAdd", tr("Add this change"));
    add_->setIcon(themedIcon("add", QPalette::ButtonText));
    for (QComboBox* box : {where_, token_, kind_}) setLeastCharacters(*box, 6);

    auto* form = new QWidget;
    auto* rows = new QFormLayout(form);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    rows->addRow(tr("Where"), makeRow({{where_, 1}, layer_, head_}));
    rows->addRow(tr("Token"), token_);
    rows->addRow(tr("How"), kind_);
    source_ = new ChangeSource(*rows, bench_, this);
    rows->addRow(tr("Amount"), makeRow({{amount_, 1}, amountText_, add_}));
    rows->addRow(tr("Gate"), new GateSlider("interventionGate", bench_));
    for (QComboBox* box : {where_, kind_}) connect(box, &QComboBox::currentIndexChanged, this, &ChangesPanel::showForm);
    for (QSpinBox* box : std::initializer_list<QSpinBox*>{layer_, head_})
        connect(box, &QSpinBox::valueChanged, this, [this] { bench_.selectHead(layer_->value(), head_->value()); });
    connect(token_, &QComboBox::currentIndexChanged, this, &ChangesPanel::showRow);
    connect(source_, &ChangeSource::changed, this, &ChangesPanel::showSource);
    connect(source_, &ChangeSource::entered, this, &ChangesPanel::addDescribed);
    connect(amount_, &QSlider::valueChanged, this, &ChangesPanel::changeSelected);
    connect(add_, &QPushButton::clicked, this, &ChangesPanel::addDescribed);
    return form;
}

QLayout* ChangesPanel::makeList() {
    list_ = named(new QTreeWidget, "interventionsList", tr("Changes"),
                  tr("Select a change to set its amount or to remove it"));
    titleColumns(*list_, {{tr("Changes in effect"), tr("Each change to the model, with its place")}});
    list_->setRootIsDecorated(false);
    list_->setUniformRowHeights(true);
    new WholeRows(*list_, 4);
    remove_ = named(new QPushButton(tr("Remove")), "interventionsRemove", tr("Remove the selected change"));
    remove_->setIcon(themedIcon("remove", QPalette::ButtonText));
    connect(list_, &QTreeWidget::itemSelectionChanged, this,
            [this] { remove_->setEnabled(list_->currentItem() != nullptr && list_->currentItem()->isSelected()); });
    connect(remove_, &QPushButton::clicked, this, &ChangesPanel::removeSelected);
    auto* row = makeRow({{list_, 1}, remove_});
    row->setAlignment(remove_, Qt::AlignTop);
    return row;
}

QLayout* ChangesPanel::makeContinuations() {
    write_ =
        named(new QPushButton(tr("Compare continuations")), "interventionsWrite",
              tr("Compare continuations of the original and the changed run"),
              tr("Continue the text by 24 tokens in the original and the changed run, always with the most probable "
                 "token"));
    written_ = readsMarkup(makeHintLabel("interventionsWritten"));
    written_->setAccessibleName(tr("Continuations of the original and the changed run"));
    written_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    connect(write_, &QPushButton::clicked, this,
            [this] { bench_.post(RunAnalysisCommand{std::make_shared<ContinuationAnalysis>()}); });
    auto* row = makeRow({write_, {written_, 1}});
    row->setAlignment(write_, Qt::AlignTop);
    return row;
}

// Values of a run on another text, which the user drags to tokens of the prompt ---------------------------------------

QWidget* ChangesPanel::makeCells() {
    cells_ = identified(new RunCellsView, "interventionCells");
    auto* scroll = spoken(new QScrollArea, "interventionCellsArea", tr("Values of both runs"));
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(cells_);
    cellsHint_ = makeHintLabel("interventionCellsHint");
    cellsHint_->setMinimumHeight(2 * fontMetrics().lineSpacing()); // so that a longer text does not move the cells
    cellsHint_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    askTokens_ = identified(new QTimer(this), "typingPause");
    askTokens_->setSingleShot(true);
    askTokens_->setInterval(kCellTypingPauseMs);
    connect(askTokens_, &QTimer::timeout, this, [this] {
        auto analysis = std::make_shared<TextTokensAnalysis>();
        analysis->text = source_->text().toStdString();
        bench_.post(RunAnalysisCommand{std::move(analysis)});
    });
    connect(cells_, &RunCellsView::moved, this,
            [this](const RunCellsView::Move& move) { patch(move.row, move.from, move.to); });
    connect(cells_, &RunCellsView::reached, scroll, [scroll](const QRect& cell) {
        scroll->ensureVisible(cell.center().x(), cell.center().y(), cell.width(), cell.height());
    });
    connect(cells_, &RunCellsView::described, this, [this](const QString& text) {
        cellsHint_->setText(
            text.isEmpty() ? tr("Drag a value of the other text to a token of the prompt in the same row") : text);
    });
    followTheme(bench_, cells_);
    auto* part = new QWidget;
    makeColumn(part, 0, {{scroll, 1}, cellsHint_});
    return part;
}

std::vector<ValueChange> ChangesPanel::changeOfRow(int row) const {
    return row == 0 ? described(ChangePlace::Embedding, 0) : described(place(), row - 1);
}

void ChangesPanel::showCells() {
    const bool isWanted = kind() == ValueChange::Kind::Patch && !source_->text().isEmpty() && snapshot_ &&
                          snapshot_->model && snapshot_->sequence;
    right_->setCurrentIndex(isWanted ? 1 : 0);
    if (!isWanted) return askTokens_->stop();
    const std::string text = source_->text().toStdString();
    const auto cut = resultIn<TextTokens>(snapshot_->analyses, TextTokensAnalysis{}.key());
    std::vector<QString> rows, other, prompt = tokenLabels(snapshot_->sequence.get());
    if (cut && cut->text == text) {
        askTokens_->stop();
        for (int token : cut->tokens) other.push_back(visibleText(tokenText(*snapshot_, token)));
    } else if (std::pair asked(snapshot_->model, source_->text()); asked != asked_) {
        asked_ = std::move(asked);
        askTokens_->start();
    }
    if (const QString problem = failureIn(*snapshot_, TextTokensAnalysis{}.key()); !problem.isEmpty())
        cellsHint_->setText(problem);
    rows.push_back(tr("embedding"));
    for (int layer = 0; layer < snapshot_->model->layers && place() != ChangePlace::Embedding; ++layer)
        rows.push_back(tr("layer %1").arg(layer));
    other.resize(std::min(other.size(), kMostCells));
    prompt.resize(std::min(prompt.size(), kMostCells));
    std::vector<RunCellsView::Move> moves;
    for (const auto change : changesOf(bench_.changes().valueChanges)) {
        const ValueChange& first = change.front();
        if (first.kind != ValueChange::Kind::Patch || first.text != text || first.position < 0) continue;
        for (int row = 0; row < static_cast<int>(rows.size()); ++row)
            if (isSamePlace(change, changeOfRow(row)))
                moves.push_back({row, first.textPosition < 0 ? first.position : first.textPosition, first.position});
    }
    cells_->setRuns(std::move(rows), std::move(other), std::move(prompt));
    cells_->setMoves(std::move(moves));
}

void ChangesPanel::patch(int row, int from, int to) {
    std::vector<ValueChange> change = changeOfRow(row);
    for (ValueChange& each : change) {
        each.position = to;
        each.textPosition = from;
    }
    Changes after = bench_.changes();
    std::erase_if(after.valueChanges, [&](const ValueChange& old) { // an earlier patch of the same cell
        return std::ranges::any_of(change, [&](const ValueChange& each) {
            return old.kind == each.kind && old.hook == each.hook && old.head == each.head && old.position == to;
        });
    });
    after.valueChanges.insert(after.valueChanges.end(), change.begin(), change.end());
    bench_.change(std::move(after), tr("patching a value"),
                  QStringLiteral("patch %1.%2.%3").arg(row).arg(from).arg(to));
}

} // namespace attn
