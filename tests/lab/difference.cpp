#include "app/figures/lens_answer.h"
#include "app/figures/token_label.h"
#include "app/lab/panels/attention_panel.h"
#include "app/lab/panels/text_panel.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/heads_grid.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_strip.h"
#include "tests/lab/lens_test.h"

using namespace attn;

// What the changes of a model change, in every view.

namespace {

constexpr const char* kPrompt = "the quick fox the qu";

float largest(const std::vector<float>& values) {
    float found = 0;
    for (const float value : values)
        if (std::abs(value) > found) found = std::abs(value);
    return found;
}

/// Reads a number as views show it, with a minus sign, which not every version of Qt reads.
double shownNumber(QString text) { return text.replace(QStringLiteral("−"), QStringLiteral("-")).toDouble(); }

} // namespace

TEST_CASE("lab: the arithmetic of a cell says whether the heatmap shows its number", "[lab]") {
    LabWindow lab("builtin:induction", kPrompt);
    lab.window().workbench().selectHead(1, 1);
    QTest::keyClick(&lab.window(), Qt::Key_3, Qt::ControlModifier);
    const auto& cell = lab.find<CellView>("attentionCell").figure();
    REQUIRE(lab.waitFor([&] { return cell.explanation && cell.isInHeatmap; }));
    CHECK(cell.aloneText().isEmpty());
    CHECK(cell.deviceText().startsWith("The heatmap shows"));
    lab.find<QComboBox>("attentionAggregate").setCurrentText("Mean");
    REQUIRE(lab.waitFor([&] { return cell.aggregate == HeadAggregate::Mean; }));
    CHECK(cell.aloneText() == "This is head L1 H1 alone; the heatmap shows the mean of the heads of its layer.");
    CHECK(cell.deviceText().startsWith("The run gives"));
    lab.find<QComboBox>("attentionAggregate").setCurrentText("One head");
    REQUIRE(lab.waitFor([&] { return cell.isInHeatmap; }));
    lab.find<QCheckBox>("attentionHideFirst").setChecked(true); // the other weights are scaled
    CHECK(lab.waitFor([&] { return !cell.isInHeatmap && cell.aloneText().isEmpty(); }));
}

