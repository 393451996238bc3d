#include "app/lab/dialogs/lock_dialog.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/panels/picture_input_panel.h"
#include "app/lab/shell/autosave.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/shell/run_animation.h"
#include "app/lab/shell/widget_export.h"
#include "app/lab/shell/window_panels.h"
#include "app/lab/widgets/banner.h"
#include "app/lab/widgets/status_strip.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/session_link.h"
#include "engine/inference/named_changes.h"
#include "engine/io/run_folder.h"
#include "engine/models/hook_names.h"

#include <QClipboard>
#include <QDockWidget>
#include <QFileInfo>
#include <QGuiApplication>
#include <QImageReader>
#include <QInputDialog>
#include <QKeyEvent>
#include <QSettings>
#include <QTimer>

#include <tuple>

namespace attn {
namespace {

/// Has Return accept a dialog also while its text field, which could have several lines, has the focus.
class ReturnAccepts : public QObject {
public:
    explicit ReturnAccepts(QDialog& dialog) : QObject(&dialog), dialog_(dialog) {}
    bool eventFilter(QObject* watched, QEvent* event) override {
        const int key = event->type() == QEvent::KeyPress ? static_cast<QKeyEvent*>(event)->key() : 0;
        if (key != Qt::Key_Return && key != Qt::Key_Enter) return QObject::eventFilter(watched, event);
        dialog_.accept();
        return true;
    }

private:
    QDialog& dialog_;
};

/// Opens a file dialog without blocking the window.
void choosePath(QWidget* parent, const QString& title, QFileDialog::FileMode mode, QFileDialog::AcceptMode accept,
                const QString& filter, const QString& suffix, std::function<void(const QString&)> chosen,
                const QString& suggested = {}) {
    auto* dialog = makeFileDialog(parent, title, mode);
    dialog->setAcceptMode(accept);
    if (!filter.isEmpty()) dialog->setNameFilter(filter);
    if (!suffix.isEmpty()) dialog->setDefaultSuffix(suffix);
    if (!suggested.isEmpty()) dialog->selectFile(suggested);
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, std::move(chosen));
    dialog->open();
}

RunOrigin originOf(const Snapshot& snapshot, const Changes& changes, ShownRun shown) {
    const QString runs[] = {QStringLiteral("changed"), QStringLiteral("original"), QStringLiteral("difference")};
    RunOrigin origin{.model = QString::fromStdString(snapshot.model->name),
                     .modelPath = QString::fromStdString(snapshot.path()),
                     .run = changes.empty() ? QStringLiteral("as opened") : runs[static_cast<size_t>(shown)]};
    if (!changes.empty()) origin.changes = QString::fromStdString(changesToJson(changes, snapshot.model->structure));
    const auto texts = [](const std::vector<TokenInfo>& tokens) {
        std::vector<QString> result;
        for (const TokenInfo& token : tokens) result.push_back(QString::fromStdString(token.text));
        return result;
    };
    if (snapshot.sequence) origin.tokens = texts(snapshot.sequence->tokens);
    if (snapshot.sequence) origin.source = texts(snapshot.sequence->source);
    return origin;
}

} // namespace

void MainWindow::open(const QString& path, const QString& prompt) {
    if (isSessionLink(path)) return openLink(path);
    if (path.endsWith(".attnlab")) return openSession(path);
    if (path.startsWith("builtin:")) { // small files of this program
        opening_.cancel();
        return openAs(Kind::Model, path, prompt);
    }
    opening_.start<Kind>(
        path.toStdString(), [path](const std::atomic<bool>&) { return kindOf(path); },
        [this, path, prompt](std::variant<Kind, Failure> kind) {
            status_->setWork({});
            if (const Kind* known = std::get_if<Kind>(&kind)) return openAs(*known, path, prompt);
            showUnopened(path, std::get<Failure>(std::move(kind)));
            if (!firstPath_.isEmpty()) postModel(firstPath_, {});
        });
    showOpening(path);
}

