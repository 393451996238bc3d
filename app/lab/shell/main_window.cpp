#include "app/lab/shell/main_window.h"

#include "app/figures/token_label.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/fit_screen.h"
#include "app/lab/panels/attention_panel.h"
#include "app/lab/panels/compare_panel.h"
#include "app/lab/panels/jobs_button.h"
#include "app/lab/panels/picture_input_panel.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/autosave.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/dock_titles.h"
#include "app/lab/shell/presentation.h"
#include "app/lab/shell/scope_controller.h"
#include "app/lab/shell/start_controller.h"
#include "app/lab/shell/training_controller.h"
#include "app/lab/shell/window_menus.h"
#include "app/lab/shell/workspace_rail.h"
#include "app/lab/widgets/copying_drops.h"
#include "app/lab/widgets/status_strip.h"
#include "app/lab/widgets/undo_keys.h"
#include "app/lab/widgets/wheel_guard.h"
#include "app/lab/widgets/whole_rows.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/io/run_folder.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QSettings>
#include <QToolBar>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

/// Selects the head of a bundled model that shows most of its example; of others, the selection stays.
void selectTellingHead(Workbench& bench) {
    struct Telling {
        const char* path;
        int site, head;
    };
    constexpr Telling kTelling[] = {
        {"builtin:stories", 1, 1}, {"builtin:induction", 1, 0}, {"builtin:induction-trained", 1, 0}};
    for (const Telling& each : kTelling)
        if (bench.snapshot()->path() == each.path) bench.selectHead(each.site, each.head);
}

/// Places the timeline of a training run below all panels, from edge to edge, while the Train panel is among them.
void placeTimeline(QMainWindow& window, QWidget* timeline, const QDockWidget& train, const DockLayout& layout) {
    auto* strip = identified(new QToolBar(MainWindow::tr("Timeline"), &window), "timelineStrip");
    strip->setMovable(false);
    strip->setContextMenuPolicy(Qt::PreventContextMenu);
    strip->toggleViewAction()->setVisible(false); // its own menu would hide it for good
    auto* content = new QWidget;                  // a tool bar shows again what a lock hides, except inside of this
    makeRow(content, spacing::kTight, {{timeline, 1}});
    content->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    content->setMinimumWidth(1); // the window may become narrower
    strip->addWidget(content);
    window.addToolBar(Qt::BottomToolBarArea, strip);
    const auto follow = [strip, &train] { strip->setVisible(!train.isHidden()); };
    QObject::connect(train.toggleViewAction(), &QAction::toggled, strip, follow);
    QObject::connect(&layout, &DockLayout::entered, strip, follow); // an arrangement may have hidden it
    follow();
}

} // namespace

MainWindow::MainWindow(Setup setup, QWidget* parent)
    : QMainWindow(parent), remembersLayout_(setup.remembersLayout), bridge_(setup.device),
      training_({.device = setup.device.device, .validation = setup.device.validation}, bridge_),
      playground_(setup.device), runs_(setup.runsFolder),
      bench_(
          undo_.group(), [this](Command command) { bridge_.post(std::move(command)); }, &training_, &runs_,
          &playground_) {
    bench_.setDevice(setup.device);
    connect(&bridge_, &SessionBridge::posted, &bench_, &Workbench::follow);
    auto beginning = begin(setup); // the worker loads while this thread makes widgets
    setObjectName("mainWindow");
    setWindowTitle(tr("Attention Lab"));
    qApp->installEventFilter(new WheelGuard(this));
    qApp->installEventFilter(new UndoKeys(this));
    qApp->installEventFilter(new WholeRowLists(this));
    qApp->installEventFilter(new CopyingDrops(this));
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    preferences_ = std::make_unique<PreferencesController>(setup.preferences, bench_, *this);
    notices_ = std::make_unique<Notices>(*this);
    panels_ = std::make_unique<PanelDocks>(*this, bench_);
    new DockTitles(*this);
    auto* jobs = new JobsButton(bench_);
    notices_->status().addControl(jobs);
    connect(jobs, &JobsButton::runContinued, &panels_->the<TrainPanel>(), &TrainPanel::continueRun);
    connect(&bridge_, &SessionBridge::failed, &bench_, &Workbench::commandFailed);
    makeWorkspaces();
    makeControllers(setup, std::move(beginning));
    resize(setup.size);
    if (remembersLayout_) {
        restoreGeometry(QSettings().value("geometry").toByteArray());
        layout_->load();
    }
    fitScreen(*this);
    layout_->enter(workspaceNamed(remembersLayout_ ? QSettings().value("workspace").toString() : QString()));
    if (const bool hasLeftover = startAutosave(); setup.greets && !hasLeftover) { // else that is what to continue with
        lessons_->continueOpen();
        start_->greet();
    }
    trainingController_->offerToContinue();
    connect(&bridge_, &SessionBridge::snapshotChanged, this, &MainWindow::showSnapshot);
    menus_->update();
    setFocus(); // else the first button of a banner has it
    if (!setup.opens.isEmpty()) files_->openFirst(setup.opens, setup.prompt);
}

