#include "app/lab/shell/file_controller.h"

#include "app/figures/token_label.h"
#include "app/lab/common/preferences.h"
#include "app/lab/dialogs/storage_dialog.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/shell/found_file.h"
#include "app/lab/shell/lock_controller.h"
#include "app/lab/shell/notices.h"
#include "app/lab/shell/panel_docks.h"
#include "app/lab/shell/session_controller.h"
#include "app/lab/shell/widget_export.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/session_link.h"

#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QInputDialog>
#include <QKeyEvent>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QPointer>

#include <utility>

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

} // namespace

FileController::FileController(const WindowParts& parts, SessionController& session, bool asksStorage)
    : parts_(parts), session_(session), asksStorage_(asksStorage) {
    connect(&bench_, &Workbench::openingRequested, this, [this](const QString& path) { open(path); });
}

void FileController::open(const QString& path, const QString& prompt) {
    if (isSessionLink(path)) return openLink(path);
    if (path.endsWith(".attnlab")) return openSession(path);
    if (path.startsWith("builtin:")) { // small files of this program
        opening_.cancel();
        return openAs({}, path, prompt);
    }
    opening_.start<FoundFile>(
        path.toStdString(), [path](const std::atomic<bool>&) { return foundAt(path); },
        [this, path, prompt](std::variant<FoundFile, Failure> found) {
            notices_.endWork();
            if (const auto* known = std::get_if<FoundFile>(&found)) return openAs(*known, path, prompt);
            showUnopened(path, std::get<Failure>(std::move(found)));
            session_.openInstead();
        },
        tr("Read %1").arg(QFileInfo(path).fileName().left(60)).toStdString());
    showOpening(path);
}

void FileController::openFirst(const QStringList& paths, const QString& prompt) {
    open(paths.front(), prompt);
    QStringList others;
    for (const QString& path : paths.mid(1)) others << shownText(QFileInfo(path).fileName().toStdString());
    if (!others.isEmpty())
        notices_.offer(tr("Attention Lab opens one file at a time. It has not opened: %1.")
                           .arg(others.join(QStringLiteral(", "))));
}

void FileController::openAs(const FoundFile& found, const QString& path, const QString& prompt) {
    if (found.kind == FileKind::Lesson) {
        if (!bench_.hasModel()) session_.openInstead(); // a lesson begins on an open model
        emit lessonFound(path);
    } else if (found.kind == FileKind::Text) {
        openText(path);
    } else if (found.kind == FileKind::Picture) {
        session_.openPicture(path);
    } else {
        session_.expect();
        constexpr int64_t kLarge = int64_t{64} << 20; // bytes; smaller models write fast anyway
        if (!asksStorage_ || !found.storage || found.storage->needs.front().parameterBytes < kLarge)
            return session_.openModel(path, prompt, true);
        askStorage(
            *found.storage, rememberedStorage(path), tr("Open"),
            [this, path, prompt](Storage storage) {
                rememberStorage(path, storage);
                session_.openModel(path, prompt, true, storage);
            },
            [this] { tellNothingOpened(); });
    }
}

void FileController::openText(const QString& path) {
    if (bench_.hasModel() && !bench_.reads(AxisKind::Tokens))
        return notices_.fail({.what = "is a text, and the open model reads pictures",
                              .where = path.toStdString(),
                              .hint = "open a model of texts first"});
    opening_.start<QString>(
        path.toStdString(), [path](const std::atomic<bool>&) { return promptFrom(path); },
        [this, path](std::variant<QString, Failure> read) {
            notices_.endWork();
            if (auto* failure = std::get_if<Failure>(&read)) {
                session_.openInstead();
                return showUnopened(path, *failure);
            }
            session_.leaveStart();
            const auto& text = std::get<QString>(read);
            if (!session_.openInstead(text)) parts_.panels.the<GeneratePanel>().type(text); // no model reads it yet
            bench_.showPanel("generate");
        });
}

void FileController::openSession(const QString& path) {
    opening_.start<SessionDocument>(
        path.toStdString(), [path](const std::atomic<bool>&) { return loadSession(path); },
        [this, path](std::variant<SessionDocument, Failure> loaded) {
            notices_.endWork();
            if (const auto* failure = std::get_if<Failure>(&loaded)) {
                session_.openInstead();
                return showUnopened(path, *failure);
            }
            addRecent(path);
            auto& document = std::get<SessionDocument>(loaded);
            document.file = QFileInfo(path).absoluteFilePath();
            session_.openDocument(std::move(document));
        });
    showOpening(path);
}

void FileController::openLink(const QString& link) {
    opening_.cancel();
    auto read = sessionFromLink(link);
    if (auto* session = std::get_if<SessionDocument>(&read)) {
        session->file.clear();
        session->locks = parts_.locks.own();
        return session_.openDocument(std::move(*session));
    }
    session_.openInstead();
    notices_.fail(std::get<Failure>(read));
}

bool FileController::cancel() {
    if (!isOpening()) return false;
    opening_.cancel();
    notices_.endWork();
    tellNothingOpened();
    return true;
}

void FileController::showOpening(const QString& path) {
    notices_.showWork(tr("Reading %1").arg(QFileInfo(path).fileName().left(60)), [this] { return isOpening(); });
}

void FileController::showUnopened(const QString& path, Failure failure) {
    session_.expectNothing();
    if (recentPaths().contains(path) && !QFileInfo::exists(path)) {
        removeRecentPath(path);
        emit recentChanged();
        failure.hint += tr(". It is no longer in the list of recent files").toStdString();
    }
    notices_.fail(failure);
}

