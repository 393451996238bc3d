#include "app/lab/bridge/token_text.h"

namespace attn {
QString tokenText(const Snapshot& snapshot, int token) {
    if (snapshot.model && token >= 0 && static_cast<size_t>(token) < snapshot.model->tokenTexts.size())
        return QString::fromStdString(snapshot.model->tokenTexts[static_cast<size_t>(token)]);
    return QStringLiteral("#%1").arg(token);
}

QString tokenLabel(const QString& text) {
    QString label = text;
    label.replace('\n', QStringLiteral("↵")).replace('\t', QStringLiteral("⇥")).replace('\r', QStringLiteral("␍"));
    // Only edges are marked: inner spaces are visible as they are.
    if (label.startsWith(' ')) label[0] = QChar(0x2423);
    if (label.size() > 1 && label.endsWith(' ')) label[label.size() - 1] = QChar(0x2423);
    return label;
}

} // namespace attn
