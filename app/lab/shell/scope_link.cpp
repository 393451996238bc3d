#include "app/lab/shell/scope_link.h"

#include <QCoreApplication>
#include <QLocalSocket>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryFile>
#include <QUuid>

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace attn {
namespace {
constexpr qsizetype kMostSaid = 4000; ///< bytes of what a scope says last
}

QStringList scopeArguments(const Snapshot& snapshot, const Selection& selection, const QString& device,
                           const QString& socket) {
    QStringList arguments;
    const bool isWhole = snapshot.sequence && snapshot.sequence->forgotten == 0;
    if (isWhole && snapshot.model && snapshot.model->hasTokenizer) {
        if (const std::string& prompt = snapshot.sequence->given.text; !prompt.empty())
            arguments << "--prompt=" + QString::fromStdString(prompt);
    } else if (snapshot.sequence) { // of a text that is longer than the context: what the model reads of it
        QStringList ids;
        for (const TokenInfo& token : snapshot.sequence->tokens)
            if (token.isPrompt) ids << QString::number(token.id);
        if (!ids.isEmpty()) arguments << "--tokens=" + ids.join(',');
    }
    arguments << "--layer=" + QString::number(selection.site) << "--head=" + QString::number(selection.head);
    if (!socket.isEmpty()) arguments << "--follow=" + socket;
    if (!device.isEmpty()) arguments << "--device=" + device;
    if (snapshot.model) arguments << "--" << QString::fromStdString(snapshot.path());
    return arguments;
}

std::optional<Failure> startScope(const QString& folder, const QStringList& arguments, QObject* context,
                                  std::function<void(const Failure&)> ended) {
    const QString program = QStandardPaths::findExecutable("attention-scope", {folder});
    if (program.isEmpty())
        return Failure{.what = "attention-scope is not installed in this program's folder",
                       .where = folder.toStdString(),
                       .hint = "install it there, or build it (it needs GLFW and Dear ImGui)"};
    auto* process = new QProcess; // has no owner, because the scope may outlive this program
    auto* said = new QTemporaryFile(process);
    if (said->open()) process->setStandardErrorFile(said->fileName());
    process->setStandardInputFile(QProcess::nullDevice());
    process->setStandardOutputFile(QProcess::nullDevice());
    process->setChildProcessModifier([] { ::setsid(); }); // Ctrl-C in this program's terminal ends this program alone
    process->start(program, arguments);
    const bool isStarted = process->waitForStarted();
    QFile::remove(said->fileName()); // both hold it open
    if (!isStarted) {
        process->deleteLater();
        return Failure{.what = "attention-scope could not be started",
                       .where = program.toStdString(),
                       .hint = "start it in a terminal to see why"};
    }
    QObject::connect(
        process, &QProcess::finished, context,
        [process, said, ended = std::move(ended)](int code, QProcess::ExitStatus status) {
            process->deleteLater();
            if (code == 0 && status == QProcess::NormalExit) return;
            const QString last = QString::fromUtf8(said->readAll().right(kMostSaid)).trimmed().section('\n', -1);
            const QString name = QStringLiteral("attention-scope: ");
            ended({.what = last.isEmpty() ? "it ended without a word"
                                          : last.mid(last.startsWith(name) ? name.size() : 0).toStdString(),
                   .where = "The scope",
                   .hint = last.isEmpty() ? "start attention-scope in a terminal to see why" : ""});
        });
    return std::nullopt;
}

MirrorMessage mirrorOf(const Snapshot& snapshot, const Selection& selection, bool isLight) {
    MirrorMessage message{.theme = isLight ? "light" : "dark"};
    if (!snapshot.model) return message;
    message.path = snapshot.path();
    if (snapshot.sequence && !snapshot.sequence->tokens.empty()) {
        message.tokens.emplace();
        message.types.emplace();
        message.tree = snapshot.sequence->given.parents;
        message.promptLength = 0;
        for (const TokenInfo& token : snapshot.sequence->tokens) {
            message.tokens->push_back(token.id);
            message.types->push_back(token.type);
            if (token.isPrompt) ++*message.promptLength;
        }
        if (std::ranges::count(*message.types, 0) == std::ssize(*message.types)) message.types->clear();
    }
    const bool isChanged = snapshot.changes && snapshot.run != ShownRun::Original;
    message.changes = isChanged ? *snapshot.changes : Changes{};
    message.site = selection.site;
    message.head = selection.head;
    return message;
}

MirrorMessage mirrorChange(const MirrorMessage& before, const MirrorMessage& now) {
    if (before.path != now.path) return now;
    MirrorMessage change;
    if (before.tokens != now.tokens || before.promptLength != now.promptLength || before.types != now.types ||
        before.tree != now.tree) {
        change.tokens = now.tokens;
        change.types = now.types;
        change.tree = now.tree;
        change.promptLength = now.promptLength;
    }
    if (before.changes != now.changes) change.changes = now.changes;
    if (before.site != now.site) change.site = now.site;
    if (before.head != now.head) change.head = now.head;
    if (before.theme != now.theme) change.theme = now.theme;
    return change;
}

ScopeMirror::ScopeMirror(QObject* parent) : QObject(parent) {
    server_.setSocketOptions(QLocalServer::UserAccessOption);
    connect(&server_, &QLocalServer::newConnection, this, [this] { greet(); });
}

ScopeMirror::~ScopeMirror() = default;

QString ScopeMirror::socketPath() {
    if (!server_.isListening())
        server_.listen(QStringLiteral("attention-lab-%1-%2")
                           .arg(QCoreApplication::applicationPid())
                           .arg(QUuid::createUuid().toString(QUuid::Id128).left(8)));
    return server_.isListening() ? server_.fullServerName() : QString();
}

void ScopeMirror::greet() {
    while (QLocalSocket* scope = server_.nextPendingConnection()) {
        connect(scope, &QLocalSocket::disconnected, scope, &QObject::deleteLater);
        std::erase_if(scopes_, [](const Listener& each) { return each.socket.isNull(); });
        if (scopes_.size() >= kMostScopes) {
            scope->disconnectFromServer();
            continue;
        }
        connect(scope, &QLocalSocket::bytesWritten, this, &ScopeMirror::catchUp);
        connect(scope, &QLocalSocket::readyRead, scope, [scope] { scope->readAll(); }); // a scope has nothing to say
        send(scopes_.emplace_back(Listener{scope}), shown_); // much may have changed while it started
    }
}

void ScopeMirror::send(Listener& scope, const MirrorMessage& message) const {
    if (scope.socket->bytesToWrite() > kMostWaitingBytes)
        scope.isBehind = true;
    else
        scope.socket->write(QByteArray::fromStdString(mirrorLine(message)));
}

void ScopeMirror::catchUp() {
    for (Listener& scope : scopes_)
        if (scope.socket && scope.isBehind && scope.socket->bytesToWrite() == 0) {
            scope.isBehind = false;
            send(scope, shown_);
        }
}

void ScopeMirror::show(const Snapshot& snapshot, const Selection& selection, bool isLight) {
    const MirrorMessage now = mirrorOf(snapshot, selection, isLight), change = mirrorChange(shown_, now);
    if (change == MirrorMessage{}) return;
    shown_ = now;
    std::erase_if(scopes_, [](const Listener& scope) { return scope.socket.isNull(); });
    for (Listener& scope : scopes_)
        if (!scope.isBehind) send(scope, change);
}

qint64 ScopeMirror::waitingBytes() const {
    qint64 bytes = 0;
    for (const Listener& scope : scopes_)
        if (scope.socket) bytes += scope.socket->bytesToWrite();
    return bytes;
}

} // namespace attn
