#include "app/lab/panels/runs_panel.h"

#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/controls/start_comparison.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/io/run_folder.h"

#include <QHeaderView>
#include <QPushButton>
#include <QTreeView>
#include <QUndoCommand>

namespace attn {
namespace {

constexpr int kLeastColumn = 9; ///< characters; in a narrow dock the names of runs stay readable

/// Deletes a training run by moving its folder aside; undo moves it back.
class RunDeletion : public QUndoCommand {
public:
    RunDeletion(RunListModel& runs, QString folder)
        : QUndoCommand(RunsPanel::tr("deleting a training run")), runs_(runs), folder_(std::move(folder)) {}

    void redo() override {
        const int row = runs_.rowOf(folder_);
        aside_ = row < 0 ? QString() : runs_.putAside(row);
    }
    void undo() override {
        if (!aside_.isEmpty()) runs_.restore(aside_);
    }

private:
    RunListModel& runs_;
    QString folder_, aside_;
};

} // namespace

RunsPanel::RunsPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), table_(new QTreeView(this)), hint_(makeHintLabel()) {
    const auto button = [](const char* name, const QString& text, const QString& help) {
        return named(new QPushButton(text), name, tr("%1 the selected run").arg(text), help);
    };
    open_ = button("openRun", tr("Open"), tr("Load this run: recipe, timeline and model"));
    duplicate_ = button("duplicateRun", tr("Duplicate"),
                        tr("Copy this run's recipe to the Train panel. Change it there and train it as a new run."));
    delete_ = button("deleteRun", tr("Delete"), tr("Delete this run. Undo restores it."));
    empty_ = new EmptyState("runsEmpty", tr("Your training runs appear here. A run is kept when it ends: it can be "
                                            "opened, compared and trained further."));
    empty_->offerAction("trainPlay", tr("Train a model"));
    auto* list = new QWidget; // a lock shows and hides all of it, and not the table in place of the sentence
    makeColumn(list, 0, {{empty_, 1}, {table_, 1}});
    start_ = new StartComparison;
    makeColumn(this, spacing::kGap, {hint_, {list, 1}, makeRow({open_, duplicate_, delete_, room()}), start_});
    RunListModel& runs = bench_.runs();
    named(table_, "runs", tr("Training runs"),
          tr("Tick runs to compare their curves. Double-click a run to open it. Press F2 to rename it."));
    table_->setModel(&runs);
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setEditTriggers(QAbstractItemView::EditKeyPressed);
    fitColumns(*table_, RunListModel::NameColumn);
    fitHeader();
    assignControlGroup(list, "runs");
    connect(table_, &QTreeView::doubleClicked, this, [this](const QModelIndex& index) { open(index.row()); });
    connect(open_, &QPushButton::clicked, this, [this] { open(selectedRow()); });
    connect(duplicate_, &QPushButton::clicked, this, &RunsPanel::duplicate);
    connect(delete_, &QPushButton::clicked, this, &RunsPanel::remove);
    connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunsPanel::updateButtons);
    for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
        connect(&runs, signal, this, &RunsPanel::updateButtons);
    for (const auto signal : {&RunListModel::activeChanged, &RunListModel::writtenChanged})
        connect(&runs, signal, this, &RunsPanel::updateButtons);
    for (const auto signal : {&RunListModel::listed, &RunListModel::problemsChanged})
        connect(&runs, signal, this, &RunsPanel::updateButtons);
    connect(start_, &StartComparison::comparisonRequested, this, &RunsPanel::compareWithStart);
    connect(&bench_.training(), &TrainingBridge::changed, this, &RunsPanel::showStart);
    updateButtons();
}

int RunsPanel::selectedRow() const {
    const QModelIndexList rows = table_->selectionModel()->selectedRows();
    return rows.isEmpty() ? -1 : rows.front().row();
}

void RunsPanel::fitHeader() {
    table_->header()->setMinimumSectionSize(fontMetrics().averageCharWidth() * kLeastColumn);
}

void RunsPanel::changeEvent(QEvent* event) {
    Panel::changeEvent(event);
    if (event->type() == QEvent::FontChange) fitHeader();
}

void RunsPanel::open(int row) {
    if (row < 0) return;
    RunListModel& runs = bench_.runs();
    const QString folder = runs.runs()[static_cast<size_t>(row)].folder;
    runs.setShown(row, true);
    runs.setActive(folder);
    listing_.cancel();
    if (folder.toStdString() == bench_.training().snapshot()->folder) return bench_.training().follow(true);
    using Paths = std::vector<std::filesystem::path>;
    listing_.start<Paths>(
        "training runs", [folder](const std::atomic<bool>&) { return checkpoints(folder.toStdString()); },
        [this, folder](std::variant<Paths, Failure> found) {
            const auto* all = std::get_if<Paths>(&found);
            if (!all || all->empty() || folder != bench_.runs().active()) return;
            bench_.training().show(folder, QString::fromStdString(all->back().string()), *checkpointStep(all->back()));
        });
}

void RunsPanel::duplicate() {
    const int row = selectedRow();
    if (row >= 0) bench_.requestRecipe(bench_.runs().runs()[static_cast<size_t>(row)].recipe);
}

void RunsPanel::remove() {
    const int row = selectedRow();
    if (row < 0) return;
    const QString folder = bench_.runs().runs()[static_cast<size_t>(row)].folder;
    bench_.undoStack().push(new RunDeletion(bench_.runs(), folder));
}

int RunsPanel::shownRow() const {
    const int row = selectedRow();
    return row >= 0 ? row : bench_.runs().rowOf(bench_.runs().active());
}

void RunsPanel::showStart() {
    const int row = shownRow();
    const TrainingSnapshot& training = *bench_.training().snapshot();
    const RunListModel::Run* run = row < 0 ? nullptr : &bench_.runs().runs()[static_cast<size_t>(row)];
    const bool isTraining = run && run->folder.toStdString() == training.folder;
    start_->showRun(run, isTraining ? training.checkpointCount : 0);
}

void RunsPanel::compareWithStart() {
    const int row = shownRow();
    if (row < 0) return;
    const std::string start = bench_.runs().runs()[static_cast<size_t>(row)].recipe.start.model;
    open(row);
    bench_.requestComparison(QString::fromStdString(start));
    bench_.showPanel("compare");
}

void RunsPanel::updateButtons() {
    showStart();
    const int row = selectedRow();
    const auto& runs = bench_.runs().runs();
    open_->setEnabled(row >= 0);
    duplicate_->setEnabled(row >= 0);
    delete_->setEnabled(row >= 0 && !bench_.runs().isInUse(runs[static_cast<size_t>(row)].folder));
    const bool isListing = bench_.runs().isListing();
    QStringList hints;
    if (isListing) hints << tr("The training runs are being read.");
    if (!isListing && !runs.empty()) hints << tr("Tick runs to compare their curves. Double-click a run to open it.");
    if (const QStringList& problems = bench_.runs().problems(); !problems.isEmpty()) {
        hints
            << (problems.size() == 1
                    ? tr("A training run has a problem: %1").arg(problems.front())
                    : tr("%1 training runs have a problem. The first: %2").arg(problems.size()).arg(problems.front()));
        hint_->setToolTip(problems.join('\n'));
    }
    hint_->setText(hints.join('\n'));
    hint_->setVisible(!hints.isEmpty());
    empty_->setVisible(runs.empty() && !isListing);
    for (QWidget* each : std::initializer_list<QWidget*>{table_, open_, duplicate_, delete_})
        each->setVisible(!runs.empty());
}

} // namespace attn
