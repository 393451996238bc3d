#include "tests/figures/painting.h"

#include "app/figures/export_figure.h"
#include "app/figures/typeface.h"

#include <QGuiApplication>

namespace attn {
namespace {

/// Makes the application object that fonts need, without a display.
struct FigureApplication : CatchListener {
    using CatchListener::CatchListener;
    void testRunStarting(const Catch::TestRunInfo&) override {
        static int argc = 3;
        static char name[] = "test_figures", option[] = "-platform", platform[] = "offscreen";
        static char* argv[] = {name, option, platform, nullptr};
        // Lives until the process ends: Qt's own statics may still need it.
        static auto* application = new QGuiApplication(argc, argv);
        Q_UNUSED(application)
        QGuiApplication::setFont(bundledFont());
    }
};
CATCH_REGISTER_LISTENER(FigureApplication)

} // namespace

QImage painted(const Figure& figure, const FigureTheme& theme, const QSize& size) {
    return imageOf(figure, theme, size, 1);
}

} // namespace attn
