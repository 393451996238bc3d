#include "app/lab/shell/workspaces.h"
#include "app/lab/widgets/arcs_view.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "tests/lab/lab_window.h"

#include <QAbstractButton>

using namespace attn;

namespace {

/// The smallest rectangle around all that a view draws on its ground.
QRect drawnPart(QWidget& view) {
    const QImage image = view.grab().toImage().convertToFormat(QImage::Format_RGB32);
    const QRgb ground = image.pixel(image.width() - 1, image.height() - 1);
    QRect part;
    for (int y = 0; y < image.height(); ++y) {
        const auto* row = reinterpret_cast<const QRgb*>(image.constScanLine(y));
        const auto isDrawn = [ground](QRgb pixel) { return pixel != ground; };
        const auto* first = std::find_if(row, row + image.width(), isDrawn);
        if (first == row + image.width()) continue;
        const auto* last = row + image.width() - 1;
        while (!isDrawn(*last)) --last;
        part |= QRect(QPoint(static_cast<int>(first - row), y), QPoint(static_cast<int>(last - row), y));
    }
    return part;
}

double areaOf(const QSize& size) { return static_cast<double>(size.width()) * size.height(); }

void resizeTo(LabWindow& lab, QSize size) {
    lab.window().resize(size);
    REQUIRE(lab.waitFor([&] { return lab.window().size() == size; }, 5'000));
    lab.layOut();
}

struct Screen {
    QSize size;
    double least; ///< share of the window that one head takes
};

} // namespace

TEST_CASE("room: one head takes most of the screen, with few tokens and with many", "[lab][room]") {
    for (const char* prompt : {"The teacher", "The teacher gave the books to the students because",
                               "The teacher gave the books to the students because the school had bought too many of "
                               "them, and they were glad"}) {
        LabWindow lab("builtin:english", prompt);
        lab.act("workspace.inspect");
        auto& heatmap = lab.find<HeatmapView>("attentionHeatmap");
        for (const Screen& screen : {Screen{{1440, 900}, 0.50}, Screen{{1024, 700}, 0.40}}) {
            resizeTo(lab, screen.size);
            REQUIRE(lab.settle());
            const double share = areaOf(drawnPart(heatmap).size()) / areaOf(screen.size);
            UNSCOPED_INFO("one head at " << screen.size.width() << ": " << share);
            CAPTURE(prompt, screen.size.width(), share);
            CHECK(share >= screen.least);
            const QRectF cell = heatmap.figureLayout().cellRect({0, 0});
            CHECK(cell.width() <= 2.05 * cell.height());
            CHECK(cell.height() <= 2.05 * cell.width());
        }
    }
}

TEST_CASE("room: all heads fill their panel", "[lab][room]") {
    for (const char* model : {"builtin:english", "builtin:induction"}) {
        LabWindow lab(model);
        lab.act("workspace.write");
        auto& grid = lab.find<ThumbnailGridView>("attentionGrid");
        for (const QSize& size : {QSize(1440, 900), QSize(1024, 700)}) {
            resizeTo(lab, size);
            REQUIRE(lab.settle());
            const QSize room = grid.parentWidget()->size(), drawn = drawnPart(grid).size();
            const double across = static_cast<double>(drawn.width()) / room.width(),
                         down = static_cast<double>(drawn.height()) / room.height();
            CAPTURE(model, size.width(), across, down);
            CHECK(across >= 0.85);
            CHECK(down >= 0.85);
        }
    }
}

TEST_CASE("room: arcs reach from edge to edge of their panel", "[lab][room]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    lab.act("workspace.inspect");
    resizeTo(lab, {1440, 900});
    lab.find<QAbstractButton>("attentionAsArcs").click();
    REQUIRE(lab.settle());
    auto& arcs = lab.find<ArcsView>("attentionArcs");
    const QSize drawn = drawnPart(arcs).size();
    CHECK(drawn.width() >= 0.9 * arcs.width());
    CHECK(drawn.height() >= 0.8 * arcs.height());
}

TEST_CASE("room: words of figures grow with their panel, and are large for a projector", "[lab][room]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    lab.act("workspace.inspect");
    auto& heatmap = lab.find<HeatmapView>("attentionHeatmap");
    resizeTo(lab, {1024, 700});
    const double small = heatmap.shownTheme().size;
    resizeTo(lab, {1440, 900});
    CHECK(heatmap.shownTheme().size > small);
    CHECK(heatmap.theme().size <= small); // exports keep their size
    lab.action("themeProjector").trigger();
    for (const QSize& size : {QSize(1440, 900), QSize(1024, 700)}) {
        resizeTo(lab, size);
        CHECK(heatmap.shownTheme().smallFont().pixelSize() >= 18);
    }
    lab.action("themeLight").trigger();
}