void FileController::tellNothingOpened() {
    session_.expectNothing();
    notices_.succeed(tr("Opening was cancelled. Nothing has changed."));
    session_.openInstead();
}

void FileController::addRecent(const QString& path) {
    addRecentPath(path);
    emit recentChanged();
}

void FileController::noteOpened(const Snapshot& snapshot) {
    const QString path = QString::fromStdString(snapshot.modelPath);
    if (!path.startsWith("builtin:") && !snapshot.shown) addRecentPath(path);
    emit recentChanged(); // also if its lesson was begun
}

void FileController::saveSessionAs(const QString& path) {
    if (isSaving())
        return notices_.fail({.what = "the session is still being saved",
                              .where = path.toStdString(),
                              .hint = "save it again when that is done"});
    SessionDocument document = session_.document();
    document.file.clear(); // a file may be moved
    // At once: another document may be open when this one is written.
    const QString file = QFileInfo(path).absoluteFilePath(), before = session_.file();
    session_.setFile(file);
    saving_.start<bool>(
        path.toStdString(),
        [document = std::move(document), path](const std::atomic<bool>&) -> std::variant<bool, Failure> {
            if (auto failure = attn::saveSession(document, path)) return std::move(*failure);
            return true;
        },
        [this, path, file, before](std::variant<bool, Failure> saved) {
            if (const auto* failure = std::get_if<Failure>(&saved)) {
                if (session_.file() == file) session_.setFile(before);
                return notices_.fail(*failure);
            }
            addRecent(path);
            notices_.succeed(tr("Session saved: %1").arg(path));
        });
}

void FileController::saveSession() {
    if (session_.file().isEmpty()) return chooseSessionPath();
    saveSessionAs(session_.file());
}

void FileController::chooseSessionPath() {
    const QString name = bench_.hasModel() ? QString::fromStdString(bench_.snapshot()->model->name) : tr("session");
    choosePath(
        parts_.window, tr("Save session"), tr("Sessions (*.attnlab)"), "attnlab",
        [this](const QString& path) { saveSessionAs(path); }, fileNameOf({name}, "attnlab"));
}

void FileController::choose(const QString& title, const QString& filter, bool isFolder) {
    auto* dialog = makeFileDialog(&parts_.window, title, isFolder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    if (!filter.isEmpty()) dialog->setNameFilter(filter);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) { open(path); });
    dialog->open();
}

void FileController::chooseModelFolder() { choose(tr("Open model folder"), {}, true); }

void FileController::chooseModelFile() {
    choose(tr("Open model file"), tr("Models and sessions (*.safetensors *.json *.attnlab)"));
}

void FileController::choosePicture() { choose(tr("Choose a picture"), {}); }

void FileController::chooseSession() { choose(tr("Open session"), tr("Sessions (*.attnlab)")); }

void FileController::copyLink() {
    QGuiApplication::clipboard()->setText(sessionLink(session_.document()));
    notices_.succeed(tr("Link copied. Paste it into a message; File > Open link opens it."));
}

void FileController::chooseLink() {
    auto* dialog = identified(new QInputDialog(&parts_.window), "linkDialog");
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
    connect(dialog, &QInputDialog::textValueSelected, this, &FileController::openLink);
    dialog->open();
}

void FileController::askStorage(const StorageChoice& model, Storage storage, const QString& accept,
                                std::function<void(Storage)> chosen, std::function<void()> cancelled) {
    auto* dialog = new StorageDialog(model, storage, accept, &parts_.window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [dialog, chosen = std::move(chosen)] { chosen(dialog->storage()); });
    if (cancelled) connect(dialog, &QDialog::rejected, this, std::move(cancelled));
    dialog->open();
    connect(dialog, &QDialog::finished, this, [this] { measuring_.cancel(); });
    measuring_.start<WeightSpeed>(
        "storage", // nobody reads why there is no speed: opening the model says so
        [choice = bench_.device(), model](const std::atomic<bool>& isStopped) {
            return measureWeightSpeed(choice, model, [&] { return isStopped.load(); });
        },
        [dialog = QPointer(dialog)](std::variant<WeightSpeed, Failure> measured) {
            if (!dialog) return;
            if (const auto* speed = std::get_if<WeightSpeed>(&measured))
                dialog->setSpeed(*speed);
            else
                dialog->setSpeedUnknown();
        },
        tr("Measure how fast the weights are read").toStdString());
}

void FileController::changeStorage() {
    const QString path = QString::fromStdString(bench_.snapshot()->path());
    opening_.start<StorageChoice>(
        path.toStdString(), [path](const std::atomic<bool>&) { return storageChoice(path.toStdString()); },
        [this, path](std::variant<StorageChoice, Failure> found) {
            notices_.endWork();
            if (const auto* failure = std::get_if<Failure>(&found)) return notices_.fail(*failure);
            const Storage now = bench_.hasModel() ? bench_.snapshot()->model->storage : Storage::F32;
            askStorage(std::get<StorageChoice>(found), now, tr("Open again"), [this, path, now](Storage storage) {
                if (storage == now || !bench_.hasModel()) return;
                if (!path.startsWith("builtin:")) rememberStorage(path, storage);
                SessionDocument next = session_.document();
                next.storage = storage;
                session_.restore(
                    std::move(next),
                    tr("keeping weights as %1").arg(QString::fromStdString(std::string(storageName(storage)))));
            });
        });
    showOpening(path);
}

} // namespace attn
