#include "app/lab/bridge/token_text.h"

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

} // namespace attn
