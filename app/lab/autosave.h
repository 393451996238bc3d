#pragma once

#include "app/lab/session_file.h"

#include <QObject>
#include <QTimer>

#include <functional>

class QLockFile;

namespace attn {

/// Saves the open session every ten seconds if it has changed, and finds the copy that a crash left behind. A clean
/// exit removes the copy. If several programs run, only the first one saves, so none overwrites another's copy.
class Autosave : public QObject {
    Q_OBJECT

public:
    static constexpr int kIntervalMs = 10'000;

    Autosave(QString folder, std::function<SessionDocument()> document, QObject* parent = nullptr);
    ~Autosave() override;

    /// The session that was open when the program crashed. Call this once, before the first save.
    std::optional<SessionDocument> takeLeftover();
    void setEnabled(bool isEnabled);
    void markChanged() { isChanged_ = true; }
    void saveNow();
    /// Removes the file, because the program is closing normally.
    void finish();

private:
    QString path() const;

    QString folder_;
    std::function<SessionDocument()> document_;
    std::unique_ptr<QLockFile> lock_;
    QTimer timer_;
    QByteArray lastJson_;
    bool isChanged_ = false;
    bool ownsFile_ = false;
};

} // namespace attn