std::variant<MainWindow::Kind, Failure> MainWindow::kindOf(const QString& path) {
    const QFileInfo file(path);
    if (!file.exists())
        return Failure{.what = "there is no such file or folder",
                       .where = path.toStdString(),
                       .hint = "find out where it is now: someone may have moved, renamed or deleted it"};
    if (!file.isFile()) return Kind::Model;
    if (!QImageReader::imageFormat(path).isEmpty()) return Kind::Picture;
    if (file.suffix() == "safetensors" || file.fileName() == "config.json") return Kind::Model;
    if (file.suffix() == "json") return Kind::Lesson;
    return Failure{.what = "this is no model, no picture, no session and no lesson",
                   .where = path.toStdString(),
                   .hint = "open a model folder, a .safetensors file, a picture, an .attnlab file or a lesson's .json "
                           "file, or paste a text into the prompt"};
}

void MainWindow::openAs(Kind kind, const QString& path, const QString& prompt) {
    if (kind == Kind::Lesson) return openLesson(path);
    leavesStart_ = true;
    if (kind == Kind::Model) return postModel(path, prompt, true);
    leaveStart();
    waitingPicture_ = path;
    openWaitingPicture();
}

void MainWindow::openWaitingPicture() {
    const bool isDecided = !bridge_.isOpeningModel() && bench_.snapshot() == bridge_.latest();
    if (waitingPicture_.isEmpty() || !isDecided) return;
    const QString path = std::exchange(waitingPicture_, {});
    if (!bench_.readsPictures()) postModel(QStringLiteral("builtin:vit-shapes"), {}, true);
    pictureInput_->openPicture(path);
    bench_.showPanel("attention");
}

void MainWindow::postModel(const QString& path, const QString& prompt, bool keepsPrompt) {
    pending_.reset();
    returningTo_.clear();
    waitingPicture_.clear();
    bridge_.post(OpenModelCommand{.path = path.toStdString(),
                                  .prompt = prompt.toStdString(),
                                  .keepsPrompt = keepsPrompt,
                                  .typedBefore = QSettings().value(kTypedPrompt).toString().toStdString()});
    firstPath_.clear(); // last: it may be the path
}

void MainWindow::openModel(const QString& path, const QString& prompt) { postModel(path, prompt); }

void MainWindow::showOpening(const QString& path) {
    showWork(tr("Reading %1").arg(QFileInfo(path).fileName().left(60)), [this] { return isOpening(); });
}

void MainWindow::showUnopened(const QString& path, Failure failure) {
    leavesStart_ = false;
    if (recentPaths().contains(path) && !QFileInfo::exists(path)) {
        removeRecentPath(path);
        refreshRecent();
        failure.hint += tr(". It is no longer in the list of recent files").toStdString();
    }
    showFailure(failure);
}

void MainWindow::showWork(const QString& what, std::function<bool()> isRunning) {
    constexpr int kMomentMs = 300;
    QTimer::singleShot(kMomentMs, this, [this, what, isRunning = std::move(isRunning)] {
        if (isRunning()) status_->setWork(what);
    });
}

void MainWindow::cancelWork() {
    const auto say = [this](const QString& text) {
        status_->setWork({});
        offerBanner_->present(Banner::Kind::Success, text);
    };
    if (isOpening()) {
        opening_.cancel();
        leavesStart_ = false;
        say(tr("Opening was cancelled. Nothing has changed."));
        if (!firstPath_.isEmpty()) postModel(firstPath_, {});
    } else if (exporting_.isRunning()) {
        exporting_.cancel();
        say(tr("Saving was cancelled."));
    } else if (pictureInput_->isReading()) {
        pictureInput_->cancelReading();
        say(tr("Reading was cancelled."));
    } else {
        bridge_.post(StopCommand{});
    }
}

