#include "app/cli/command.h"

#include "app/figures/export_figure.h"
#include "app/figures/typeface.h"
#include "engine/core/error.h"

#include <QGuiApplication>

namespace attn::cli {

FigureTheme themeFromKey(const std::string& key) {
    return key == "dark" ? FigureTheme::dark() : key == "projector" ? FigureTheme::projector() : FigureTheme::light();
}

void writeFigure(const Figure& figure, const QSize& size, const std::string& path, const std::string& theme) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    int argc = 1;
    std::string name = "attention-cli";
    char* argv[] = {name.data(), nullptr};
    const QGuiApplication application(argc, argv); // fonts need it
    QGuiApplication::setFont(bundledFont());
    if (const auto failure = exportFigure(figure, themeFromKey(theme), size, QString::fromStdString(path)))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
}

} // namespace attn::cli
