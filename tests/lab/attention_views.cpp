#include "app/lab/panels/attention_panel.h"
#include "app/lab/widgets/arcs_view.h"
#include "app/lab/widgets/token_strip.h"
#include "tests/lab/lab_window.h"
#include "tests/support/hover.h"

using namespace attn;

TEST_CASE("lab: words and the first cell are those of the row from which the model predicts", "[lab]") {
    LabWindow lab("builtin:masked", "It was the first [MASK] of spring.");
    lab.act("workspace.inspect");
    auto& strip = lab.find<TokenStrip>("attentionTokens");
    QTest::mouseClick(&lab.find<QToolButton>("attentionAsText"), Qt::LeftButton);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return lab.snapshot().detail && !strip.shades().empty(); }));
    CHECK(lab.find<QLabel>("attentionWordsTitle").text().endsWith(QString::fromUtf8("query “[MASK]”, token 5")));
    const PatternTile& tile = *lab.snapshot().detail;
    const auto row = std::span(tile.values).subspan(static_cast<size_t>(5 * tile.columns), strip.shades().size());
    CHECK(std::ranges::equal(strip.shades(), row));
    lab.act("attentionCellLevel");
    const auto strongest = static_cast<int>(std::ranges::max_element(row) - row.begin());
    CHECK(lab.window().workbench().selection().cell == Cell{5, strongest});
}

TEST_CASE("lab: one switch shows a head as a heatmap, as text and as arcs", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("workspace.inspect");
    auto& arcs = lab.find<ArcsView>("attentionArcs");
    auto& strip = lab.find<TokenStrip>("attentionTokens");
    QTest::mouseClick(&lab.find<QToolButton>("attentionAsText"), Qt::LeftButton);
    REQUIRE(lab.settle());
    CHECK(strip.isVisible());
    const auto shaded = [&] { return strip.shades().size() == 6; }; // by the newest token at first
    CHECK(lab.waitFor(shaded));
    CHECK(lab.find<QLabel>("attentionWordsTitle").text() == "L0 H0 · query “c”, token 5");
    CHECK(lab.find<QLabel>("attentionWordsMeaning").text().contains("attention weight"));
    QTest::mouseClick(strip.viewport(), Qt::LeftButton, {}, strip.tokenRect(1).center());
    CHECK(lab.waitFor([&] { return lab.find<QLabel>("attentionWordsTitle").text().endsWith("query “b”, token 1"); }));
    QTest::mouseClick(strip.viewport(), Qt::LeftButton, {}, strip.tokenRect(1).center());
    QTest::mouseClick(&lab.find<QToolButton>("attentionAsArcs"), Qt::LeftButton);
    REQUIRE(lab.settle());
    CHECK(arcs.isVisible());
    REQUIRE(lab.waitFor([&] { return arcs.figure().heads.size() == 1; }));
    const auto line = [&](int query, int key) {
        const auto& labels = arcs.figure().labels;
        return QStringLiteral("0,\"%1 %2\",\"%3 %4\",")
            .arg(query)
            .arg(labels.at(static_cast<size_t>(query)))
            .arg(key)
            .arg(labels.at(static_cast<size_t>(key)));
    };
    INFO(arcs.figure().csv().toStdString());
    for (int key = 0; key < 6; ++key) // every line that can be seen, and no other
        CHECK(arcs.figure().csv().contains(line(5, key)) == (lab.snapshot().detail->at(5, key) >= 0.02f));
    lab.find<QCheckBox>("attentionArcsOfLayer").click();
    CHECK(lab.waitFor([&] { return arcs.figure().heads.size() == 2; }));
    // The word under the pointer shows its lines alone.
    const auto at = arcs.figureLayout();
    hover(arcs, QPoint(static_cast<int>(at.queryEdge) - 10, static_cast<int>(at.top + 5.5 * at.step)));
    CHECK(lab.waitFor([&] { return arcs.figure().query == 5; }));
}

TEST_CASE("lab: while all heads are shown no view of one head is chosen, and a click on any shows it", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("workspace.inspect");
    const auto& panel = lab.find<AttentionPanel>("attention");
    const std::vector<const char*> views{"attentionAsHeatmap", "attentionAsText", "attentionAsArcs"};
    const auto isChosen = [&](const char* view) { return lab.find<QToolButton>(view).isChecked(); };
    for (const char* view : views)
        for (int time = 0; time < 2; ++time) { // the second time it is the same view
            CAPTURE(view, time);
            QTest::mouseClick(&lab.find<QToolButton>("attentionAll"), Qt::LeftButton);
            REQUIRE(panel.level() == AttentionLevel::AllHeads);
            for (const char* each : views) CHECK_FALSE(isChosen(each));
            QTest::mouseClick(&lab.find<QToolButton>(view), Qt::LeftButton);
            CHECK(panel.level() == AttentionLevel::OneHead);
            for (const char* each : views) CHECK(isChosen(each) == (each == view));
        }
    CHECK(panel.look().picture == AttentionPicture::Arcs);
    CHECK(lab.window().workbench().undoStack().undoText() == "choosing a view");
}