void MainWindow::openSession(const QString& path) {
    opening_.start<SessionDocument>(
        path.toStdString(), [path](const std::atomic<bool>&) { return loadSession(path); },
        [this, path](std::variant<SessionDocument, Failure> loaded) {
            status_->setWork({});
            const QString instead = std::exchange(firstPath_, {});
            if (const auto* failure = std::get_if<Failure>(&loaded)) {
                if (!instead.isEmpty()) postModel(instead, {});
                return showUnopened(path, *failure);
            }
            leavesStart_ = true;
            sessionPath_ = path;
            addRecentPath(path);
            refreshRecent();
            restore(std::get<SessionDocument>(std::move(loaded)));
        });
    showOpening(path);
}

void MainWindow::openLink(const QString& link) {
    opening_.cancel();
    auto read = sessionFromLink(link);
    const QString instead = std::exchange(firstPath_, {});
    if (auto* session = std::get_if<SessionDocument>(&read)) {
        sessionPath_.clear();
        session->locks = locks_;
        leavesStart_ = true;
        return restore(std::move(*session));
    }
    if (!instead.isEmpty()) postModel(instead, {});
    showFailure(std::get<Failure>(read));
}

void MainWindow::copyLink() {
    QGuiApplication::clipboard()->setText(sessionLink(document()));
    offerBanner_->present(Banner::Kind::Success,
                          tr("Link copied. Paste it into a message; File > Open link opens it."));
}

void MainWindow::chooseLink() {
    auto* dialog = identified(new QInputDialog(this), "linkDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Open link"));
    dialog->setLabelText(tr("Paste a link that begins with attnlab:"));
    dialog->setOption(QInputDialog::UsePlainTextEditForTextInput);
    dialog->setOkButtonText(tr("Open"));
    if (const QString text = QGuiApplication::clipboard()->text(); isSessionLink(text)) dialog->setTextValue(text);
    if (auto* field = dialog->findChild<QPlainTextEdit*>()) {
        field->setTabChangesFocus(true);
        field->installEventFilter(new ReturnAccepts(*dialog));
    }
    connect(dialog, &QInputDialog::textValueSelected, this, &MainWindow::openLink);
    dialog->open();
}

void MainWindow::restore(SessionDocument document) {
    if (bench_.hasModel())
        pushModelStep(tr("opening a session"), document.modelPath, [this, document] { bringBack(document); });
    bringBack(document);
}

void MainWindow::bringBack(const SessionDocument& document) {
    const bool isOpen = bench_.snapshot() && bench_.snapshot()->model &&
                        QString::fromStdString(bench_.snapshot()->path()) == document.modelPath;
    waitingPicture_.clear();
    if (!isOpen) {
        bridge_.post(
            OpenModelCommand{.path = document.modelPath.toStdString(), .prompt = document.prompt.toStdString()});
        returningTo_ = document.modelPath;
    }
    pending_ = document;
    continueRestore();
}

void MainWindow::continueRestore() {
    const bool isReady = pending_ && bench_.snapshot() && bench_.snapshot()->model &&
                         (bench_.snapshot()->sequence || bench_.readsPictures()) &&
                         QString::fromStdString(bench_.snapshot()->path()) == pending_->modelPath;
    if (!isReady) return;
    const SessionDocument document = *std::exchange(pending_, std::nullopt);
    if (!document.branches.empty())
        bridge_.post(document.restoreCommand());
    else if (!document.prompt.isEmpty()) // it was not read when the document was made
        bridge_.post(SetPromptCommand{.text = document.prompt.toStdString(), .second = document.second.toStdString()});
    bench_.setSampling(document.sampling);
    leaveStart();
    if (!document.layout.isEmpty())
        layout_->restore(document.layout);
    else if (!document.workspace.isEmpty())
        layout_->enter(workspaceNamed(document.workspace));
    // After the workspace, which chooses between all heads and one.
    for (const auto& [id, panel] : panels_) panel->restoreView(document.view.value(id).toObject());
    setLocks(document.locks);
    firstPath_.clear();
}