MainWindow::~MainWindow() {
    // Panels and undo commands post through the bridge; nothing may reach them once members are destroyed.
    lessons_.reset();
    disconnect(&bridge_, nullptr, this, nullptr);
    panels_.reset();
}

SessionController::Beginning MainWindow::begin(const Setup& setup) {
    if (!setup.autosaveFolder.isEmpty())
        autosave_ = std::make_unique<Autosave>(setup.autosaveFolder, [this] { return session_->shownDocument(); });
    SessionController::Beginning beginning{.usual = setup.path};
    if (autosave_ && setup.opens.isEmpty() && setup.prompt.isEmpty()) beginning.last = autosave_->takeLast();
    if (!setup.opens.isEmpty() || beginning.last) beginning.instead = setup.path;
    if (beginning.last)
        bridge_.post(SessionController::opening(*beginning.last));
    else if (setup.opens.isEmpty())
        bridge_.post(SessionController::opening(setup.path, setup.prompt));
    return beginning;
}

void MainWindow::makeWorkspaces() {
    rail_ = new WorkspaceRail(this);
    addToolBar(Qt::LeftToolBarArea, rail_);
    layout_ = new DockLayout(*this, panels_->docks());
    placeTimeline(*this, panels_->the<TrainPanel>().timeline(), panels_->dock("train"), *layout_);
    connect(rail_, &WorkspaceRail::chosen, layout_, &DockLayout::enter);
    connect(layout_, &DockLayout::left, this, [this](const Workspace& workspace) {
        levels_[workspace.id] = panels_->the<AttentionPanel>().wantedLevel();
    });
    connect(layout_, &DockLayout::entered, this, &MainWindow::showWorkspace);
    connect(&bench_, &Workbench::themeChanged, rail_, &WorkspaceRail::followTextSize);
    rail_->followTextSize();
    connect(&bench_, &Workbench::panelRequested, layout_, &DockLayout::showPanel);
}

