#include "app/lab/autosave.h"

#include <QDir>
#include <QFile>
#include <QLockFile>

namespace attn {

Autosave::Autosave(QString folder, std::function<SessionDocument()> document, QObject* parent)
    : QObject(parent), folder_(std::move(folder)), document_(std::move(document)) {
    QDir().mkpath(folder_);
    lock_ = std::make_unique<QLockFile>(folder_ + "/autosave.lock");
    lock_->setStaleLockTime(0); // stale only when its process is gone
    ownsFile_ = lock_->tryLock(0);
    timer_.setInterval(kIntervalMs);
    connect(&timer_, &QTimer::timeout, this, &Autosave::saveNow);
}

Autosave::~Autosave() = default;

QString Autosave::path() const { return folder_ + "/autosave.attnlab"; }

std::optional<SessionDocument> Autosave::takeLeftover() {
    if (!ownsFile_ || !QFile::exists(path())) return std::nullopt;
    auto loaded = loadSession(path());
    if (auto* document = std::get_if<SessionDocument>(&loaded)) return std::move(*document);
    return std::nullopt; // a damaged copy is not worth a message
}

void Autosave::setEnabled(bool isEnabled) {
    if (!isEnabled || !ownsFile_) return timer_.stop();
    timer_.start();
}

void Autosave::saveNow() {
    if (!ownsFile_ || !std::exchange(isChanged_, false)) return;
    const SessionDocument document = document_();
    if (document.modelPath.isEmpty()) return;
    const QByteArray json = sessionToJson(document);
    if (json == lastJson_) return;
    // A failed autosave (a full disk) must not nag every ten seconds; an ordinary save reports the reason.
    if (!saveSession(document, path())) lastJson_ = json;
}

void Autosave::finish() {
    timer_.stop();
    if (ownsFile_) QFile::remove(path());
}

} // namespace attn
