#include "app/lab/widgets/search_words.h"

#include <QRegularExpression>

#include <algorithm>
#include <iterator>
#include <utility>

namespace attn {
namespace {

/// Words of questions that are not searched for.
constexpr const char* kFillers[] = {"a",  "an", "are", "can", "do",  "does", "how",  "i",    "in",
                                    "is", "it", "my",  "of",  "the", "to",   "what", "where"};
/// Words of other programs, with the words of this program.
constexpr std::pair<const char*, const char*> kSynonyms[] = {
    {"bigger", "larger"},       {"font", "text size"},       {"image", "picture"},   {"images", "pictures"},
    {"night", "dark"},          {"photo", "picture"},        {"photos", "pictures"}, {"colours", "theme"},
    {"colors", "theme"},        {"delete", "remove"},        {"ablate", "remove"},   {"translate", "translat"},
    {"translator", "translat"}, {"translation", "translat"},
};

} // namespace

QStringList wantedWords(const QString& typed) {
    static const QRegularExpression gap(QStringLiteral("[\\s?!.,“”\"]+"));
    const QStringList all = typed.toLower().split(gap, Qt::SkipEmptyParts);
    QStringList wanted;
    for (const QString& word : all) {
        if (std::ranges::any_of(kFillers, [&](const char* filler) { return word == QLatin1String(filler); })) continue;
        const auto* const other =
            std::ranges::find_if(kSynonyms, [&](const auto& pair) { return word == QLatin1String(pair.first); });
        if (other == std::end(kSynonyms))
            wanted << word;
        else
            wanted << QString::fromLatin1(other->second).split(' ');
    }
    return wanted.isEmpty() ? all : wanted;
}

bool hasWord(const QString& text, const QString& word) {
    for (qsizetype at = text.indexOf(word, 0, Qt::CaseInsensitive); at >= 0;
         at = text.indexOf(word, at + 1, Qt::CaseInsensitive))
        if (at == 0 || !text[at - 1].isLetterOrNumber()) return true;
    return false;
}

int rankOfTitle(const QString& title, const QString& words) {
    if (title.compare(words, Qt::CaseInsensitive) == 0) return 0;
    if (title.startsWith(words + ' ', Qt::CaseInsensitive)) return 1;
    if (title.startsWith(words, Qt::CaseInsensitive)) return 2;
    return title.contains(' ' + words, Qt::CaseInsensitive) ? 3 : 4;
}

} // namespace attn
