#include "app/figures/drawing.h"
#include "app/lab/common/theme.h"
#include "tests/lab/lab_window.h"

using namespace attn;

namespace {

/// @source WCAG 2.1, relative luminance and contrast ratio
double luminance(const QColor& colour) {
    const auto linear = [](double channel) {
        return channel <= 0.03928 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const auto [low, high] = std::minmax(luminance(a), luminance(b));
    return (high + 0.05) / (low + 0.05);
}

constexpr double kText = 4.5, kGraphics = 3; // WCAG 2.1, AA: 1.4.3 and 1.4.11

} // namespace

TEST_CASE("lab: text of every theme stands out from its ground by 4.5 to 1, and graphics by 3 to 1", "[lab]") {
    makeApplication(QDir::tempPath());
    for (const ThemeId theme : {ThemeId::Light, ThemeId::Dark, ThemeId::Projector}) {
        const QPalette palette = themePalette(theme);
        const auto check = [&](QPalette::ColorRole ink, QPalette::ColorRole ground, double least) {
            INFO("theme " << themeKey(theme).toStdString() << ", roles " << ink << " on " << ground);
            CHECK(contrast(palette.color(ink), palette.color(ground)) >= least);
        };
        for (const QPalette::ColorRole ground :
             {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button}) {
            check(QPalette::Text, ground, kText);
            check(QPalette::PlaceholderText, ground, kText); // hints, and text of controls that are off
            check(QPalette::Highlight, ground, kGraphics);
        }
        check(QPalette::HighlightedText, QPalette::Highlight, kText);
        check(QPalette::ToolTipText, QPalette::ToolTipBase, kText);
        check(QPalette::Link, QPalette::Window, kText);
        check(QPalette::Link, QPalette::Base, kText);

        const FigureTheme figures = figureTheme(theme);
        for (const QColor& ink : {figures.text, figures.faint, figures.accent, figures.query, figures.key,
                                  figures.value, figures.prediction, predictionColour(theme)}) {
            INFO("theme " << themeKey(theme).toStdString() << ", figures, " << ink.name().toStdString());
            CHECK(contrast(ink, figures.background) >= kText);
            CHECK(contrast(ink, figures.plot) >= kGraphics); // marks and bars over masked cells
        }
    }
}

TEST_CASE("lab: text in cards, banners and buttons of every theme stands out by 4.5 to 1", "[lab]") {
    LabWindow lab;
    for (const ThemeId theme : {ThemeId::Light, ThemeId::Dark, ThemeId::Projector}) {
        applyTheme(theme, 100);
        const QColor text = themePalette(theme).color(QPalette::Text);
        const QRegularExpression rule("([^{}]+)\\{([^}]*)\\}"), ground("background(?:-color)?: *(#[0-9a-f]{6})"),
            ink("(?:^|[ ;])color: *(#[0-9a-f]{6})");
        int grounds = 0;
        for (auto each = rule.globalMatch(qApp->styleSheet()); each.hasNext();) {
            const auto match = each.next();
            const auto found = ground.match(match.captured(2)), colour = ink.match(match.captured(2));
            if (!found.hasMatch()) continue;
            ++grounds;
            INFO("theme " << themeKey(theme).toStdString() << ", " << match.captured(1).simplified().toStdString());
            CHECK(contrast(colour.hasMatch() ? QColor(colour.captured(1)) : text, QColor(found.captured(1))) >= kText);
        }
        CHECK(grounds > 5);
    }
    applyTheme(ThemeId::Light, 100);
}

TEST_CASE("lab: the colours of series stand out from the ground of every theme", "[lab]") {
    makeApplication(QDir::tempPath());
    for (const ThemeId theme : {ThemeId::Light, ThemeId::Dark, ThemeId::Projector})
        for (size_t series = 0; series < kSeriesColours; ++series) {
            INFO("theme " << themeKey(theme).toStdString() << ", series " << series);
            CHECK(contrast(seriesColour(series), figureTheme(theme).background) >= kGraphics);
        }
}
