#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/shell/window_parts.h"
#include "engine/core/storage.h"

#include <QObject>
#include <QString>

#include <functional>

namespace attn {

class SessionController;
struct FoundFile;
struct Snapshot;
struct StorageChoice;

/// Opens and saves files, also those that were dropped, links and recent files. What a file is, is read on another
/// thread.
class FileController : public QObject {
    Q_OBJECT

public:
    /// @param asksStorage of the weights of a large model, before it is loaded; false: f32
    FileController(const WindowParts& parts, SessionController& session, bool asksStorage);

    /// Opens a model folder, a model file, a picture, a session, a link, a lesson, or a text as the prompt.
    void open(const QString& path, const QString& prompt = {});
    /// Opens the first of several files, and says which ones it leaves.
    void openFirst(const QStringList& paths, const QString& prompt = {});
    void openSession(const QString& path);
    /// Opens a link to a view. @see sessionLink
    void openLink(const QString& link);
    /// Whether a file is being read that is to be opened.
    bool isOpening() const { return opening_.isRunning(); }
    bool cancel(); ///< the reading of such a file. @return whether one was being read
    void saveSessionAs(const QString& path);
    /// Whether a session is being written.
    bool isSaving() const { return saving_.isRunning(); }
    /// Puts the model of a snapshot on the list of recent files.
    void noteOpened(const Snapshot& snapshot);

    void chooseModelFolder();
    void chooseModelFile();
    void choosePicture();
    void chooseSession();
    void chooseSessionPath();
    void chooseLink(); ///< asks for a link to open
    void saveSession();
    void copyLink();
    void changeStorage(); ///< of the open model, which opens again as it is

signals:
    void lessonFound(const QString& path); ///< in a file that was to be opened
    void recentChanged();

private:
    void openAs(const FoundFile& found, const QString& path, const QString& prompt);
    void openText(const QString& path); ///< puts it into the prompt
    /// Shows the memory and the speed of each storage, measured if need be. @param chosen called with the choice
    void askStorage(const StorageChoice& model, Storage storage, const QString& accept,
                    std::function<void(Storage)> chosen, std::function<void()> cancelled = {});
    void showOpening(const QString& path);
    /// Says why a file was not opened. One that is gone leaves the list of recent files.
    void showUnopened(const QString& path, Failure failure);
    void tellNothingOpened();
    void addRecent(const QString& path);
    void choose(const QString& title, const QString& filter, bool isFolder = false); ///< a file to open

    WindowParts parts_;
    Workbench& bench_ = parts_.bench;
    Notices& notices_ = parts_.notices;
    SessionController& session_;
    bool asksStorage_;
    BackgroundTask opening_, saving_, measuring_;
};

} // namespace attn
