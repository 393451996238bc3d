#pragma once

#include "app/lab/session_file.h"

#include <QObject>
#include <QTimer>

#include <functional>

class QLockFile;

namespace attn {

/// Writes what is open to a file of its own every ten seconds while it changes, and finds what a crashed run left
/// behind. A clean exit removes the file. Only the first of several running programs saves, so that none overwrites
/// another's.
class Autosave : public QObject {
    Q_OBJECT

public:
    static constexpr int kIntervalMs = 10'000;

    Autosave(QString folder, std::function<SessionDocument()> document, QObject* parent = nullptr);
    ~Autosave() override;

    /// What a run that ended without a clean exit left; read once, before the first save.
    std::optional<SessionDocument> takeLeftover();
    void setEnabled(bool isEnabled);
    void markChanged() { isChanged_ = true; }
    void saveNow();
    /// Removes the file: the program ends as it should.
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
