#include "app/figures/word_rows.h"

#include "app/figures/token_label.h"

#include <algorithm>

namespace attn {
namespace {

bool isPunctuation(const QString& text) {
    return std::ranges::all_of(text, [](QChar c) { return !c.isLetterOrNumber() && !c.isSurrogate() && !c.isMark(); });
}

/// The label without the space that begins a word or the sign that continues one.
QString labelInWord(const TokenInfo& token) {
    QString text = QString::fromStdString(token.text);
    if (token.isSpecial || text.trimmed().isEmpty()) return tokenLabel(token);
    if (text.startsWith(' ') || text.startsWith(QChar(0x2581))) text.remove(0, 1);
    if (text.startsWith(QLatin1String("##"))) text.remove(0, 2);
    return visibleText(text);
}

/// Whether a token continues the word of the token before it.
bool continues(const TokenInfo& before, const TokenInfo& token) {
    if (before.isSpecial || token.isSpecial) return false;
    if (before.word.begin != before.word.end && token.word.begin != token.word.end)
        return before.word.begin == token.word.begin && before.isSecond == token.isSecond;
    const QString text = QString::fromStdString(token.text);
    if (text.startsWith(QLatin1String("##"))) return true; // WordPiece
    if (text.startsWith(' ') || text.startsWith(QChar(0x2581)) || text.trimmed().isEmpty()) return false;
    const QString last = QString::fromStdString(before.text);
    if (last.trimmed().isEmpty()) return before.text == " " && !isPunctuation(text); // a separate space begins a word
    return !isPunctuation(text) && !isPunctuation(last.trimmed());
}

} // namespace

WordRows wordRows(std::span<const TokenInfo> tokens) {
    WordRows words;
    for (size_t i = 0; i < tokens.size(); ++i) {
        const bool isNew = i == 0 || !continues(tokens[i - 1], tokens[i]);
        if (isNew) {
            words.begins.push_back(static_cast<int>(i));
            words.labels.push_back(labelInWord(tokens[i]));
        } else {
            words.labels.back() += labelInWord(tokens[i]);
        }
        words.wordOf.push_back(words.count() - 1);
    }
    return words;
}

std::shared_ptr<PatternTile> wordTile(const PatternTile& tile, const WordRows& queries, const WordRows& keys) {
    auto words = std::make_shared<PatternTile>(tile);
    words->rows = words->queryEnd = queries.count();
    words->columns = words->keyEnd = keys.count();
    words->queryBegin = words->keyBegin = 0;
    words->values.assign(static_cast<size_t>(words->rows) * static_cast<size_t>(words->columns), 0);
    std::vector<float> pieces(static_cast<size_t>(words->rows), 0);
    for (int query = 0; query < tile.rows; ++query)
        ++pieces[static_cast<size_t>(queries.wordOf[static_cast<size_t>(query)])];
    for (int query = 0; query < tile.rows; ++query) {
        const auto row = static_cast<size_t>(queries.wordOf[static_cast<size_t>(query)]);
        for (int key = 0; key < tile.columns; ++key)
            words->values[row * static_cast<size_t>(words->columns) +
                          static_cast<size_t>(keys.wordOf[static_cast<size_t>(key)])] +=
                tile.at(query, key) / pieces[row];
    }
    return words;
}

} // namespace attn
