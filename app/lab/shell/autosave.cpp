#include "app/lab/shell/autosave.h"

#include "engine/system/private_file.h"

#include <QFile>
#include <QLockFile>

#include <utility>

namespace attn {
namespace {

/// A session with the user's prompts, which nobody else should read.
std::optional<Failure> savePrivately(const SessionDocument& document, const QString& path) {
    makePrivateFile(path.toStdString());
    return saveSession(document, path);
}

} // namespace

Autosave::Autosave(QString folder, std::function<SessionDocument()> document, QObject* parent)
    : QObject(parent), folder_(std::move(folder)), document_(std::move(document)) {
    makePrivateFolder(folder_.toStdString());
    lock_ = std::make_unique<QLockFile>(folder_ + "/autosave.lock");
    lock_->setStaleLockTime(0); // stale only when its process is gone
    ownsFile_ = lock_->tryLock(0);
    timer_.setInterval(kIntervalMs);
    connect(&timer_, &QTimer::timeout, this, &Autosave::saveNow);
}

Autosave::~Autosave() = default;

QString Autosave::path() const { return folder_ + "/autosave.attnlab"; }

QString Autosave::lastPath() const { return folder_ + "/last.attnlab"; }

std::optional<SessionDocument> Autosave::takeLeftover() {
    auto leftover = load(path());
    keepsLeftover_ = leftover.has_value();
    return leftover;
}

std::optional<SessionDocument> Autosave::takeLast() {
    auto last = load(lastPath());
    if (ownsFile_) QFile::remove(lastPath()); // a session that ends the program must not be opened again and again
    return last;
}

std::optional<SessionDocument> Autosave::load(const QString& path) {
    if (!ownsFile_ || !QFile::exists(path)) return std::nullopt;
    auto loaded = loadSession(path);
    if (auto* document = std::get_if<SessionDocument>(&loaded)) return std::move(*document);
    const QString kept = path + ".unreadable";
    QFile::remove(kept);
    QFile::rename(path, kept);
    Failure problem = std::get<Failure>(std::move(loaded));
    problem.what = "the session that was open last cannot be restored: " + problem.what;
    problem.where = kept.toStdString();
    unreadable_.push_back(std::move(problem));
    return std::nullopt;
}

void Autosave::setEnabled(bool isEnabled) {
    if (!isEnabled || !ownsFile_) return timer_.stop();
    if (!timer_.isActive()) timer_.start();
}

void Autosave::saveNow() {
    if (!ownsFile_ || saving_.isRunning()) return;
    SessionDocument document = document_();
    if (document.modelPath.isEmpty()) return;
    saving_.start<QByteArray>(
        "autosave",
        [document = std::move(document), path = path(), last = lastJson_, file = file_,
         isFirst =
             std::exchange(keepsLeftover_, false)](const std::atomic<bool>&) -> std::variant<QByteArray, Failure> {
            QByteArray json = sessionToJson(document);
            const std::lock_guard lock(file->mutex);
            if (file->isFinished || json == last) return last;
            if (isFirst) return json;
            if (auto failure = savePrivately(document, path)) return std::move(*failure);
            return json;
        },
        [this](std::variant<QByteArray, Failure> saved) {
            const auto* failure = std::get_if<Failure>(&saved);
            if (!failure) lastJson_ = std::get<QByteArray>(std::move(saved));
            // It must not nag every ten seconds: it says a reason once, until it has saved again.
            if (std::exchange(hasFailed_, failure != nullptr) || !failure) return;
            emit failed({.what = "the open session cannot be saved automatically: " + failure->what,
                         .where = failure->where,
                         .hint = failure->hint});
        });
}

void Autosave::saveForNextStart() {
    timer_.stop();
    const std::lock_guard lock(file_->mutex); // a save that has begun ends first
    if (!ownsFile_ || std::exchange(file_->isFinished, true)) return;
    if (const SessionDocument document = document_(); !document.modelPath.isEmpty()) savePrivately(document, path());
}

void Autosave::finish(const std::optional<SessionDocument>& last) {
    timer_.stop();
    const std::lock_guard lock(file_->mutex);
    if (std::exchange(file_->isFinished, true) || !ownsFile_) return;
    QFile::remove(path());
    if (last && !last->modelPath.isEmpty()) savePrivately(*last, lastPath());
}

} // namespace attn
