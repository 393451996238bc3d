#include "app/figures/token_label.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/dialogs/lock_dialog.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/panels/picture_input_panel.h"
#include "app/lab/shell/autosave.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/shell/widget_export.h"
#include "app/lab/widgets/banner.h"
#include "app/lab/widgets/status_strip.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/session_link.h"
#include "engine/core/attempt.h"
#include "engine/io/weight_source.h"

#include <QClipboard>
#include <QDockWidget>
#include <QFileInfo>
#include <QGuiApplication>
#include <QImageReader>
#include <QInputDialog>
#include <QKeyEvent>
#include <QPlainTextEdit>
#include <QSettings>
#include <QStringDecoder>
#include <QTimer>

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

/// Whether a file begins as a text does.
bool isText(const QString& path) {
    constexpr qint64 kBeginning = 4096;
    QFile file(path);
    if (!file.open(QFile::ReadOnly)) return false;
    const QByteArray beginning = file.read(kBeginning);
    QStringDecoder decoder(QStringDecoder::Utf8); // keeps a character that is cut off for later
    const QString text = decoder(beginning);
    const bool isOfText = std::ranges::all_of(text, [](QChar c) { return c >= u' ' || c.isSpace(); });
    return !text.isEmpty() && !decoder.hasError() && isOfText;
}

/// Reads a text for the prompt.
std::variant<QString, Failure> promptFrom(const QString& path) {
    QFile file(path);
    if (!file.open(QFile::ReadOnly))
        return Failure{.what = "cannot be read", .where = path.toStdString(), .hint = file.errorString().toStdString()};
    if (file.size() > static_cast<qint64>(kMostPromptBytes))
        return Failure{.what = QStringLiteral("too long for the prompt: %L1 bytes (limit %L2)")
                                   .arg(file.size())
                                   .arg(kMostPromptBytes)
                                   .toStdString(),
                       .where = path.toStdString(),
                       .hint = "use the Text tab for long texts, or the Train panel to learn from it"};
    const QByteArray bytes = file.readAll();
    QStringDecoder decoder(QStringDecoder::Utf8);
    QString text = decoder(bytes);
    if (decoder.hasError() || text.contains(QChar(0)))
        return Failure{.what = "is not a text in UTF-8", .where = path.toStdString(), .hint = "save it as UTF-8"};
    if (text.endsWith('\n')) text.chop(1); // of the last line
    return text;
}

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
            all << MainWindow::tr("%1 %2 “%3” (“%4” is shown)").arg(panel, each.key(), text(each.value()), text(now));
    }
    return all;
}

} // namespace

void MainWindow::open(const QString& path, const QString& prompt) {
    if (isSessionLink(path)) return openLink(path);
    if (path.endsWith(".attnlab")) return openSession(path);
    if (path.startsWith("builtin:")) { // small files of this program
        opening_.cancel();
        return openAs({.kind = Kind::Model}, path, prompt);
    }
    opening_.start<Found>(
        path.toStdString(), [path](const std::atomic<bool>&) { return foundAt(path); },
        [this, path, prompt](std::variant<Found, Failure> found) {
            status_->setWork({});
            if (const Found* known = std::get_if<Found>(&found)) return openAs(*known, path, prompt);
            showUnopened(path, std::get<Failure>(std::move(found)));
            if (!firstPath_.isEmpty()) postModel(firstPath_, {});
        },
        tr("Read %1").arg(QFileInfo(path).fileName().left(60)).toStdString());
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
    if (const auto other = otherModelFormat(path.toStdString())) return *other;
    if (isText(path)) return Kind::Text;
    return Failure{.what = "“" + file.fileName().toStdString() + "” isn't a model, picture, session, lesson or text",
                   .where = {},
                   .hint = "open a model's folder, a .safetensors file, a picture, an .attnlab file, a lesson's .json "
                           "file or a text"};
}

std::variant<MainWindow::Found, Failure> MainWindow::foundAt(const QString& path) {
    const auto kind = kindOf(path);
    if (const Failure* failure = std::get_if<Failure>(&kind)) return *failure;
    Found found{.kind = std::get<Kind>(kind)};
    if (found.kind == Kind::Model) // what cannot be read is refused when it is opened
        (void)attempt(path.toStdString(), [&] { found.storage = storageChoice(path.toStdString()); });
    return found;
}

void MainWindow::openAs(const Found& found, const QString& path, const QString& prompt) {
    if (found.kind == Kind::Lesson) return openLesson(path);
    if (found.kind == Kind::Text) return openText(path);
    leavesStart_ = true;
    if (found.kind == Kind::Model) {
        constexpr int64_t kLarge = int64_t{64} << 20; // bytes; smaller models write fast anyway
        if (!asksStorage_ || !found.storage || found.storage->needs.front().parameterBytes < kLarge)
            return postModel(path, prompt, true);
        return askStorage(
            *found.storage, rememberedStorage(path), tr("Open"),
            [this, path, prompt](Storage storage) {
                rememberStorage(path, storage);
                postModel(path, prompt, true, storage);
            },
            [this] { tellNothingOpened(); });
    }
    leaveStart();
    waitingPicture_ = path;
    openWaitingPicture();
}

