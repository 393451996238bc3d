#include "app/figures/typeface.h"

#include <QFontDatabase>
#include <QGuiApplication>

#include <utility>

namespace attn {
namespace {

constexpr auto kFamily = "Attention Lab Sans";
constexpr auto kSubstitutes = "Inter, Helvetica, Arial, sans-serif"; // Inter has the same shapes and widths

} // namespace

QFont bundledFont() {
    static bool isLoaded = false;
    if (!std::exchange(isLoaded, true))
        for (const char* weight : {"Regular", "Medium", "SemiBold", "Bold"})
            QFontDatabase::addApplicationFont(QStringLiteral(":/fonts/AttentionLabSans-%1.otf").arg(weight));
    QFont font = QGuiApplication::font();
    font.setFamilies({kFamily});
    return font;
}

double textRatio(TextSize size) {
    switch (size) {
    case TextSize::Caption:
        return 0.85;
    case TextSize::Title:
        return 1.2;
    case TextSize::Headline:
        return 1.5;
    case TextSize::Body:
        break;
    }
    return 1;
}

QFont::Weight textWeight(TextSize size, QFont::Weight body) {
    return size == TextSize::Title || size == TextSize::Headline ? QFont::DemiBold : body;
}

QByteArray withSubstitutes(QByteArray svg) {
    const QByteArray family = QByteArray("font-family=\"") + kFamily;
    return svg.replace(family + '"', family + ", " + kSubstitutes + '"');
}

} // namespace attn
