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

QByteArray withSubstitutes(QByteArray svg) {
    const QByteArray family = QByteArray("font-family=\"") + kFamily;
    return svg.replace(family + '"', family + ", " + kSubstitutes + '"');
}

} // namespace attn
