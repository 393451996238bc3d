#include "app/lab/shell/main_window.h"

#include "app/figures/token_label.h"
#include "app/lab/common/fit_screen.h"
#include "app/lab/common/motion.h"
#include "app/lab/common/theme.h"
#include "app/lab/lessons/lesson_panel.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/panels/attention_panel.h"
#include "app/lab/panels/by_input_panel.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/panels/jobs_button.h"
#include "app/lab/panels/picture_input_panel.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/autosave.h"
#include "app/lab/shell/banner_stack.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/dock_titles.h"
#include "app/lab/shell/model_step.h"
#include "app/lab/shell/run_animation.h"
#include "app/lab/shell/window_panels.h"
#include "app/lab/shell/workspace_rail.h"
#include "app/lab/widgets/banner.h"
#include "app/lab/widgets/status_strip.h"
#include "app/lab/widgets/wheel_guard.h"
#include "app/lab/widgets/widget_makers.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLayout>
#include <QMenu>
#include <QMimeData>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QStatusBar>

#include <algorithm>

namespace attn {
namespace {

constexpr int kMostWidth = 440; ///< two panels and the rail fit a window of 1024 pixels

/// A panel that needs more room than its dock has scrolls, so that small windows and large type clip nothing, and large
/// type does not widen the window. (A resizable QScrollArea would give panels with wrapping text their preferred
/// height, not the least.)
class PanelScroll : public QScrollArea {
public:
    explicit PanelScroll(QWidget* panel) {
        setFrameShape(QFrame::NoFrame);
        setFocusPolicy(Qt::NoFocus);
        setWidget(panel);
        panel->installEventFilter(this);
    }
    QSize minimumSizeHint() const override {
        const int wanted = widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width();
        return {std::min(wanted, kMostWidth), fontMetrics().height() * 5};
    }
    QSize sizeHint() const override { return widget()->sizeHint(); }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QScrollArea::resizeEvent(event);
        fit();
    }
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (watched == widget() && event->type() == QEvent::LayoutRequest) {
            if (const int least = minimumSizeHint().width(); std::exchange(leastWidth_, least) != least)
                updateGeometry(); // else the dock keeps the width that larger text needed
            fit();
        }
        return QScrollArea::eventFilter(watched, event);
    }

private:
    void fit() {
        QSize room = maximumViewportSize();
        const int leastWidth = widget()->minimumSizeHint().width();
        if (leastWidth > room.width()) room.rheight() -= horizontalScrollBar()->sizeHint().height();
        int width = std::max(room.width(), leastWidth);
        const auto leastHeight = [&] {
            const QLayout* layout = widget()->layout();
            return layout && layout->hasHeightForWidth() ? layout->minimumHeightForWidth(width)
                                                         : widget()->minimumSizeHint().height();
        };
        int height = leastHeight();
        if (height > room.height()) {
            width = std::max(room.width() - verticalScrollBar()->sizeHint().width(), leastWidth);
            height = leastHeight();
            // Qt takes the height that text and rows of buttons lack at the least from the largest of them, and clips
            // it.
            if (const QLayout* layout = widget()->layout(); layout && layout->hasHeightForWidth())
                height = layout->totalHeightForWidth(width);
        }
        widget()->resize(width, std::max(height, room.height()));
    }

    int leastWidth_ = 0;
};

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

/// Why the last run has no result; empty: it has one.
QString problemOfRun(const Snapshot& snapshot) {
    return snapshot.runFailure ? shownText(snapshot.runFailure->sentence()) : QString();
}

} // namespace