void MainWindow::makeControllers(const Setup& setup, SessionController::Beginning beginning) {
    const auto beforeLesson = [this]() -> const SessionDocument* {
        const bool isInLesson = lessons_ && lessons_->player().before();
        return isInLesson ? &*lessons_->player().before() : nullptr;
    };
    locks_ = std::make_unique<LockController>(*this);
    const WindowParts parts{.window = *this,
                            .bench = bench_,
                            .bridge = bridge_,
                            .panels = *panels_,
                            .layout = *layout_,
                            .locks = *locks_,
                            .notices = *notices_};
    session_ = std::make_unique<SessionController>(parts, std::move(beginning), beforeLesson);
    files_ = std::make_unique<FileController>(parts, *session_, setup.asksStorage);
    exports_ = std::make_unique<ExportController>(parts);
    scopes_ = std::make_unique<ScopeController>(
        bench_, *notices_, QString::fromStdString(setup.device.device.value_or("")), setup.startScope);
    trainingController_ = std::make_unique<TrainingController>(bench_, *notices_, panels_->the<TrainPanel>(),
                                                               [beforeLesson] { return beforeLesson() != nullptr; });
    lessons_ = std::make_unique<LessonController>(parts, *session_, undo_, setup.lessonFolder);
    start_ = std::make_unique<StartController>(parts, *session_, *files_, *lessons_);
    presentation_ = std::make_unique<Presentation>(parts);
    menus_ = std::make_unique<WindowMenus>(parts, WindowMenus::Targets{.files = *files_,
                                                                       .session = *session_,
                                                                       .exports = *exports_,
                                                                       .lessons = *lessons_,
                                                                       .scopes = *scopes_,
                                                                       .preferences = *preferences_,
                                                                       .presentation = *presentation_,
                                                                       .undo = undo_.group()});
    connect(&notices_->status(), &StatusStrip::cancelRequested, this, &MainWindow::cancelWork);
    auto* pictures = &panels_->the<PictureInputPanel>();
    connect(pictures, &PictureInputPanel::readingChanged, this, [this, pictures](const QString& what) {
        if (what.isEmpty()) return notices_->endWork();
        notices_->showWork(what, [pictures] { return pictures->isReading(); });
    });
    connect(&bench_, &Workbench::shownRunChanged, this, &MainWindow::updateRemark);
    connect(&bench_, &Workbench::changesChanged, this, &MainWindow::updateRemark);
    const SecondRun* second = &panels_->the<ComparePanel>().second();
    connect(second, &SecondRun::changed, this, &MainWindow::updateWarnings);
    connect(&notices_->status(), &StatusStrip::warningsRequested, this,
            [this] { bench_.showPanel(bench_.snapshot()->model->warnings.empty() ? "compare" : "model"); });
    connect(&bench_, &Workbench::snapshotChanged, this, &MainWindow::finishSnapshot);
    connect(locks_.get(), &LockController::applied, this, [this] { leaveOut(bench_.snapshot().get()); });
    connect(locks_.get(), &LockController::applied, this, &MainWindow::updateRemark);
    connect(locks_.get(), &LockController::applied, this, &MainWindow::updateTitle); // of a lesson
    connect(files_.get(), &FileController::lessonFound, lessons_.get(), &LessonController::open);
    connect(session_.get(), &SessionController::fileChanged, this, &MainWindow::updateTitle);
    connect(preferences_.get(), &PreferencesController::changed, scopes_.get(), &ScopeController::show);
}

void MainWindow::showWorkspace(const Workspace& workspace) {
    rail_->setCurrent(workspace);
    menus_->setWorkspace(workspace);
    if (std::exchange(levelOf_, &workspace) != &workspace) { // else nobody asked for another level
        const auto known = levels_.find(workspace.id);
        panels_->the<AttentionPanel>().setLevel(known != levels_.end()   ? known->second
                                                : workspace.showsOneHead ? AttentionLevel::OneHead
                                                                         : AttentionLevel::AllHeads);
        panels_->the<AttentionPanel>().showFlow(workspace.showsFlow);
    }
    locks_->apply();
}

bool MainWindow::startAutosave() {
    if (!autosave_) return false;
    connect(autosave_.get(), &Autosave::failed, notices_.get(),
            [this](const Failure& failure) { notices_->fail(failure); });
    const auto leftover = autosave_->takeLeftover();
    for (const Failure& failure : autosave_->unreadable()) notices_->fail(failure);
    if (leftover) {
        const auto all = checkpoints(leftover->modelPath.toStdString()); // of a run that was shown
        const QString title = leftover->title().left(60);
        const QString question = all.empty() ? tr("Attention Lab closed unexpectedly. Restore “%1”?").arg(title)
                                             : tr("Attention Lab closed unexpectedly. Restore “%1” with the last "
                                                  "checkpoint of the training run, of step %2?")
                                                   .arg(title, QString::number(*checkpointStep(all.back())));
        notices_->offer(question, {{tr("Restore"), tr("Restore the session that was not saved"),
                                    [this, leftover] { session_->restore(*leftover); }}});
    }
    const auto enable = [this] { autosave_->setEnabled(preferences_->now().autosaves); };
    enable();
    connect(preferences_.get(), &PreferencesController::changed, autosave_.get(), enable);
    return leftover.has_value();
}

void MainWindow::showSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = bench_.snapshot();
    const bool isNewModel = snapshot->model && (!before || before->model != snapshot->model);
    const bool isOpenedHere = isNewModel && session_->isOpenedHere(*snapshot);
    notices_->follow(before.get(), *snapshot);
    if (isNewModel) {
        session_->keepBefore(*snapshot); // first: what follows changes what is in front
        session_->leaveStart();
        leaveOut(snapshot.get());
        session_->bringPicture(*snapshot);
        files_->noteOpened(*snapshot);
    }
    exports_->tellSaved(*snapshot);
    bench_.setSnapshot(snapshot);
    if (isOpenedHere) selectTellingHead(bench_);
    updateTitle();
    trainingController_->withdrawOffer();
}