SessionDocument MainWindow::document() const {
    if (pending_) return *pending_; // what is on screen gives way to it
    SessionDocument document =
        bench_.snapshot() ? SessionDocument::fromSnapshot(*bench_.snapshot()) : SessionDocument{};
    document.sampling = bench_.sampling();
    for (const auto& [id, panel] : panels_)
        if (const QJsonObject view = panel->saveView(); !view.isEmpty()) document.view[id] = view;
    document.layout = layout_->save();
    document.workspace = layout_->workspace().id;
    document.locks = locks_;
    return document;
}

SessionDocument MainWindow::ownDocument() const {
    if (lessons_ && lessons_->before()) return *lessons_->before();
    const bool trains = training_.snapshot()->state == TrainingSnapshot::State::Training;
    if (trains && bench_.snapshot() && bench_.snapshot()->shown && beforeRun_)
        return *beforeRun_; // the next start offers the run by itself
    SessionDocument own = document();
    generate_->addUnread(own);
    return own;
}

QJsonObject MainWindow::view(const QString& panel) const { return panels_.at(panel)->saveView(); }

void MainWindow::setView(const QString& panel, const QJsonObject& view) { panels_.at(panel)->restoreView(view); }

void MainWindow::saveSessionAs(const QString& path) {
    if (saving_.isRunning())
        return showFailure({.what = "the session is still being saved",
                            .where = path.toStdString(),
                            .hint = "save it again when that is done"});
    saving_.start<bool>(
        path.toStdString(),
        [document = document(), path](const std::atomic<bool>&) -> std::variant<bool, Failure> {
            if (auto failure = attn::saveSession(document, path)) return std::move(*failure);
            return true;
        },
        [this, path](std::variant<bool, Failure> saved) {
            if (const auto* failure = std::get_if<Failure>(&saved)) return showFailure(*failure);
            sessionPath_ = path;
            addRecentPath(path);
            refreshRecent();
            offerBanner_->present(Banner::Kind::Success, tr("Session saved: %1").arg(path));
        });
}

void MainWindow::saveSession() {
    if (sessionPath_.isEmpty()) return chooseSessionPath();
    saveSessionAs(sessionPath_);
}

void MainWindow::chooseSessionPath() {
    choosePath(
        this, tr("Save session"), QFileDialog::AnyFile, QFileDialog::AcceptSave, tr("Sessions (*.attnlab)"), "attnlab",
        [this](const QString& path) { saveSessionAs(path); },
        fileNameOf({bench_.hasModel() ? QString::fromStdString(bench_.snapshot()->model->name) : tr("session")},
                   "attnlab"));
}

void MainWindow::chooseSession() {
    choosePath(this, tr("Open session"), QFileDialog::ExistingFile, QFileDialog::AcceptOpen, tr("Sessions (*.attnlab)"),
               {}, [this](const QString& path) { openSession(path); });
}

void MainWindow::chooseModelFolder() {
    choosePath(this, tr("Open model folder"), QFileDialog::Directory, QFileDialog::AcceptOpen, {}, {},
               [this](const QString& path) { open(path); });
}

void MainWindow::chooseModelFile() {
    choosePath(this, tr("Open model file"), QFileDialog::ExistingFile, QFileDialog::AcceptOpen,
               tr("Models and sessions (*.safetensors *.json *.attnlab)"), {},
               [this](const QString& path) { open(path); });
}

void MainWindow::choosePicture() {
    choosePath(this, tr("Choose a picture"), QFileDialog::ExistingFile, QFileDialog::AcceptOpen, {}, {},
               [this](const QString& path) { open(path); });
}

void MainWindow::chooseCapture() {
    choosePath(this, tr("Capture activations"), QFileDialog::AnyFile, QFileDialog::AcceptSave,
               tr("NumPy archive (*.npz);;Safetensors (*.safetensors)"), "npz",
               [this](const QString& path) { captureTo(path); });
}