MainWindow::MainWindow(Setup setup, QWidget* parent)
    : QMainWindow(parent), preferences_(std::move(setup.preferences)), remembersLayout_(setup.remembersLayout),
      asksStorage_(setup.asksStorage), device_(QString::fromStdString(setup.device.device.value_or(""))),
      defaultPath_(setup.path), startScope_(std::move(setup.startScope)), bridge_(setup.device),
      training_({.device = setup.device.device, .validation = setup.device.validation}, bridge_),
      playground_(setup.device), runs_(setup.runsFolder),
      bench_(
          undo_, [this](Command command) { bridge_.post(std::move(command)); }, &training_, &runs_, &playground_) {
    bench_.setDevice(setup.device);
    for (QUndoStack* each : {&ownSteps_, &lessonSteps_}) undo_.addStack(each);
    undo_.setActiveStack(&ownSteps_);
    // The worker loads while this thread makes widgets.
    if (!setup.autosaveFolder.isEmpty())
        autosave_ = std::make_unique<Autosave>(setup.autosaveFolder, [this] { return ownDocument(); });
    if (autosave_ && setup.opens.isEmpty() && setup.prompt.isEmpty()) pending_ = autosave_->takeLast();
    if (!setup.opens.isEmpty() || pending_) firstPath_ = setup.path;
    if (pending_)
        bridge_.post(OpenModelCommand{.path = pending_->modelPath.toStdString(),
                                      .storage = pending_->storage,
                                      .given = {.text = pending_->given}});
    else if (setup.opens.isEmpty())
        postModel(setup.path, setup.prompt);
    setObjectName("mainWindow");
    setWindowTitle(tr("Attention Lab"));
    qApp->installEventFilter(new WheelGuard(this));
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setMotion(preferences_.moves);
    setTheme(preferences_.theme);
    status_ = new StatusStrip(this);
    statusBar()->addPermanentWidget(status_, 1);
    statusBar()->setSizeGripEnabled(false);
    connect(status_, &StatusStrip::cancelRequested, this, &MainWindow::cancelWork);
    auto* jobs = new JobsButton(bench_);
    status_->addControl(jobs);
    connect(jobs, &JobsButton::runContinued, this, [this] { train_->playOrPause(); });
    makeBanners();
    makeDocks();
    const auto showEdited = [this] {
        updateRemark();
        updateActions();
    };
    connect(pictureInput_, &PictureInputPanel::readingChanged, this, [this](const QString& what) {
        if (what.isEmpty()) return status_->setWork({});
        showWork(what, [this] { return pictureInput_->isReading(); });
    });
    connect(&bench_, &Workbench::openingRequested, this, [this](const QString& path) { open(path); });
    connect(&bench_, &Workbench::shownRunChanged, this, showEdited);
    connect(&bench_, &Workbench::changesChanged, this, showEdited);
    connect(&bench_, &Workbench::snapshotChanged, this, &MainWindow::finishSnapshot);
    connect(&bench_, &Workbench::headSelected, this, &MainWindow::showInScopes);
    connect(&bench_, &Workbench::headSelected, this, &MainWindow::updateActions);
    connect(&bridge_, &SessionBridge::failed, &bench_, &Workbench::commandFailed);
    makeWorkspaces();
    makeStart();
    makeMenus();
    resize(setup.size);
    if (remembersLayout_) {
        restoreGeometry(QSettings().value("geometry").toByteArray());
        layout_->load();
    }
    fitScreen(*this);
    layout_->enter(workspaceNamed(remembersLayout_ ? QSettings().value("workspace").toString() : QString()));
    startAutosave();
    makeLessons(setup.lessonFolder);
    if (setup.greets) greet();
    offerTraining();
    connect(&bridge_, &SessionBridge::snapshotChanged, this, &MainWindow::showSnapshot);
    connect(&bridge_, &SessionBridge::failed, this, [this](const Failure& failure) {
        const auto isIt = [&](const auto& analysis) { return analysis.second == failure; };
        if (bench_.snapshot() && std::ranges::any_of(bench_.snapshot()->failedAnalyses, isIt))
            return; // the panel that asked says so, and nothing else depends on it
        pending_.reset();
        returningTo_.clear();
        leavesStart_ = false;
        showFailure(failure);
        isFailureOfModel_ = bench_.hasModel() || firstPath_.isEmpty();
        if (!isFailureOfModel_) postModel(firstPath_, {}); // the model of the last session is gone
    });
    connect(&training_, &TrainingBridge::failed, this, &MainWindow::showFailure);
    connect(&training_, &TrainingBridge::changed, &runs_,
            [this](const auto& snapshot) { runs_.setWritten(QString::fromStdString(snapshot->folder)); });
    connect(&training_, &TrainingBridge::changed, this, [this](const auto& snapshot) {
        showTraining(*snapshot);
        rememberTraining(*snapshot);
    });
    connect(&training_, &TrainingBridge::viewsHeld, this, &MainWindow::offerRun);
    connect(&training_, &TrainingBridge::pointsArrived, &runs_, &RunListModel::append);
    updateActions();
    setFocus(); // else the first button of a banner has it
    if (!setup.opens.isEmpty()) open(setup.opens, setup.prompt);
}