TEST_CASE("lab: every view shows what a gate changes", "[lab]") {
    LabWindow lab("builtin:induction", kPrompt);
    const auto& grid = lab.find<ThumbnailGridView>("attentionGrid");
    const auto& heatmap = lab.find<HeatmapView>("attentionHeatmap");
    const auto& heads = lab.find<HeadsGrid>("headsGrid");
    const auto& remark = lab.find<QLabel>("attentionChange");
    auto& candidates = lab.find<QTreeView>("candidates");
    const auto newest = lab.snapshot().readoutRows->values;
    CHECK_FALSE(lab.action("showDifference").isEnabled());
    CHECK(remark.isHidden());
    CHECK_FALSE(heads.showsChange());
    CHECK(candidates.isColumnHidden(3));

    lab.find<QSlider>("gate").setValue(0); // of layer 0, head 0: the one that finds the previous token
    REQUIRE(lab.settle());
    QTest::keyClick(&lab.window(), Qt::Key_D, Qt::ControlModifier | Qt::ShiftModifier);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return grid.figure().before() != nullptr; }));
    CHECK(lab.find<QComboBox>("interventionsRun").currentText() == "Difference");
    CHECK(lab.snapshot().isChanged);
    CHECK_FALSE(remark.isHidden());
    CHECK(remark.text().contains("red is more"));
    CHECK(grid.figure().range() > 0.1f);
    REQUIRE(heads.showsChange());
    for (size_t i = 0; i < newest.size(); ++i)
        CHECK(heads.shown()[i] == Approx(lab.snapshot().readoutRows->values[i] - newest[i]).margin(1e-6));
    CHECK(largest(heads.shown()) > 0.1f);
    CHECK(lab.find<QLabel>("headsCaption").text().contains("Red:"));
    CHECK_FALSE(candidates.isColumnHidden(3));
    CHECK(candidates.model()->index(0, 3).data().toString().contains('%'));

    // One head, and one cell of it.
    lab.window().workbench().selectHead(1, 0);
    QTest::keyClick(&lab.window(), Qt::Key_2, Qt::ControlModifier);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return heatmap.figure().before != nullptr && heatmap.figure().tile->site == 1; }));
    const auto& tile = *heatmap.figure().tile;
    const auto& before = *heatmap.figure().before;
    const int last = tile.rows - 1;
    for (int key = 0; key < tile.columns; ++key)
        CHECK(heatmap.figure().valueAt({last, key}) == Approx(tile.at(last, key) - before.at(last, key)).margin(1e-6));
    CHECK(heatmap.figure().title.contains("difference in attention"));
    CHECK_FALSE(lab.find<QComboBox>("attentionScale").isEnabled());
    lab.window().workbench().selectHead(0, 0); // the gate of a head is after its pattern
    REQUIRE(lab.waitFor([&] { return remark.text().contains("Attention unchanged"); }));
    lab.window().workbench().selectHead(1, 0);
    REQUIRE(lab.waitFor([&] { return remark.text().contains("red is more"); }));
    QTest::keyClick(&lab.window(), Qt::Key_3, Qt::ControlModifier);
    REQUIRE(lab.settle());
    const auto& cell = lab.find<CellView>("attentionCell").figure();
    REQUIRE(lab.waitFor([&] { return cell.before != nullptr && cell.explanation != nullptr; }));
    CHECK(cell.before->query == cell.explanation->query);
    CHECK(cell.before->probability != Approx(cell.explanation->probability));
    CHECK(cell.deviceText().startsWith("The run gives")); // the heatmap shows the difference
    QTest::keyClick(&lab.window(), Qt::Key_1, Qt::ControlModifier);
    REQUIRE(lab.settle());

    // The whole of a head.
    lab.showPanel("profile");
    const auto& received = lab.find<LinesView>("profileReceived");
    REQUIRE(lab.waitFor([&] {
        return !received.figure().isEmpty() &&
               received.figure().lines.front().label == "difference in attention received";
    }));
    double sum = 0;
    for (const float value : received.figure().lines.front().values) sum += static_cast<double>(value);
    CHECK(sum == Approx(0).margin(1e-4)); // as much as was lost is found elsewhere
    CHECK(largest(received.figure().lines.front().values) > 0.1f);

    // A gate that is opened again, half and whole. The slider is of the head that is looked at, wherever it was chosen.
    CHECK(heads.selectedLayer() == 1);
    lab.window().workbench().selectHead(0, 0);
    CHECK(heads.selectedLayer() == 0);
    CHECK(lab.find<QSlider>("gate").value() == 0);
    lab.pause();
    lab.find<QSlider>("gate").setValue(50);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return heads.showsChange(); }));
    lab.act("undo");
    CHECK(lab.find<QSlider>("gate").value() == 0);
    REQUIRE(lab.waitFor([&] { return heads.showsChange(); }));
    lab.act("undo");
    CHECK(lab.find<QSlider>("gate").value() == 100);
    REQUIRE(lab.waitFor([&] { return !heads.showsChange(); })); // nothing is changed
    CHECK(remark.isHidden());
    for (int step = 0; step < 2; ++step) lab.act("redo");
    CHECK(lab.find<QSlider>("gate").value() == 50);
    REQUIRE(lab.waitFor([&] { return heads.showsChange(); }));
    CHECK(lab.find<QComboBox>("interventionsRun").currentText() == "Difference");

    // While it writes there is nothing to compare with.
    lab.window().bridge().post(GenerateCommand{.maxTokens = 100'000, .tokensPerSecond = 40});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().status.activity == Activity::Generating; }));
    REQUIRE(lab.waitFor([&] { return grid.figure().before() == nullptr; }));
    CHECK_FALSE(remark.isHidden());
    CHECK(remark.text().contains("stops writing"));
    lab.act("stop");
    REQUIRE(lab.waitFor([&] { return grid.figure().before() != nullptr; }));

    // Once more: the run with the changes; before them; and the reset.
    QTest::keyClick(&lab.window(), Qt::Key_D, Qt::ControlModifier | Qt::ShiftModifier);
    REQUIRE(lab.settle());
    CHECK(grid.figure().before() == nullptr);
    CHECK_FALSE(heads.showsChange());
    CHECK(candidates.isColumnHidden(3));
    CHECK(remark.isHidden());
    CHECK(lab.snapshot().isChanged);
    lab.press(lab.action("showDifference"));
    lab.act("holdEdits");
    CHECK_FALSE(lab.snapshot().isChanged);
    lab.act("showDifference");
    CHECK(lab.snapshot().isChanged);
    CHECK(lab.snapshot().changes->gate(0, 0) == 0.5f);
    REQUIRE(lab.waitFor([&] { return grid.figure().before() != nullptr; }));
    lab.act("resetEdits");
    CHECK(lab.find<QComboBox>("interventionsRun").currentText() == "Changed");
    CHECK(grid.figure().before() == nullptr);
    CHECK(remark.isHidden());
}

TEST_CASE("lab: losses and lenses and kinds of heads show what a gate changes", "[lab]") {
    LabWindow lab("builtin:induction", kPrompt);
    lab.showPanel("text");
    REQUIRE(lab.settle());
    const auto& summary = lab.find<QLabel>("textSummary");
    const auto& strip = lab.find<TokenStrip>("textTokens");
    REQUIRE(lab.waitFor([&] { return summary.text().startsWith("Perplexity"); }));
    const QString plain = summary.text();
    lab.closeGate(1, 0, 0.25f);
    REQUIRE(lab.settle());
    lab.act("showDifference");
    REQUIRE(lab.waitFor([&] { return summary.text().contains("original"); }));
    // The perplexity without the changes is that of the model as it was.
    const QString number = plain.section(' ', 1, 1);
    CHECK(summary.text().contains("original " + number));
    // Copying suffers: what was sure is less so. A shade is full at 8 nats.
    const auto& analyses = lab.snapshot().analyses;
    const auto& original = lab.snapshot().originalAnalyses;
    const auto lossOf = [](const auto& results) {
        return static_cast<const TokenScores&>(*results.at(TokenScoresAnalysis{}.key())).loss;
    };
    for (size_t token = 1; token < strip.shades().size(); ++token)
        CHECK(strip.shades()[token] == Approx((lossOf(analyses)[token] - lossOf(original)[token]) / 8).margin(1e-5));
    CHECK(*std::ranges::max_element(strip.shades()) > 0.1f);
    auto& shade = lab.find<QComboBox>("textShade");
    shade.setCurrentText("Attention of the head");
    lab.window().workbench().selectHead(1, 0);
    REQUIRE(lab.settle());
    CHECK(largest(strip.shades()) == Approx(0).margin(1e-6)); // the gate of a head is after its pattern

    lab.showPanel("lenses");
    auto& page = lab.find<QComboBox>("lensPage");
    const auto& view = *qobject_cast<LensAnswerView*>(lab.find<MatrixView>("lensMatrix").parentWidget());
    for (int at = 0; at < page.count(); ++at) {
        page.setCurrentIndex(at);
        const QString id = page.currentData().toString();
        CAPTURE(id.toStdString());
        if (id == "patching" || id == "head_patching") continue; // needs another text: below
        if (id == "spans") continue;                             // of which this model has none
        REQUIRE(lab.settle());
        if (view.answer().matrix.isEmpty() && view.answer().bars.isEmpty() && view.answer().rows.empty()) runLens(lab);
        const auto isThere = [&] {
            const LensAnswer& answer = view.answer();
            if (id == "circuits") return !answer.rows.empty();
            return answer.matrix.title.contains("changed − original") ||
                   answer.bars.title.contains("changed − original");
        };
        REQUIRE(lab.waitFor(isThere));
        if (id == "composition") // is told from weights, which no gate changes
            CHECK(view.answer().matrix.largest() == 1);
        if (id == "attribution") {
            REQUIRE(view.answer().columns.size() == 4);
            // The parts of the same logit: the two targets must be the same token.
            CHECK(view.answer().summary.count("logit of “") % 2 == 0);
            const QString target = view.answer().summary.section("“", 1, 1).section("”", 0, 0);
            CHECK(view.answer().summary.section("Original:", 1).contains("“" + target + "”"));
            for (const QStringList& row : view.answer().rows)
                CHECK(shownNumber(row[3]) == Approx(shownNumber(row[1]) - shownNumber(row[2])).margin(2e-4));
        }
    }

    lab.showPanel("kinds");
    auto& list = lab.find<QTreeWidget>("kindHeads");
    REQUIRE(lab.waitFor([&] { return list.topLevelItemCount() > 0; }));
    list.setCurrentItem(list.topLevelItem(0));
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("kindExplanation").text().contains("Original:"); }));
}

