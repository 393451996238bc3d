#include "app/lab/shell/lesson_controller.h"

#include "app/lab/bridge/training_bridge.h"
#include "app/lab/lessons/lesson.h"
#include "app/lab/lessons/lesson_panel.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/lock_controller.h"
#include "app/lab/shell/notices.h"
#include "app/lab/shell/panel_docks.h"
#include "app/lab/shell/session_controller.h"
#include "app/lab/shell/undo_lists.h"

#include <QMainWindow>
#include <QSettings>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

constexpr auto kOpenLesson = "openLesson"; ///< the setting: id of the lesson that the end left open

} // namespace

LessonController::LessonController(const WindowParts& parts, SessionController& session, UndoLists& undo,
                                   const QString& folder)
    : parts_(parts), session_(session), undo_(undo), train_(parts.panels.the<TrainPanel>()),
      panel_(parts.panels.the<LessonPanel>()), player_(*this) {
    panel_.setPlayer(player_, parts_.window, folder);
    connect(&panel_, &LessonPanel::failed, this, [this](const Failure& failure) { parts_.notices.fail(failure); });
    connect(&player_, &LessonPlayer::ended, this, [this](const QString&, bool isFinished) {
        offerReturn(); // takes it back
        if (isFinished) parts_.notices.succeed(tr("Lesson finished."));
    });
    connect(&parts_.layout, &DockLayout::entered, this, &LessonController::offerReturn);
}

void LessonController::offerReturn() {
    const QString text = tr("A lesson is running, so the controls here are locked.");
    if (!player_.isPlaying() || parts_.layout.workspace().holds("lessons"))
        return parts_.notices.message().withdraw(text);
    parts_.notices.offer(text, {{tr("Back to the lesson"), tr("Show the panels of the lesson again"),
                                 [this] { parts_.layout.enter(workspaceNamed("learn")); }},
                                {tr("Leave the lesson"), tr("End the lesson and return to your own work"),
                                 [this] { player_.leave(); }}});
}

void LessonController::open(const QString& name) {
    if (!bench_.hasModel()) { // the lesson restores the session that is being opened
        connect(
            &bench_, &Workbench::snapshotShown, this, [this, name] { open(name); },
            static_cast<Qt::ConnectionType>(Qt::SingleShotConnection | Qt::QueuedConnection));
        return;
    }
    bench_.showPanel("lessons");
    const int number = name.toInt();
    if (number >= 1 && number <= static_cast<int>(panel_.lessons().size()))
        return panel_.start(panel_.lessons()[static_cast<size_t>(number) - 1], 0);
    if (const Lesson* known = lessonOf(name)) return panel_.start(*known, 0);
    auto loaded = loadLesson(name);
    if (const auto* failure = std::get_if<Failure>(&loaded)) return parts_.notices.fail(*failure);
    panel_.start(std::get<Lesson>(loaded), 0);
}

void LessonController::showList() {
    bench_.showPanel("lessons");
    panel_.focusList();
}

const Lesson* LessonController::lessonOf(const QString& id) const {
    const auto found = std::ranges::find(panel_.lessons(), id, &Lesson::id);
    return found != panel_.lessons().end() ? &*found : nullptr;
}

QString LessonController::unfinishedTitle() const {
    const Lesson* lesson = lessonOf(unfinishedLesson());
    return lesson ? lesson->title : QString();
}

void LessonController::continueUnfinished() { continueLesson(unfinishedLesson()); }

void LessonController::continueLesson(const QString& id) {
    const Lesson* lesson = lessonOf(id);
    if (!lesson) return;
    bench_.showPanel("lessons");
    panel_.start(*lesson);
}

void LessonController::rememberOpen(bool isKept) const {
    QSettings().setValue(kOpenLesson, isKept && player_.isPlaying() ? player_.lesson().id : QString());
}

void LessonController::continueOpen() { toContinue_ = QSettings().value(kOpenLesson).toString(); }

void LessonController::goOn() {
    if (toContinue_.isEmpty() || !bench_.hasModel()) return;
    QSettings().remove(kOpenLesson); // once: a lesson that ends the program must not open again and again
    continueLesson(std::exchange(toContinue_, {}));
    if (player_.isPlaying()) session_.stopRestoring(); // the lesson gives it back
}

QWidget& LessonController::controls() { return parts_.window; }

void LessonController::openModel(const QString& path, const QString& prompt) { session_.openModel(path, prompt); }

QJsonObject LessonController::view(const QString& panel) const { return parts_.panels.view(panel); }

void LessonController::setView(const QString& panel, const QJsonObject& view) { parts_.panels.setView(panel, view); }

std::optional<Recipe> LessonController::recipe() const { return train_.recipe(); }

bool LessonController::isTraining() const { return train_.isTraining(); }

void LessonController::continueTraining() {
    train_.play();
    bench_.training().follow(true);
}

void LessonController::arrangeFor(const QStringList& panels) { parts_.layout.arrangeFor(panels); }

void LessonController::setLessonLocks(const std::optional<ControlLocks>& locks) {
    if (!locks) parts_.layout.endLesson();
    parts_.locks.setLesson(locks);
}

SessionDocument LessonController::document() const { return session_.document(); }

void LessonController::restore(SessionDocument document) { session_.restore(std::move(document)); }

void LessonController::setLessonUndo(bool isLesson) {
    parts_.panels.the<GeneratePanel>().setLesson(isLesson);
    undo_.setLesson(isLesson);
}

bool LessonController::isRestoring() const { return session_.isRestoring(); }

} // namespace attn
