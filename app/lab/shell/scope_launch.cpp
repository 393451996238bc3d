#include "app/lab/shell/scope_launch.h"

#include <QProcess>
#include <QStandardPaths>

namespace attn {

QStringList scopeArguments(const Snapshot& snapshot, const Selection& selection, const QString& device,
                           const QString& socket) {
    QStringList arguments;
    if (snapshot.sequence && snapshot.model && snapshot.model->hasTokenizer) {
        if (!snapshot.sequence->prompt.empty())
            arguments << "--prompt=" + QString::fromStdString(snapshot.sequence->prompt);
    } else if (snapshot.sequence) {
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

std::optional<Failure> startScope(const QString& folder, const QStringList& arguments) {
    const QString program = QStandardPaths::findExecutable("attention-scope", {folder});
    if (program.isEmpty())
        return Failure{.what = "attention-scope is not installed in this program's folder",
                       .where = folder.toStdString(),
                       .hint = "install it there, or build it (it needs GLFW and Dear ImGui)"};
    if (!QProcess::startDetached(program, arguments))
        return Failure{.what = "attention-scope could not be started",
                       .where = program.toStdString(),
                       .hint = "start it in a terminal to see why"};
    return std::nullopt;
}

} // namespace attn