TEST_CASE("lens change: numbers are held against those of the same name", "[lab]") {
    LensAnswer after, before;
    after.summary = "now.";
    before.summary = "then.";
    after.matrix.title = before.matrix.title = "M";
    after.matrix.setMatrix(1, 2, {0.5f, 2});
    before.matrix.setMatrix(1, 2, {1, NAN});
    after.remarks = {"a", "same"};
    before.remarks = {"b", "same"};
    after.bars.lines = {{"x", {1, 2}}, {"only here", {5, 5}}};
    before.bars.lines = {{"x", {0.5f, 3}}};
    after.columns = before.columns = {"Part", "Adds"};
    after.rows = {{"MLP", "1.5"}, {"new", "1"}};
    before.rows = {{"embedding", "0"}, {"MLP", "−0.5"}};
    const LensAnswer change = changeOf(after, before);
    CHECK(change.summary == "Changed: now. Original: then.");
    CHECK(change.matrix.valueAt({0, 0}) == -0.5f);
    CHECK(std::isnan(change.matrix.valueAt({0, 1})));
    CHECK(change.matrix.kind == MatrixFigure::Kind::Signed);
    CHECK(change.remarks == std::vector<QString>{"changed: a; original: b", "same"});
    REQUIRE(change.bars.lines.size() == 1); // a difference and a number would not do beside each other
    CHECK(change.bars.lines[0].values == std::vector<float>{0.5f, -1});
    REQUIRE(change.rows.size() == 2);
    CHECK(change.rows[0] == QStringList{"MLP", "1.5", "−0.5", "2.0000"});
    CHECK(change.rows[1] == QStringList{"new", "1", "–", "–"});

    before.matrix.setMatrix(1, 1, {1}); // of another shape
    CHECK(changeOf(after, before).matrix.valueAt({0, 1}) == 2);
    CHECK(changeOf(after, after).summary == "now.");
}