MainWindow::~MainWindow() {
    // Panels and undo commands post through the bridge; nothing may reach them once members are destroyed.
    lessons_.reset();
    disconnect(qApp, nullptr, this, nullptr);
    disconnect(&bridge_, nullptr, this, nullptr);
    disconnect(&training_, nullptr, this, nullptr);
    disconnect(&playground_, nullptr, this, nullptr);
    disconnect(&undo_, nullptr, this, nullptr);
    for (const auto& [id, dock] : docks_) delete dock;
}

void MainWindow::makeDocks() {
    for (const PanelDescriptor& descriptor : windowPanels()) {
        const QString id = QString::fromLatin1(descriptor.id), title = panelTitle(descriptor);
        auto* dock = spoken(new QDockWidget(title, this), "dock." + id, title);
        Panel* panel = descriptor.make(bench_, dock);
        dock->setWidget(new PanelScroll(panel));
        if (descriptor.controlGroup) assignControlGroup(dock, descriptor.controlGroup);
        panel->setObjectName(id);
        panel->setAccessibleName(title);
        connect(&bench_, &Workbench::snapshotChanged, panel, &Panel::setSnapshot);
        panels_[id] = panel;
        docks_[id] = dock;
        if (panel->findChild<NothingForPictures*>()) textPanels_ << id;
    }
    attention_ = findChild<AttentionPanel*>();
    generate_ = findChild<GeneratePanel*>();
    pictureInput_ = findChild<PictureInputPanel*>();
    train_ = findChild<TrainPanel*>();
    lessonPanel_ = findChild<LessonPanel*>();
    new DockTitles(*this);
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
        for (QWidget* up = now; up; up = up->parentWidget())
            if (auto* panel = qobject_cast<Panel*>(up)) focusedPanel_ = panel;
    });
}

void MainWindow::makeWorkspaces() {
    rail_ = new WorkspaceRail(this);
    addToolBar(Qt::LeftToolBarArea, rail_);
    layout_ = new DockLayout(*this, docks_);
    connect(rail_, &WorkspaceRail::chosen, layout_, &DockLayout::enter);
    connect(layout_, &DockLayout::left, this,
            [this](const Workspace& workspace) { levels_[workspace.id] = attention_->wantedLevel(); });
    connect(layout_, &DockLayout::entered, this, &MainWindow::showWorkspace);
    connect(&bench_, &Workbench::themeChanged, rail_, &WorkspaceRail::followTextSize);
    rail_->followTextSize();
    connect(&bench_, &Workbench::panelRequested, layout_, &DockLayout::showPanel);
}

void MainWindow::showWorkspace(const Workspace& workspace) {
    rail_->setCurrent(workspace);
    actions_.at(QStringLiteral("workspace.") + workspace.id)->setChecked(true);
    if (std::exchange(levelOf_, &workspace) == &workspace) return showLocks(); // nobody asked for another level
    const auto known = levels_.find(workspace.id);
    attention_->setLevel(known != levels_.end()   ? known->second
                         : workspace.showsOneHead ? AttentionLevel::OneHead
                                                  : AttentionLevel::AllHeads);
    showLocks();
}

void MainWindow::makeBanners() {
    auto* stack = new BannerStack(*this);
    failureBanner_ = stack->add("failureBanner", tr("Failure"));
    offerBanner_ = stack->add("offerBanner", tr("Message"));
}

