#include "app/figures/drawing.h"

#include "app/figures/lines_figure.h"
#include "app/figures/matrix_figure.h"
#include "app/figures/patch_overlay_figure.h"
#include "app/figures/spacing.h"
#include "tests/support/catch.h"

using namespace attn;

TEST_CASE("drawing: numbers have a true minus sign, and files that of ASCII", "[figures]") {
    CHECK(formatNumber(-0.25, 2) == "−0.25");
    CHECK(formatNumber(-0.001, 2) == "0.00");
    CHECK(formatShort(-0.00123, 2) == "−0.0012");
    CHECK(formatShort(1e-6, 3) == "1e-06");
    CHECK(formatPercent(-0.0512) == "−5.1 %");
    CHECK(formatPercent(1, 0) == "100 %");
    CHECK(formatPercent(0) == "0.0 %");
    CHECK(formatPercent(0.0004) == "<0.1 %");
    CHECK(formatPercent(0.0006) == "0.1 %");
    CHECK(formatPercent(0.004, 0) == "<1 %");
    CHECK(formatMeasured(0.3124, 3) == "0.312");
    CHECK(formatMeasured(0.01, 3) == "0.010");
    CHECK(formatMeasured(0.004561, 3) == "0.00456");
    CHECK(formatMeasured(-3.14159e-5, 3) == "−3.14e-05");
    CHECK(formatMeasured(0, 3) == "0.000");
    CHECK(readNumber(formatNumber(-0.25, 2)) == -0.25);
    CHECK(readNumber("0.5") == 0.5);
    CHECK_FALSE(readNumber("−"));
    CHECK_FALSE(readNumber("5 %"));
    CHECK(csvCell("−5.1 %") == "\"-5.1 %\"");
    CHECK(csvCell("−") == "\"−\""); // a token
    CHECK(csvCell("a \"b\"") == "\"a \"\"b\"\"\"");
}

TEST_CASE("drawing: of a pair of names, both are cut where the room is small, and a short one leaves its room",
          "[figures]") {
    const QFont font = FigureTheme::light().smallFont();
    const QString words = pairLabel("understanding", "misunderstanding"), mixed = pairLabel("a", "misunderstanding");
    CHECK(fittedLabel(words, font, 1000) == words);
    const double width = 0.6 * textWidth(words, font);
    const QString cut = fittedLabel(words, font, width);
    CHECK(textWidth(cut, font) <= width + 1);
    CHECK(cut.startsWith("und"));
    CHECK(cut.section(" ← ", 1).startsWith("mis"));
    CHECK(cut.count(QChar(0x2026)) == 2);
    const QString other = fittedLabel(mixed, font, 0.8 * textWidth(mixed, font));
    CHECK(other.startsWith("a ← misu"));
    CHECK(fittedLabel("misunderstanding", font, 0.6 * textWidth("misunderstanding", font)).startsWith("mis"));
}

TEST_CASE("drawing: insets of figures lie on the grid of windows, at every size of text", "[figures]") {
    MatrixFigure matrix;
    matrix.title = "Scores";
    matrix.setMatrix(2, 2, {1, 2, 3, 4});
    LinesFigure lines;
    lines.title = "Norms";
    lines.lines = {{"length", {1, 2}}};
    PatchOverlayFigure overlay;
    overlay.title = "From a patch";
    overlay.image = QImage(16, 16, QImage::Format_RGB32);
    overlay.setValues(2, 2, {1, 2, 3, 4});
    const QRectF area(0, 0, 500, 400);
    for (const double size : {12.0, 13.0, 20.0}) {
        const FigureTheme theme = FigureTheme::light(size);
        CHECK(matrix.layout(area, theme).title.topLeft() == QPointF(spacing::kTight, spacing::kTight));
        CHECK(lines.layout(area, theme).title.topLeft() == QPointF(spacing::kTight, spacing::kTight));
        CHECK(overlay.layout(area, theme).title.topLeft() == QPointF(spacing::kGap, spacing::kGap));
        CHECK(matrix.layout(area, theme).bar.left() - matrix.layout(area, theme).plot.right() == spacing::kGap);
    }
}
