#include "app/lab/bridge/token_text.h"

#include "app/figures/token_label.h"

#include <QCoreApplication>

namespace attn {
QString tokenText(const Snapshot& snapshot, int token) {
    if (snapshot.model && token >= 0 && static_cast<size_t>(token) < snapshot.model->tokenTexts.size())
        return QString::fromStdString(snapshot.model->tokenTexts[static_cast<size_t>(token)]);
    return QStringLiteral("#%1").arg(token);
}

std::optional<int> predictedWord(const Snapshot& snapshot) {
    if (!snapshot.model || !snapshot.model->maskToken || !snapshot.sequence || !snapshot.next) return {};
    const int row = snapshot.next->row;
    const auto& tokens = snapshot.sequence->tokens;
    const auto at = static_cast<size_t>(row);
    return at < tokens.size() && tokens[at].id == *snapshot.model->maskToken ? std::optional(row) : std::nullopt;
}

QString readoutToken(const Snapshot& snapshot) {
    const auto row = static_cast<size_t>(snapshot.next ? std::max(0, snapshot.next->row) : 0);
    const size_t count = snapshot.sequence ? snapshot.sequence->tokens.size() : 0;
    return row + 1 < count ? QStringLiteral("“%1”").arg(tokenLabel(snapshot.sequence->tokens[row]))
                           : QCoreApplication::translate("attn::Input", "the last token");
}

} // namespace attn
