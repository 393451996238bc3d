#include "app/lab/bridge/token_text.h"

#include <algorithm>

namespace attn {
QString tokenText(const Snapshot& snapshot, int token) {
    if (snapshot.model && token >= 0 && static_cast<size_t>(token) < snapshot.model->tokenTexts.size())
        return QString::fromStdString(snapshot.model->tokenTexts[static_cast<size_t>(token)]);
    return QStringLiteral("#%1").arg(token);
}

std::optional<int> predictedWord(const Snapshot& snapshot) {
    if (!snapshot.model || !snapshot.model->maskToken || !snapshot.sequence) return {};
    const auto& tokens = snapshot.sequence->tokens;
    const auto last = std::ranges::find(tokens.rbegin(), tokens.rend(), *snapshot.model->maskToken, &TokenInfo::id);
    if (last == tokens.rend()) return {};
    return static_cast<int>(tokens.rend() - last) - 1;
}

} // namespace attn