void MainWindow::startAutosave() {
    if (!autosave_) return;
    connect(autosave_.get(), &Autosave::failed, this, &MainWindow::showFailure);
    if (auto leftover = autosave_->takeLeftover()) {
        const QString text = tr("Attention Lab closed unexpectedly. Restore “%1”?").arg(leftover->title().left(60));
        offerBanner_->present(
            Banner::Kind::Offer, text,
            {{tr("Restore"), tr("Restore the session that was not saved"), [this, leftover] { restore(*leftover); }}});
        leftover_ = std::move(leftover);
    }
    autosave_->setEnabled(preferences_.autosaves);
}

void MainWindow::showSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = bench_.snapshot();
    const bool isOpenedHere = before && before->model && before->path() != snapshot->path() && !snapshot->shown &&
                              !pending_ && returningTo_.isEmpty() && !lessons_->before();
    status_->setSnapshot(*snapshot);
    const bool isNewModel = snapshot->model && (!before || before->model != snapshot->model);
    const bool isNewSequence =
        before && (before->sequence != snapshot->sequence || before->picture != snapshot->picture);
    if (isNewModel) {
        leaveStart();
        layout_->setAbsent(uselessPanels(*snapshot));
        keepModelBefore(*snapshot);
        const QString path = QString::fromStdString(snapshot->modelPath);
        if (!path.startsWith("builtin:") && !snapshot->shown) addRecentPath(path);
        refreshRecent();
    }
    // A session file that failed at the start is still named when the first model opens.
    const bool isFirst = !before || (!before->sequence && !before->picture);
    const bool isOver = before && !problemOfRun(*before).isEmpty() && problemOfRun(*before) == failureBanner_->text() &&
                        problemOfRun(*snapshot).isEmpty();
    if ((isOver || isNewModel || isNewSequence) && (isFailureOfModel_ || !isFirst) && failureBanner_->isVisible())
        failureBanner_->dismiss();
    if (!snapshot->finishedExport.empty() && snapshot->finishedExport != shownExport_)
        offerBanner_->present(Banner::Kind::Success, tr("Saved: %1").arg(shownText(snapshot->finishedExport)));
    shownExport_ = snapshot->finishedExport;
    bench_.setSnapshot(snapshot);
    if (isNewModel && isOpenedHere) selectTellingHead(bench_);
    updateTitle();
    withdrawRunOffer();
}

void MainWindow::updateTitle() {
    const Snapshot* snapshot = bench_.snapshot().get();
    if (!snapshot || !snapshot->model) return;
    QStringList parts{shownText(snapshot->model->name)};
    if (snapshot->shown) parts << shownText(snapshot->shown->title);
    if (!sessionPath_.isEmpty()) parts << shownText(QFileInfo(sessionPath_).fileName().toStdString());
    const QString names = parts.join(QStringLiteral(" · ")).replace("[*]", "[*][*]"); // Qt hides one of them
    setWindowTitle(tr("%1 – Attention Lab").arg(names));
}

QStringList MainWindow::uselessPanels(const Snapshot& snapshot) const {
    if (!snapshot.model) return {};
    if (snapshot.readsPictures()) return textPanels_;
    // They write texts, or score what may be written.
    return snapshot.model->writesText() ? QStringList() : QStringList{"branches", "text", "beams"};
}

void MainWindow::keepModelBefore(const Snapshot& next) {
    const QString path = QString::fromStdString(next.path());
    if (path == returningTo_) return returningTo_.clear(); // weights of a run may still come before it
    if (!bench_.hasModel() || path == QString::fromStdString(bench_.snapshot()->path())) return;
    if (!returningTo_.isEmpty()) return;
    if (next.shown && bench_.snapshot()->shown) return; // another moment of a training run
    beforeRun_.reset();
    if (lessons_->before()) return lessonSteps_.clear(); // they are about the model before
    if (next.shown) beforeRun_ = document();
    pushModelStep(tr("opening %1").arg(shownText(next.model->name)), path);
}

void MainWindow::pushModelStep(const QString& text, const QString& path, std::function<void()> again) {
    const auto after = std::make_shared<SessionDocument>(); // what undoing leaves
    SessionDocument here = document();
    if (!again) here.view.remove("train"); // another model has left the recipe as it is
    bench_.undoStack().push(new ModelStep(
        text,
        [this, before = std::move(here), after] {
            *after = document();
            bringBack(before);
        },
        [this, path, after, again = std::move(again)] {
            if (after->modelPath == path)
                bringBack(*after);
            else if (again)
                again();
            else
                reopen(path);
        }));
}

