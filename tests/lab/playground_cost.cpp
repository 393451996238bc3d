#include "app/lab/widgets/cost_view.h"
#include "tests/lab/playground_test.h"

using namespace attn;

TEST_CASE("lab: the cost tab draws the formulas at once, and times when it is asked to measure", "[lab]") {
    PlaygroundWindow lab;
    showSpec(lab, "heads=multi_head(2), mask=causal & window(16)");
    auto& views = lab.find<QTabWidget>("playViews");
    auto* costs = lab.window().findChild<CostView*>();
    REQUIRE(costs);
    views.setCurrentWidget(costs);
    const auto figure = [&](int plot) -> const PlotFigure& {
        return static_cast<const FigureView<PlotFigure>&>(
                   lab.find<QWidget>(qPrintable(QStringLiteral("costPlot%1").arg(plot))))
            .figure();
    };
    REQUIRE(lab.waitFor([&] { return figure(1).lines.size() == 3 && figure(1).lines[0].points.size() == 9; }));
    CHECK(figure(1).lengths.back() == 16384);
    CHECK(figure(1).lines[0].label == "A: causal & window(16)");
    CHECK(figure(1).lines[1].label == "causal");
    CHECK(figure(1).lines[2].label == "linear, causal");
    CHECK(figure(1).lines[1].points.back().y() >
          20 * figure(1).lines[0].points.back().y()); // all before against a window of 16
    CHECK(figure(3).lines.empty());
    CHECK(lab.find<QLabel>("costLegend").text().contains("window(16)"));

    auto& run = lab.find<QPushButton>("measureCost");
    QTest::mouseClick(&run, Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return !figure(3).lines.empty() && figure(3).lines[0].points.size() >= 2; }));
    CHECK(figure(3).lines[0].points[0].y() > 0);
    if (run.text() == "Stop") QTest::mouseClick(&run, Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return run.text() == "Measure again"; }));
    CHECK(figure(1).lines.size() == 3);

    // Another attention has other costs.
    type(lab.find<QLineEdit>("specText"), "heads=multi_head(2), mask=full");
    REQUIRE(lab.waitFor(
        [&] { return lab.find<QLabel>("costLegend").text().count("window") == 0 && figure(3).lines.empty(); }));
}
