#include "app/cli/command.h"

#include "app/figures/export_figure.h"
#include "engine/core/error.h"

#include <QGuiApplication>

namespace attn::cli {

void writeFigure(const Figure& figure, const QSize& size, const std::string& path) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    int argc = 1;
    std::string name = "attention-cli";
    char* argv[] = {name.data(), nullptr};
    const QGuiApplication application(argc, argv); // fonts need one
    if (const auto failure = exportFigure(figure, FigureTheme::light(), size, QString::fromStdString(path)))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
}

} // namespace attn::cli