void MainWindow::openText(const QString& path) {
    if (!firstPath_.isEmpty()) postModel(std::exchange(firstPath_, {}), {}); // it reads the text
    if (bench_.readsPictures())
        return showFailure({.what = "is a text, and the open model reads pictures",
                            .where = path.toStdString(),
                            .hint = "open a model of texts first"});
    opening_.start<QString>(
        path.toStdString(), [path](const std::atomic<bool>&) { return promptFrom(path); },
        [this, path](std::variant<QString, Failure> read) {
            status_->setWork({});
            if (auto* failure = std::get_if<Failure>(&read)) return showUnopened(path, *failure);
            leaveStart();
            generate_->type(std::get<QString>(read));
            bench_.showPanel("generate");
        });
}

void MainWindow::openWaitingPicture() {
    const bool isDecided = !bridge_.isOpeningModel() && bench_.snapshot() == bridge_.latest();
    if (waitingPicture_.isEmpty() || !isDecided) return;
    const QString path = std::exchange(waitingPicture_, {});
    if (!bench_.readsPictures()) postModel(QStringLiteral("builtin:vit-shapes"), {}, true);
    pictureInput_->openPicture(path);
    bench_.showPanel("attention");
}

void MainWindow::postModel(const QString& path, const QString& prompt, bool keepsPrompt, Storage storage) {
    pending_.reset();
    tellsRefused_ = false;
    returningTo_.clear();
    waitingPicture_.clear();
    bridge_.post(OpenModelCommand{.path = path.toStdString(),
                                  .storage = storage,
                                  .given = {.text = {.text = prompt.toStdString()}},
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
        status_->setWork({});
        tellNothingOpened();
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

void MainWindow::tellNothingOpened() {
    leavesStart_ = false;
    offerBanner_->present(Banner::Kind::Success, tr("Opening was cancelled. Nothing has changed."));
    if (!firstPath_.isEmpty()) postModel(firstPath_, {});
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
            updateTitle();
            addRecentPath(path);
            refreshRecent();
            tellsRefused_ = true;
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
        updateTitle();
        session->locks = locks_;
        leavesStart_ = tellsRefused_ = true;
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

bool MainWindow::isOpen(const SessionDocument& document) const {
    const auto& snapshot = bench_.snapshot();
    return snapshot && snapshot->model && QString::fromStdString(snapshot->path()) == document.modelPath &&
           snapshot->model->storage == document.storage;
}

void MainWindow::bringBack(const SessionDocument& document) {
    waitingPicture_.clear();
    if (!isOpen(document)) {
        bridge_.post(OpenModelCommand{
            .path = document.modelPath.toStdString(), .storage = document.storage, .given = {.text = document.given}});
        returningTo_ = document.modelPath;
    }
    pending_ = document;
    continueRestore();
}

void MainWindow::continueRestore() {
    const bool isReady = pending_ && isOpen(*pending_) && (bench_.snapshot()->sequence || bench_.readsPictures());
    if (!isReady) return;
    const SessionDocument document = *std::exchange(pending_, std::nullopt);
    if (!document.branches.empty())
        bridge_.post(document.restoreCommand());
    else if (!document.given.empty()) // it was not read when the document was made
        bridge_.post(SetPromptCommand{document.given});
    bench_.setSampling(document.sampling);
    leaveStart();
    if (!document.layout.isEmpty())
        layout_->restore(document.layout);
    else if (!document.workspace.isEmpty())
        layout_->enter(workspaceNamed(document.workspace));
    // After the workspace, which chooses between all heads and one.
    for (const auto& [id, panel] : panels_) panel->restoreView(document.view.value(id).toObject());
    if (std::exchange(tellsRefused_, false)) tellRefused(document);
    setLocks(document.locks);
    const auto focus = [this, name = document.focus] {
        auto* focused = name.isEmpty() ? nullptr : findChild<QWidget*>(name);
        const bool isThere = focused && isInSight(*focused);
        if (isThere) focused->setFocus();
        return isThere;
    };
    if (!focus()) QTimer::singleShot(0, this, focus); // a new window has not been laid out yet
    firstPath_.clear();
}

void MainWindow::tellRefused(const SessionDocument& document) {
    QStringList all = document.unknown;
    for (const auto& [id, panel] : panels_) all << refused(id, document.view.value(id).toObject(), panel->saveView());
    if (all.isEmpty()) return;
    offerBanner_->present(Banner::Kind::Offer, tr("The session asks for what this model or this program does not have: "
                                                  "%1. The rest was opened.")
                                                   .arg(shownText(all.join(QStringLiteral(", ")).toStdString())));
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
    if (const QWidget* focused = focusWidget(); focused && focused != this && isInSight(*focused))
        document.focus = focused->objectName();
    generate_->addUnread(document);
    return document;
}

SessionDocument MainWindow::ownDocument() const {
    if (lessons_ && lessons_->before()) return *lessons_->before();
    const bool trains = training_.snapshot()->state == TrainingSnapshot::State::Training;
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
            updateTitle();
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

void MainWindow::chooseExport(const QString& suffix) {
    choosePath(
        this, tr("Export %1").arg(docks_.at(currentPanel()->objectName())->windowTitle()), QFileDialog::AnyFile,
        QFileDialog::AcceptSave, tr("%1 files (*.%2)").arg(suffix.toUpper(), suffix), suffix,
        [this](const QString& path) { exportFigure(path); }, suggestedName(suffix));
}

void MainWindow::chooseRunExport() {
    choosePath(this, tr("Export the training run"), QFileDialog::AnyFile, QFileDialog::AcceptSave,
               tr("Animation (*.gif);;Numbered images (*.png)"), "gif",
               [this](const QString& path) { exportRun(path); });
}

void MainWindow::showLockDialog() {
    auto* dialog = new LockDialog(locks_, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { setLocks(dialog->locks()); });
    dialog->open();
}

} // namespace attn
