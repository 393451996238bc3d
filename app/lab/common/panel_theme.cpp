#include "app/lab/common/panel_theme.h"

#include <QApplication>
#include <QFontInfo>

namespace attn {

FigureTheme figureTheme(ThemeId theme) {
    const double size = QFontInfo(QApplication::font()).pixelSize();
    switch (theme) {
    case ThemeId::Dark:
        return FigureTheme::dark(size);
    case ThemeId::Projector:
        return FigureTheme::projector(size);
    case ThemeId::Light:
        break;
    }
    return FigureTheme::light(size);
}

} // namespace attn
