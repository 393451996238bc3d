#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/workbench/session_file.h"

#include <QObject>
#include <QTimer>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

class QLockFile;

namespace attn {

/// Saves the open session every ten seconds if it has changed, and finds the copy that a crash left behind. A clean
/// exit leaves the session for the next start instead. If several programs run, only the first one saves, so none
/// overwrites another's copy.
class Autosave : public QObject {
    Q_OBJECT

public:
    static constexpr int kIntervalMs = 10'000;

    /// @param document what to find if the program ends unexpectedly
    Autosave(QString folder, std::function<SessionDocument()> document, QObject* parent = nullptr);
    ~Autosave() override;

    /// The session that was open when the program crashed. Call this once, before the first save.
    std::optional<SessionDocument> takeLeftover();
    void setEnabled(bool isEnabled);
    /// Saves on another thread, unless nothing has changed since the last time.
    void saveNow();
    /// Saves before this returns, because the system ends the program. It saves no more after that.
    void saveForNextStart();
    /// The session that was open when the program was closed. Call this once, before the first save.
    std::optional<SessionDocument> takeLast();
    /// Why copies that the last program left cannot be opened. Each of these files stays beside, as FILE.unreadable.
    const std::vector<Failure>& unreadable() const { return unreadable_; }
    /// The program is closing normally: nothing is left over. @param last waits for the next start; none: nothing does
    void finish(const std::optional<SessionDocument>& last);

signals:
    /// The first save has failed, or the first after one that succeeded.
    void failed(const attn::Failure& failure);

private:
    struct File {
        std::mutex mutex;
        bool isFinished = false; ///< nothing may write the file again
    };

    QString path() const;
    QString lastPath() const;
    std::optional<SessionDocument> load(const QString& path);

    QString folder_;
    std::function<SessionDocument()> document_;
    std::unique_ptr<QLockFile> lock_;
    QTimer timer_;
    QByteArray lastJson_;
    std::shared_ptr<File> file_ = std::make_shared<File>();
    BackgroundTask saving_;
    std::vector<Failure> unreadable_;
    bool hasFailed_ = false;
    bool keepsLeftover_ = false; ///< until the session changes, which stands beside the offer of what was left over
    bool ownsFile_ = false;
};

} // namespace attn
