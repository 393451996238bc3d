#include "app/lab/shell/session_controller.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/panels/picture_input_panel.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/lock_controller.h"
#include "app/lab/shell/model_step.h"
#include "app/lab/shell/notices.h"
#include "app/lab/shell/panel_docks.h"
#include "engine/io/run_folder.h"

#include <QMainWindow>
#include <QScopedValueRollback>
#include <QSettings>
#include <QTimer>

#include <algorithm>
#include <memory>
#include <utility>

namespace attn {
namespace {

constexpr auto kTypedPrompt = "typedPrompt"; ///< the setting: what GeneratePanel::typed() was at the end

/// Whether the view of a panel names parts or inputs of the open model.
bool isOfModel(const QString& panel) {
    return QStringList{"attention", "interventions", "generate", "next", "model"}.contains(panel);
}

/// What a session asks for and a panel does not show: a head that the model lacks, a name that the program does not
/// know. Values of values, such as pictures, may still be on their way.
QStringList refused(const QString& panel, const QJsonObject& asked, const QJsonObject& shown) {
    QStringList all;
    const auto text = [](const QJsonValue& value) { return value.toVariant().toString().left(40); };
    for (auto each = asked.begin(); each != asked.end(); ++each) {
        const QJsonValue now = shown.value(each.key());
        const bool isPlain = !now.isUndefined() && !now.isObject() && !now.isArray();
        // A cell is shown once its text has run.
        const bool isAwaited = panel == "attention" && each.key() == "level" && each.value() == "cell";
        if (isPlain && !isAwaited && now != each.value())
            all << SessionController::tr("%1 %2 “%3” (“%4” is shown)")
                       .arg(panel, each.key(), text(each.value()), text(now));
    }
    return all;
}

} // namespace

SessionController::SessionController(const WindowParts& parts, Beginning beginning,
                                     std::function<const SessionDocument*()> beforeLesson)
    : parts_(parts), usual_(std::move(beginning.usual)), instead_(std::move(beginning.instead)),
      beforeLesson_(std::move(beforeLesson)), pending_(std::move(beginning.last)) {
    connect(&parts_.bridge, &SessionBridge::failed, this, &SessionController::fail);
}

OpenModelCommand SessionController::opening(const QString& path, const QString& prompt, bool keepsPrompt,
                                            Storage storage) {
    return {.path = path.toStdString(),
            .storage = storage,
            .given = {.text = {.text = prompt.toStdString()}},
            .keepsPrompt = keepsPrompt,
            .typedBefore = QSettings().value(kTypedPrompt).toString().toStdString()};
}

OpenModelCommand SessionController::opening(const SessionDocument& document) {
    return {.path = document.modelPath.toStdString(), .storage = document.storage, .given = {.text = document.given}};
}

void SessionController::openModel(const QString& path, const QString& prompt, bool keepsPrompt, Storage storage) {
    replaceOpening();
    pending_.reset();
    tellsRefused_ = false;
    returningTo_.clear();
    waitingPicture_.clear();
    bringsPicture_ = false;
    begins_ = true;
    parts_.bridge.post(opening(path, prompt, keepsPrompt, storage));
}

/// What is asked for now takes the place of a model that is being opened. If that one fails, nothing opens instead.
void SessionController::replaceOpening() {
    if (parts_.bridge.isOpeningModel()) instead_.clear();
}

void SessionController::openPicture(const QString& path) {
    expect();
    waitingPicture_ = path;
    openWaitingPicture();
}

bool SessionController::openInstead(const QString& prompt) {
    if (instead_.isEmpty()) return false;
    openModel(std::exchange(instead_, {}), prompt);
    return true;
}

void SessionController::restore(SessionDocument document) { restore(std::move(document), tr("opening a session")); }

void SessionController::restore(SessionDocument document, const QString& step) {
    if (bench_.hasModel()) pushStep(step, document.modelPath, [this, document] { reopen(document); });
    reopen(document);
}

void SessionController::openDocument(SessionDocument document) {
    replaceOpening();
    leavesStart_ = tellsRefused_ = true;
    stepsBefore_ = bench_.undoStack().index();
    restore(std::move(document));
}

void SessionController::rememberTyped(bool isKept) const {
    const QString& typed = panels_.the<GeneratePanel>().typed();
    if (!isKept)
        QSettings().remove(kTypedPrompt);
    else if (!typed.isEmpty())
        QSettings().setValue(kTypedPrompt, typed);
}

void SessionController::leaveStart() {
    if (!std::exchange(leavesStart_, false) || !parts_.layout.workspace().holds("start") || beforeLesson_()) return;
    move([this] { parts_.layout.enter(workspaceNamed("write")); });
}

void SessionController::bringPicture(const Snapshot& next) {
    if (!std::exchange(bringsPicture_, false) || next.model->inputAxis() != AxisKind::Patches) return;
    move([this] { bench_.showPanel("attention"); });
}

bool SessionController::isOpenedHere(const Snapshot& next) const {
    const Snapshot* now = bench_.snapshot().get();
    return now && now->model && now->path() != next.path() && !next.shown && !pending_ && returningTo_.isEmpty() &&
           !beforeLesson_();
}

void SessionController::fail(const Failure& failure) {
    const auto isIt = [&](const auto& analysis) { return analysis.second == failure; };
    if (bench_.snapshot() && std::ranges::any_of(bench_.snapshot()->failedAnalyses, isIt))
        return; // the panel that asked says so, and nothing else depends on it
    pending_.reset();
    returningTo_.clear();
    leavesStart_ = begins_ = bringsPicture_ = false;
    emit fileChanged();
    const bool isOfStart = !bench_.hasModel() && !instead_.isEmpty(); // what a window opens by itself or was named
    parts_.notices.fail(failure, !isOfStart);
    if (isOfStart) openInstead();
}

void SessionController::goOn() {
    continueRestore();
    openWaitingPicture();
}

void SessionController::openWaitingPicture() {
    const bool isDecided = !parts_.bridge.isOpeningModel() && bench_.snapshot() == parts_.bridge.latest();
    if (waitingPicture_.isEmpty() || !isDecided) return;
    const QString path = std::exchange(waitingPicture_, {});
    const bool hasModel = bench_.reads(AxisKind::Patches);
    if (!hasModel) openModel(QStringLiteral("builtin:vit-shapes"), {}, true);
    panels_.the<PictureInputPanel>().openPicture(path);
    bringsPicture_ = !hasModel; // once it is there: Undo brings back what is in front now
    if (!hasModel) return;
    leaveStart();
    bench_.showPanel("attention");
}

bool SessionController::isOpen(const SessionDocument& document) const {
    const auto& snapshot = bench_.snapshot();
    return snapshot && snapshot->model && QString::fromStdString(snapshot->path()) == document.modelPath &&
           snapshot->model->storage == document.storage;
}

void SessionController::reopen(const SessionDocument& document) {
    waitingPicture_.clear();
    bringsPicture_ = false;
    if (!isOpen(document)) {
        parts_.bridge.post(opening(document));
        returningTo_ = document.modelPath;
    }
    begins_ = false;
    pending_ = document;
    pendingSince_ = beforeLesson_() ? QString() : here(); // a lesson moves by itself
    emit fileChanged();
    continueRestore();
}

void SessionController::continueRestore() {
    if (!pending_ || !isOpen(*pending_)) return;
    const SessionDocument document = *std::exchange(pending_, std::nullopt);
    const QScopedValueRollback changesViews(changesViews_, true);
    if (bench_.reads(AxisKind::Tokens)) // also without a text, which the user has removed: the model has its example
        parts_.bridge.post(document.restoreCommand());
    bench_.setSampling(document.sampling);
    leaveStart();
    // The user may have chosen another workspace since.
    const bool leads = pendingSince_.isEmpty() || pendingSince_ == here();
    if (leads && !document.layout.isEmpty())
        parts_.layout.restore(document.layout);
    else if (leads && !document.workspace.isEmpty())
        parts_.layout.enter(workspaceNamed(document.workspace));
    if (leads) land();
    // After the workspace, which chooses between all heads and one.
    for (const auto& [id, panel] : panels_.panels()) panel->restoreView(document.view.value(id).toObject());
    if (std::exchange(tellsRefused_, false)) tellRefused(document);
    parts_.locks.setOwn(document.locks);
    setFile(document.file);
    const auto focus = [this, name = document.focus] {
        auto* focused = name.isEmpty() ? nullptr : parts_.window.findChild<QWidget*>(name);
        const bool isThere = focused && isInSight(*focused);
        if (isThere) focused->setFocus();
        return isThere;
    };
    if (!focus()) QTimer::singleShot(0, this, focus); // a new window has not been laid out yet
    instead_.clear();
}

void SessionController::tellRefused(const SessionDocument& document) {
    QStringList all = document.unknown;
    for (const auto& [id, panel] : panels_.panels())
        all << refused(id, document.view.value(id).toObject(), panel->saveView());
    if (all.isEmpty()) return;
    parts_.notices.offerOfStep(tr("The session asks for what this model or this program does not have: "
                                  "%1. The rest was opened.")
                                   .arg(shownText(all.join(QStringLiteral(", ")).toStdString())),
                               bench_.undoStack(), stepsBefore_);
}

QString SessionController::file() const {
    if (beforeLesson_()) return {};
    return pending_ ? pending_->file : file_;
}

void SessionController::setFile(const QString& path) {
    (pending_ ? pending_->file : file_) = path;
    emit fileChanged();
}

QString SessionController::here() const { return parts_.layout.workspace().id; }

void SessionController::land() {
    if (landing_) *landing_ = here();
}

void SessionController::move(const std::function<void()>& go) {
    const bool isSame = pendingSince_ == here(), isLanding = landing_ && *landing_ == here();
    go();
    if (isSame) pendingSince_ = here();
    if (isLanding) land();
}

SessionDocument SessionController::document() const {
    if (pending_) return *pending_; // what is on screen gives way to it
    SessionDocument document =
        bench_.snapshot() ? SessionDocument::fromSnapshot(*bench_.snapshot()) : SessionDocument{};
    document.sampling = bench_.sampling();
    for (const auto& [id, panel] : panels_.panels())
        if (const QJsonObject view = panel->saveView(); !view.isEmpty()) document.view[id] = view;
    document.layout = parts_.layout.save();
    document.workspace = parts_.layout.workspace().id;
    document.locks = parts_.locks.own();
    document.file = file_;
    if (const QWidget* focused = parts_.window.focusWidget();
        focused && focused != &parts_.window && isInSight(*focused))
        document.focus = focused->objectName();
    panels_.the<GeneratePanel>().addUnread(document);
    return document;
}

SessionDocument SessionController::shownDocument() const {
    const Snapshot* now = bench_.snapshot().get();
    const bool opensAgain = now && now->shown && !beforeLesson_() && !checkpoints(now->path()).empty();
    return opensAgain ? document() : ownDocument();
}

SessionDocument SessionController::ownDocument() const {
    if (const SessionDocument* before = beforeLesson_()) return *before;
    const bool trains = bench_.training().snapshot()->state == TrainingSnapshot::State::Training;
    SessionDocument now = document();
    if (!trains || !bench_.snapshot() || !bench_.snapshot()->shown || !beforeRun_) return now;
    // The next start offers the run by itself; until then it shows the model before, in the window as it is now.
    SessionDocument own = *beforeRun_;
    for (auto view = now.view.begin(); view != now.view.end(); ++view)
        if (!isOfModel(view.key())) own.view[view.key()] = view.value();
    own.layout = std::move(now.layout);
    own.workspace = std::move(now.workspace);
    own.focus = std::move(now.focus);
    own.sampling = now.sampling;
    own.locks = std::move(now.locks);
    return own;
}

void SessionController::keepBefore(const Snapshot& next) {
    instead_.clear();
    const QString path = QString::fromStdString(next.path());
    const bool begins = begins_ && !next.shown;
    if (begins) begins_ = false;
    if (path == returningTo_) { // weights of a run may still come before it
        if (!pending_) setFile({});
        return returningTo_.clear();
    }
    if (!bench_.hasModel()) return;
    if (path == QString::fromStdString(bench_.snapshot()->path())) {
        if (begins) setFile({});
        return;
    }
    if (!returningTo_.isEmpty()) return;
    if (next.shown && bench_.snapshot()->shown) return; // another step of a training run
    beforeRun_.reset();
    if (beforeLesson_()) {
        setFile({});
        return bench_.undoStack().clear(); // the steps of the lesson are about the model before
    }
    if (next.shown) beforeRun_ = document();
    pushStep(tr("opening %1").arg(shownText(next.model->name)), path);
    setFile({});
}

void SessionController::pushStep(const QString& text, const QString& path, std::function<void()> again) {
    const auto after = std::make_shared<SessionDocument>(); // what undoing leaves
    const auto landed = landing_ = std::make_shared<QString>(here());
    const auto lead = [this, landed](SessionDocument document) {
        if (here() != *landed) { // the user has chosen another workspace since
            document.layout.clear();
            document.workspace.clear();
        }
        landing_ = landed;
        reopen(document);
    };
    SessionDocument before = document();
    if (!again) before.view.remove("train"); // another model has left the recipe as it is
    bench_.undoStack().push(new ModelStep(
        text,
        [this, before = std::move(before), after, lead] {
            *after = document();
            lead(before);
        },
        [this, path, after, lead, again = std::move(again)] {
            if (after->modelPath == path)
                lead(*after);
            else if (again)
                again();
            else
                reopen(path);
        }));
}

void SessionController::reopen(const QString& path) {
    openModel(path, {});
    returningTo_ = path;
}

void SessionController::openFresh() {
    openFresh(usual_, tr("starting afresh"), "write");
    bench_.setSampling({});
}

void SessionController::openFresh(const QString& path, const QString& step, const char* workspace) {
    if (bench_.hasModel()) pushStep(step, path);
    parts_.layout.enter(workspaceNamed(workspace));
    land();
    reopen(path);
    setFile({});
}

} // namespace attn
