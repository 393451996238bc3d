#include "app/lab/bridge/token_text.h"

namespace attn {
QString tokenText(const Snapshot& snapshot, int token) {
    if (snapshot.model && token >= 0 && static_cast<size_t>(token) < snapshot.model->tokenTexts.size())
        return QString::fromStdString(snapshot.model->tokenTexts[static_cast<size_t>(token)]);
    return QStringLiteral("#%1").arg(token);
}

} // namespace attn
