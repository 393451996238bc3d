#include "app/figures/typeface.h"

#include "app/figures/export_figure.h"
#include "app/figures/figure_theme.h"
#include "app/figures/plot_figure.h"
#include "tests/support/catch.h"

#include <QFontInfo>
#include <QFontMetricsF>
#include <QGuiApplication>

using namespace attn;

TEST_CASE("typeface: figures use the bundled font, in each of its weights", "[figures]") {
    CHECK(QFontInfo(QGuiApplication::font()).family() == "Attention Lab Sans");
    for (const QFont::Weight weight : {QFont::Normal, QFont::Medium, QFont::DemiBold, QFont::Bold}) {
        QFont font = FigureTheme::light().textFont();
        font.setWeight(weight);
        INFO("weight " << weight);
        CHECK(QFontInfo(font).family() == "Attention Lab Sans");
        CHECK(QFontInfo(font).weight() == weight);
    }
}

TEST_CASE("typeface: numbers of as many digits are equally wide", "[figures]") {
    for (const double size : {9.0, 10.0, 12.0, 15.0, 18.0, 31.0})
        for (const QFont::Weight weight : {QFont::Normal, QFont::Medium, QFont::DemiBold, QFont::Bold}) {
            QFont font = FigureTheme::light(size).textFont();
            font.setWeight(weight);
            const QFontMetricsF metrics(font);
            INFO("size " << size << ", weight " << weight);
            for (const char digit : std::string("0123456789")) {
                INFO("digit " << digit);
                CHECK(metrics.horizontalAdvance(QLatin1Char(digit)) == metrics.horizontalAdvance('0'));
                // Kerning beside a point, a sign or another digit must not undo it.
                for (const char* text : {"0.%1%1", "%1.00", "−%1.%1", "%1%", "1%17%1"}) {
                    const QString form = QString::fromUtf8(text);
                    CHECK(metrics.horizontalAdvance(form.arg(QLatin1Char(digit))) ==
                          metrics.horizontalAdvance(form.arg(QLatin1Char('0'))));
                }
            }
        }
}

TEST_CASE("typeface: text is drawn letter by letter", "[figures]") {
    const QFontMetricsF metrics(FigureTheme::light(20).textFont());
    // An arrow or a multiplication sign in the place of these would be a glyph of another width.
    CHECK(metrics.horizontalAdvance("->") > 0.9 * (metrics.horizontalAdvance('-') + metrics.horizontalAdvance('>')));
    CHECK(metrics.horizontalAdvance("2x2") ==
          Approx(2 * metrics.horizontalAdvance('2') + metrics.horizontalAdvance('x')).epsilon(0.05)); // kerning
}

TEST_CASE("typeface: figures have the text sizes of windows", "[figures]") {
    for (const FigureTheme& theme : {FigureTheme::light(20), FigureTheme::dark(20), FigureTheme::projector(20)}) {
        CHECK(theme.textFont().pixelSize() == 20);
        CHECK(theme.smallFont().pixelSize() == 20 * textRatio(TextSize::Caption));
        CHECK(theme.titleFont().pixelSize() == 20 * textRatio(TextSize::Title));
        CHECK(theme.titleFont().weight() == QFont::DemiBold);
        CHECK(theme.textFont().weight() == theme.font.weight());
    }
    CHECK(textRatio(TextSize::Body) == 1);
    CHECK(textRatio(TextSize::Headline) > textRatio(TextSize::Title));
}

TEST_CASE("typeface: an SVG names substitutes for readers without the bundled font", "[figures]") {
    PlotFigure figure;
    figure.title = "Loss";
    const QByteArray svg = svgOf(figure, FigureTheme::light(), QSize(300, 200));
    CHECK(svg.contains("font-family=\"Attention Lab Sans, Inter, Helvetica, Arial, sans-serif\""));
    CHECK_FALSE(svg.contains("font-family=\"Attention Lab Sans\""));
}
