#pragma once

#include <QStringList>

namespace attn {

/// @return the words to search for, as this program writes them: "photos" are pictures, and "how do I" says nothing
QStringList wantedWords(const QString& typed);
/// Whether a text contains a word with this beginning.
bool hasWord(const QString& text, const QString& word);
/// How well a title matches: 0 if it is the words, 1 if it begins with them, 2 if it begins with a longer word, 3 if
/// another of its words begins with them, otherwise 4.
int rankOfTitle(const QString& title, const QString& words);

} // namespace attn