void MainWindow::leaveOut(const Snapshot* snapshot) {
    QStringList absent = snapshot ? panels_->useless(*snapshot) : QStringList();
    for (const auto& [id, dock] : panels_->docks())
        if (isHiddenBy(*dock, locks_->inForce()) && !absent.contains(id)) absent << id;
    layout_->setAbsent(absent);
}

void MainWindow::finishSnapshot() {
    trainingController_->prepareEngine();
    menus_->update();
    updateRemark();
    updateWarnings();
    lessons_->goOn();
    session_->goOn();
    if (!session_->isRestoring()) presentation_->goOn();
    scopes_->show();
}

void MainWindow::updateTitle() {
    const Snapshot* snapshot = bench_.snapshot().get();
    if (!snapshot || !snapshot->model) return;
    QStringList parts{shownText(snapshot->model->name)};
    if (snapshot->shown) parts << shownText(snapshot->shown->title);
    if (const QString path = session_->file(); !path.isEmpty())
        parts << shownText(QFileInfo(path).fileName().toStdString());
    const QString names = parts.join(QStringLiteral(" · ")).replace("[*]", "[*][*]"); // Qt hides one of them
    setWindowTitle(tr("%1 – Attention Lab").arg(names));
}

void MainWindow::updateRemark() {
    QStringList remarks;
    if (bench_.snapshot() && bench_.snapshot()->isChanged) remarks << tr("model changed");
    if (bench_.shownRun() == ShownRun::Original) remarks << tr("original shown");
    if (bench_.shownRun() == ShownRun::Difference && !bench_.changes().empty()) remarks << tr("difference shown");
    if (bench_.hasModel() && bench_.snapshot()->model->storage != Storage::F32)
        remarks << tr("weights as %1")
                       .arg(QString::fromStdString(std::string(storageName(bench_.snapshot()->model->storage))));
    if (locks_->isLesson())
        remarks << tr("lesson");
    else if (!locks_->own().isEmpty())
        remarks << tr("locked for class");
    notices_->status().setRemark(remarks.join(QStringLiteral(" · ")));
}

void MainWindow::updateWarnings() {
    QStringList all;
    const auto add = [&](const std::vector<std::string>& warnings, const Snapshot& of) {
        for (const std::string& each : warnings)
            all << QStringLiteral("%1: %2").arg(shownText(of.model->name), shownText(each));
    };
    const SecondRun& second = panels_->the<ComparePanel>().second();
    if (bench_.hasModel()) add(bench_.snapshot()->model->warnings, *bench_.snapshot());
    if (bench_.hasModel()) add(second.warnings(), *second.snapshot());
    notices_->status().setWarnings(all);
}

void MainWindow::cancelWork() {
    auto& pictures = panels_->the<PictureInputPanel>();
    if (files_->cancel() || exports_->cancel()) return;
    if (!pictures.isReading()) return bridge_.post(StopCommand{});
    pictures.cancelReading();
    notices_->endWork();
    notices_->succeed(tr("Reading was cancelled."));
}

void MainWindow::saveLayout() {
    if (!remembersLayout_) return;
    QSettings().setValue("geometry", saveGeometry());
    layout_->store();
    preferences_->now().save();
}

void MainWindow::saveForNextStart() {
    saveLayout();
    if (autosave_) autosave_->saveForNextStart();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    const bool isKept = preferences_->now().autosaves;
    saveLayout();
    if (remembersLayout_) lessons_->rememberOpen(isKept);
    session_->rememberTyped(isKept);
    if (autosave_) autosave_->finish(isKept ? std::optional(session_->ownDocument()) : std::nullopt);
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const auto urls = event->mimeData()->urls();
    const bool areFiles = !urls.isEmpty() && std::ranges::all_of(urls, &QUrl::isLocalFile);
    if (areFiles && locks_->mayOpenFiles()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const auto urls = event->mimeData()->urls();
    if (urls.isEmpty()) return;
    QStringList paths;
    for (const QUrl& url : urls) paths << url.toLocalFile();
    files_->openFirst(paths);
    event->acceptProposedAction();
}

} // namespace attn