void MainWindow::captureTo(const QString& path) {
    bridge_.post(CaptureCommand{.hooks = "*attn.hook_pattern,logits", .path = path.toStdString()});
}

Panel* MainWindow::currentPanel() const {
    // Else the figure is the panel with all its controls.
    const auto hasFigure = [](Panel* panel) { return !qobject_cast<Panel*>(panel->figure()) || panel->numbers().csv; };
    if (focusedPanel_ && focusedPanel_->isVisible() && hasFigure(focusedPanel_)) return focusedPanel_;
    // Who types a prompt and then exports wants the main figure.
    if (const QDockWidget* front = layout_->front())
        if (Panel* panel = panels_.at(front->objectName().section('.', 1)); hasFigure(panel)) return panel;
    for (const PanelDescriptor& descriptor : windowPanels()) {
        Panel* panel = panels_.at(QString::fromLatin1(descriptor.id));
        if (panel->isVisible() && panel->numbers().csv) return panel;
    }
    return panels_.at("attention");
}

void MainWindow::chooseExport(const QString& suffix) {
    choosePath(
        this, tr("Export %1").arg(docks_.at(currentPanel()->objectName())->windowTitle()), QFileDialog::AnyFile,
        QFileDialog::AcceptSave, tr("%1 files (*.%2)").arg(suffix.toUpper(), suffix), suffix,
        [this](const QString& path) { exportFigure(path); }, suggestedName(suffix));
}

QString MainWindow::suggestedName(const QString& suffix) const {
    const ModelInfo* model = bench_.snapshot() ? bench_.snapshot()->model.get() : nullptr;
    QStringList parts{model ? QString::fromStdString(model->name) : QStringLiteral("attention-lab")};
    return fileNameOf(parts << currentPanel()->exportName(), suffix);
}

Provenance MainWindow::provenance(const Panel& panel) const {
    Provenance from{.program = QStringLiteral("Attention Lab " ATTN_VERSION)};
    const Snapshot* snapshot = bench_.snapshot().get();
    if (!snapshot || !snapshot->model) return from;
    if (const auto head = panel.exportedHead()) {
        const Site& site = snapshot->model->site(head->first);
        from.layer = site.layer;
        from.site = QString::fromStdString(site.name);
        from.head = head->second;
    }
    from.run = originOf(*snapshot, bench_.changes(), bench_.shownRun());
    from.device = QString::fromStdString(snapshot->status.device);
    if (const auto second = panel.comparedRun())
        from.second = originOf(*second, second->changes ? *second->changes : Changes(), second->run);
    return from;
}

bool MainWindow::isExporting(const QString& path) {
    if (!exporting_.isRunning()) return false;
    showFailure({.what = "another export is still running",
                 .where = path.toStdString(),
                 .hint = "wait until it is done, or click Cancel in the status bar"});
    return true;
}

