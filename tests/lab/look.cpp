#include "app/lab/common/theme.h"
#include "tests/lab/lab_window.h"

using namespace attn;

TEST_CASE("lab: the window uses the bundled typeface at every text size", "[lab]") {
    LabWindow lab;
    for (const int size : {60, 100, 250}) {
        applyTheme(ThemeId::Light, size);
        for (const QWidget* widget : {static_cast<QWidget*>(&lab.window()), lab.window().findChild<QWidget*>("run")}) {
            CHECK(QFontInfo(widget->font()).family() == "Attention Lab Sans");
            const QFontMetrics metrics(widget->font());
            for (const char digit : std::string("123456789"))
                CHECK(metrics.horizontalAdvance(QLatin1Char(digit)) == metrics.horizontalAdvance('0'));
        }
    }
    applyTheme(ThemeId::Light, 100);
}
