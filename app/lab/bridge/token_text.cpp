#include "app/lab/bridge/token_text.h"

namespace attn {
namespace {

/// Needs ModelInfo::tokenTexts, one display piece per id; a contract without it still compiles.
template <class Info> QString vocabularyText(const Info& info, int token) {
    if constexpr (requires { info.tokenTexts; }) {
        if (token >= 0 && static_cast<size_t>(token) < info.tokenTexts.size())
            return QString::fromStdString(info.tokenTexts[static_cast<size_t>(token)]);
    }
    return {};
}

} // namespace

QString tokenText(const Snapshot& snapshot, int token) {
    if (snapshot.model) {
        if (const QString text = vocabularyText(*snapshot.model, token); !text.isEmpty()) return text;
    }
    if (snapshot.branches) {
        for (const BranchNode& node : snapshot.branches->nodes)
            if (node.token == token && !node.text.empty()) return QString::fromStdString(node.text);
    }
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
