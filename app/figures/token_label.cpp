#include "app/figures/token_label.h"

#include <QCoreApplication>
#include <QList>
#include <QRegularExpression>

namespace attn {
namespace {

constexpr char16_t kOpenBox = u'␣';

struct Remark {
    Q_DECLARE_TR_FUNCTIONS(attn::Remark)
};

QString visibleCharacter(char32_t c) {
    if (c == U'\n') return QStringLiteral("↵");
    if (c == U'\t') return QStringLiteral("⇥");
    if (c < 0x20) return QChar(static_cast<char16_t>(0x2400 + c));
    if (c == 0x7f) return QChar(0x2421);
    if (c == 0xa0) return QStringLiteral("⍽");
    const bool isInvisible = (c >= 0x80 && c < 0xa0) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
                             (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
                             (c >= 0xfff9 && c <= 0xfffb) || (c & 0xfffe) == 0xfffe;
    if (isInvisible) return QStringLiteral("U+%1").arg(static_cast<uint>(c), 4, 16, QLatin1Char('0')).toUpper();
    return QString::fromUcs4(&c, 1);
}

QString withVisibleCharacters(const QString& text, bool keepsLines) {
    const QList<uint> points = text.toUcs4();
    QString result;
    for (qsizetype i = 0; i < points.size(); ++i) {
        const char32_t point = points[i];
        // A joiner inside a cluster (emoji families, Indic scripts) belongs to its neighbours.
        const bool isInnerJoiner = (point == 0x200d || point == 0x200c) && i > 0 && i + 1 < points.size();
        const bool isLine = keepsLines && point == U'\n';
        if (i == 0 && QChar::isMark(point)) result += QChar(0x25cc);
        result += isInnerJoiner || isLine ? QString(QChar(static_cast<char16_t>(point))) : visibleCharacter(point);
    }
    return result;
}

} // namespace

QString shownText(std::string_view text) {
    return withVisibleCharacters(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())), true);
}

QString visibleText(const QString& text) {
    QString result = withVisibleCharacters(text, false);
    for (qsizetype i = 0; i < result.size() && result[i] == u' '; ++i) result[i] = QChar(kOpenBox);
    for (qsizetype i = result.size(); i-- > 0 && result[i] == u' ';) result[i] = QChar(kOpenBox);
    return result;
}

QString tokenLabel(const TokenInfo& token) {
    return token.text.empty() ? QStringLiteral("#%1").arg(token.id) : visibleText(QString::fromStdString(token.text));
}

QString tokenRemark(const QString& label) {
    static const QRegularExpression byte(QStringLiteral("^<0x[0-9A-F]{2}>$")), special(QStringLiteral("^<[|].*[|]>$"));
    if (byte.match(label).hasMatch()) return Remark::tr("One byte of a character that the vocabulary does not have.");
    if (label == QLatin1String("[CLS]")) return Remark::tr("A special token that stands for the whole text.");
    if (label == QLatin1String("[MASK]")) return Remark::tr("A special token that stands for a hidden word.");
    if (label == QLatin1String("[SEP]") || special.match(label).hasMatch())
        return Remark::tr("A special token that marks where a text begins or ends.");
    return label.contains(QChar(kOpenBox)) ? Remark::tr("␣ is a space.") : QString();
}

std::vector<QString> tokenLabels(std::span<const TokenInfo> tokens) {
    std::vector<QString> labels;
    labels.reserve(tokens.size());
    for (const TokenInfo& token : tokens) labels.push_back(tokenLabel(token));
    return labels;
}

std::vector<QString> tokenLabels(const Sequence* sequence) {
    return sequence ? tokenLabels(sequence->tokens) : std::vector<QString>();
}

} // namespace attn