void MainWindow::exportFigure(const QString& path) {
    Panel* panel = currentPanel();
    const bool isText = path.endsWith(".csv", Qt::CaseInsensitive),
               isNumPy = path.endsWith(".npz", Qt::CaseInsensitive);
    Export web;
    if (path.endsWith(".html", Qt::CaseInsensitive)) {
        const Provenance from = provenance(*panel);
        QStringList title{docks_.at(panel->objectName())->windowTitle(), from.run.model};
        if (from.head) title.insert(1, bench_.headLabel(bench_.selection().site, *from.head));
        web = webPageExport(*panel->figure(), title.join(QStringLiteral(" – ")), from, path);
        if (!web)
            return showFailure({.what = "this panel has no figure that a web page can hold",
                                .where = docks_.at(panel->objectName())->windowTitle().toStdString(),
                                .hint = "click the Attention panel first"});
    }
    ExportNumbers numbers = isText || isNumPy ? panel->numbers() : ExportNumbers{};
    if ((isText || isNumPy) && !numbers.csv)
        return showFailure({.what = "this panel has no numbers to export",
                            .where = docks_.at(panel->objectName())->windowTitle().toStdString(),
                            .hint = "click the Attention, Next token or Heads panel first"});
    if (isExporting(path)) return;
    exporting_.start<bool>(
        path.toStdString(),
        [write = web           ? std::move(web)
                 : numbers.csv ? numbersExport(std::move(numbers), provenance(*panel), path)
                               : pictureExport(*panel->figure(), path)](
            const std::atomic<bool>& isStopped) -> std::variant<bool, Failure> {
            if (auto failure = write(isStopped)) return *failure;
            return true;
        },
        [this, path, title = docks_.at(panel->objectName())->windowTitle()](std::variant<bool, Failure> result) {
            status_->setWork({});
            if (const auto* failure = std::get_if<Failure>(&result)) return showFailure(*failure);
            offerBanner_->present(Banner::Kind::Success, tr("Saved %1: %2").arg(title, path));
        });
    showWork(tr("Saving %1").arg(QFileInfo(path).fileName().left(60)), [this] { return exporting_.isRunning(); });
}

void MainWindow::chooseRunExport() {
    choosePath(this, tr("Export the training run"), QFileDialog::AnyFile, QFileDialog::AcceptSave,
               tr("Animation (*.gif);;Numbered images (*.png)"), "gif",
               [this](const QString& path) { exportRun(path); });
}

void MainWindow::exportRun(const QString& path) {
    if (isExporting(path)) return;
    using Paths = std::vector<std::filesystem::path>;
    exporting_.start<Paths>(
        "timeline",
        [folder = runs_.active().toStdString()](const std::atomic<bool>&) {
            return folder.empty() ? Paths() : checkpoints(folder);
        },
        [this, run = runs_.active(), path](std::variant<Paths, Failure> found) {
            status_->setWork({});
            if (const auto* failure = std::get_if<Failure>(&found)) return showFailure(*failure);
            exportRun(run, std::get<Paths>(found), path);
        });
    showWork(tr("Reading the training run"), [this] { return exporting_.isRunning(); });
}

void MainWindow::exportRun(const QString& run, const std::vector<std::filesystem::path>& all, const QString& path) {
    if (all.empty())
        return showFailure({.what = "there is no training run to export",
                            .where = "timeline",
                            .hint = "train a model or open a training run first"});
    Panel* panel = currentPanel();
    if (findChild<RunAnimation*>())
        return showFailure({.what = "another training run is still being exported",
                            .where = "timeline",
                            .hint = "wait until it is done, or click Cancel in the status bar"});
    auto* animation = new RunAnimation(training_, bridge_, *panel->figure(), run, all, path, this);
    connect(animation, &RunAnimation::progressed, this, [this](int done, int count) {
        status_->setWork(tr("Exporting the training run: %1 of %2").arg(done).arg(count),
                         static_cast<double>(done) / count);
    });
    connect(animation, &QObject::destroyed, status_, [status = status_] { status->setWork({}); });
    connect(status_, &StatusStrip::cancelRequested, animation, &RunAnimation::cancel);
    connect(animation, &RunAnimation::failed, this, &MainWindow::showFailure);
    connect(animation, &RunAnimation::finished, this,
            [this, path] { offerBanner_->present(Banner::Kind::Success, tr("Saved: %1").arg(path)); });
    animation->start();
}

void MainWindow::copyFigure() {
    QGuiApplication::clipboard()->setImage(pictureOf(*currentPanel()->figure()));
    offerBanner_->present(Banner::Kind::Success,
                          tr("Copied %1 as a picture.").arg(docks_.at(currentPanel()->objectName())->windowTitle()));
}

void MainWindow::showLockDialog() {
    auto* dialog = new LockDialog(locks_, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { setLocks(dialog->locks()); });
    dialog->open();
}

} // namespace attn