void MainWindow::reopen(const QString& path) {
    postModel(path, {});
    returningTo_ = path;
}

void MainWindow::openFresh() {
    if (bench_.hasModel()) pushModelStep(tr("starting afresh"), defaultPath_);
    layout_->enter(workspaceNamed("write"));
    bench_.setSampling({});
    reopen(defaultPath_);
}

void MainWindow::finishSnapshot() {
    prepareEngine();
    updateActions();
    updateRemark();
    resumeLesson();
    continueRestore();
    openWaitingPicture();
    showInScopes();
}

void MainWindow::prepareEngine() {
    const Status& status = bench_.snapshot()->status;
    if (status.preparesEngine || status.activity != Activity::Idle) {
        isFirstUse_ = isFirstUse_ || status.preparesEngine;
    } else if (std::exchange(isFirstUse_, false)) {
        if (const auto recipe = train_->recipe()) training_.session().prepare(*recipe, true);
    }
}

void MainWindow::showFailure(const Failure& failure) {
    isFailureOfModel_ = false;
    const QString sentence = shownText(failure.sentence());
    failureBanner_->present(Banner::Kind::Failure, sentence);
    emit failureShown(sentence);
}

void MainWindow::setTheme(ThemeId theme) {
    preferences_.theme = theme;
    applyTheme(theme, preferences_.textSize);
    bench_.setTheme(theme);
    showInScopes();
    updateActions();
}

void MainWindow::setPreferences(const Preferences& preferences) {
    preferences_ = preferences;
    preferences_.save();
    setMotion(preferences_.moves);
    setTheme(preferences_.theme);
    if (autosave_) autosave_->setEnabled(preferences_.autosaves);
}

void MainWindow::setLocks(const ControlLocks& locks) {
    locks_ = locks;
    showLocks();
}

void MainWindow::setLessonLocks(const std::optional<ControlLocks>& locks) {
    lessonLocks_ = locks;
    if (!locks) layout_->endLesson();
    showLocks();
}

void MainWindow::showLocks() {
    applyLocks(this, locksInForce());
    updateRemark();
    refreshRecent();
    updateActions();
}

void MainWindow::updateRemark() {
    QStringList remarks;
    if (bench_.snapshot() && bench_.snapshot()->isEdited) remarks << tr("model changed");
    if (bench_.shownRun() == ShownRun::Original) remarks << tr("original shown");
    if (bench_.shownRun() == ShownRun::Difference) remarks << tr("difference shown");
    if (bench_.hasModel() && bench_.snapshot()->model->storage != Storage::F32)
        remarks << tr("weights as %1")
                       .arg(QString::fromStdString(std::string(storageName(bench_.snapshot()->model->storage))));
    if (lessonLocks_)
        remarks << tr("lesson");
    else if (!locks_.isEmpty())
        remarks << tr("locked for class");
    status_->setRemark(remarks.join(QStringLiteral(" · ")));
}

void MainWindow::saveLayout() {
    if (!remembersLayout_) return;
    QSettings settings;
    settings.setValue("geometry", saveGeometry());
    layout_->store();
    preferences_.save();
}

void MainWindow::saveForNextStart() {
    saveLayout();
    if (autosave_) autosave_->saveForNextStart();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    saveLayout();
    rememberLesson();
    if (!preferences_.autosaves)
        QSettings().remove(kTypedPrompt);
    else if (!generate_->typed().isEmpty())
        QSettings().setValue(kTypedPrompt, generate_->typed());
    if (autosave_) autosave_->finish(preferences_.autosaves);
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const auto urls = event->mimeData()->urls();
    if (urls.size() == 1 && urls.front().isLocalFile() && locksInForce().value("files") == ControlState::Free)
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const auto urls = event->mimeData()->urls();
    if (urls.isEmpty()) return;
    open(urls.front().toLocalFile());
    event->acceptProposedAction();
}

} // namespace attn
