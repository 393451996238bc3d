#include "app/figures/arcs_figure.h"
#include "app/figures/drawing.h"
#include "app/lab/widgets/arcs_view.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_chips.h"
#include "app/lab/workbench/session_link.h"
#include "engine/inference/language_model.h"
#include "tests/lab/lab_window.h"
#include "tests/support/farthest.h"

// A model with an encoder and a decoder in the window.

using namespace attn;
using attn::test::farthest;

namespace {

constexpr int kCross = 4; ///< the site of cross-attention in a model of three layers and one
const std::string kModel = std::string(ATTN_TEST_DIR) + "/golden/t5_gated";

/// The words of a figure's axis, joined.
QString joined(const std::vector<QString>& labels) {
    QString text;
    for (const QString& label : labels) text += label + '|';
    return text;
}

} // namespace

TEST_CASE("two streams: the prompt is the source, and Run writes the target from it", "[lab]") {
    LabWindow lab(kModel.c_str(), "the cat is small.");
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "the cat is small.");
    const auto& first = *lab.snapshot().sequence;
    REQUIRE(first.source.size() == 6); // with the end of the text
    CHECK(first.source[1].text == " cat");
    REQUIRE(first.tokens.size() == 1); // the token that begins a target
    CHECK(lab.find<TokenChips>("promptTokens").count() == 6);

    lab.find<QSpinBox>("amount").setValue(4);
    lab.find<QPushButton>("run").click();
    REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->tokens.size() == 5; }));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->source.size() == 6);
    const std::string target = lab.snapshot().sequence->text;
    CHECK_FALSE(target.empty());

    lab.find<QPushButton>("reset").click(); // the written tokens go, the source stays
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->tokens.size() == 1);
    CHECK(lab.snapshot().sequence->prompt == "the cat is small.");
}

TEST_CASE("two streams: a heatmap of cross-attention has the target down and the source across", "[lab]") {
    LabWindow lab(kModel.c_str(), "the cat is small.");
    lab.find<QSpinBox>("amount").setValue(3);
    lab.find<QPushButton>("run").click();
    REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->tokens.size() == 4; }));
    REQUIRE(lab.settle());
    lab.action("attentionHead").trigger();
    lab.find<QSpinBox>("attentionLayer").setValue(kCross);
    lab.find<QSpinBox>("attentionHeadNumber").setValue(1);
    const HeatmapFigure& figure = lab.find<HeatmapView>("attentionHeatmap").figure();
    REQUIRE(lab.waitFor([&] { return figure.tile && figure.tile->site == kCross && figure.tile->head == 1; }));
    CHECK(figure.title.startsWith("Cross L0 H1"));
    CHECK(figure.queryCount == 4);
    CHECK(figure.keyCount == 6);
    CHECK(joined(figure.keyLabels()).contains("cat|"));
    CHECK_FALSE(joined(figure.queryLabels()).contains("cat|is"));

    // The engine gives the same numbers without the window.
    LanguageModel model(openModelSource(kModel), {});
    TextInput input;
    for (const TokenInfo& token : lab.snapshot().sequence->tokens) input.tokens.push_back(token.id);
    for (const TokenInfo& token : lab.snapshot().sequence->source) input.source.push_back(token.id);
    const auto pattern = model.capture(input, "decoder.0.cross_attn.hook_pattern").front(); // [H,T,S]
    REQUIRE(pattern.shape.extents() == std::vector<int64_t>{3, 4, 6});
    CHECK(farthest({pattern.values.begin() + 24, pattern.values.begin() + 48}, figure.tile->values) < 1e-5);
    CHECK_FALSE(figure.isMasked({0, 5})); // nothing of the source is hidden

    lab.find<QSpinBox>("attentionLayer").setValue(0); // of the encoder: the source both ways
    REQUIRE(lab.waitFor([&] { return figure.tile && figure.tile->site == 0; }));
    CHECK(figure.title.startsWith("Encoder L0 H1"));
    CHECK(figure.queryCount == 6);
    CHECK(joined(figure.queryLabels()) == joined(figure.keyLabels()));

    lab.find<QSpinBox>("attentionLayer").setValue(kCross);
    lab.find<QAbstractButton>("attentionAsArcs").click(); // lines from the target to the source
    const ArcsFigure& arcs = lab.find<ArcsView>("attentionArcs").figure();
    REQUIRE(lab.waitFor([&] { return arcs.labels.size() == 4; }));
    CHECK(arcs.keyLabels.size() == 6);
}

TEST_CASE("two streams: the grid names the three kinds of sites, and a cell is explained", "[lab]") {
    LabWindow lab(kModel.c_str(), "the red house.");
    const ThumbnailGridFigure& grid = lab.find<ThumbnailGridView>("attentionGrid").figure();
    lab.action("attentionAll").trigger();
    REQUIRE(lab.waitFor([&] { return !grid.isEmpty(); }));
    CHECK(joined(grid.siteLabels) == "Encoder L0|Encoder L1|Encoder L2|Decoder L0|Cross L0|");
    CHECK(grid.grid()->at(kCross, 0).rows == 1);
    CHECK(grid.grid()->at(kCross, 0).columns == static_cast<int>(lab.snapshot().sequence->source.size()));

    lab.find<QSpinBox>("attentionLayer").setValue(kCross);
    lab.window().workbench().selectCell(Cell{0, 2});
    lab.action("attentionCellLevel").trigger();
    REQUIRE(lab.waitFor([&] {
        const auto& cell = lab.snapshot().explanation;
        return cell && cell->site == kCross && cell->key == 2;
    }));
    const CellExplanation& cell = *lab.snapshot().explanation;
    CHECK_FALSE(cell.isMasked);
    CHECK(cell.probability == Approx(cell.displayed).margin(1e-5));
}

TEST_CASE("two streams: sessions, links and the list of changes name sites as the model does", "[lab]") {
    LabWindow lab(kModel.c_str(), "the cat is small.");
    Workbench& bench = lab.window().workbench();
    const Changes changes{.interventions = {{.hook = "decoder.0.cross_attn.hook_z", .head = 1}},
                          .patterns = {{.site = 0, .head = 2, .kind = PatternEdit::Kind::Uniform}},
                          .gates = {{{kCross, 0}, 0.5f}}};
    bench.setChanges(changes);
    bench.selectHead(kCross, 1);
    REQUIRE(lab.settle());
    CHECK(bench.removedHeads() == "Head Cross L0 H1 is removed.");
    lab.showPanel("interventions");
    const auto& list = lab.find<QTreeWidget>("interventionsList");
    REQUIRE(list.topLevelItemCount() == 3);
    CHECK(list.topLevelItem(0)->text(0) == "Cross L0 H1 removed");
    CHECK(list.topLevelItem(1)->text(0) == "pattern of Encoder L0 H2: uniform");
    CHECK(list.topLevelItem(2)->text(0).contains("Cross L0 H0"));

    const SessionDocument document = lab.window().document();
    const QByteArray json = sessionToJson(document);
    CHECK(json.contains("\"decoder.0.cross_attn\""));
    CHECK_FALSE(json.contains("\"blocks."));
    const QString link = sessionLink(document);
    bench.setChanges({});
    bench.selectHead(0, 0);
    lab.window().openLink(link);
    REQUIRE(lab.waitFor([&] { return bench.changes() == changes && !lab.window().isRestoring(); }));
    CHECK(bench.selection().site == kCross);
    CHECK(bench.selection().head == 1);

    // Files of before number the sites.
    lab.window().setView("attention", {{"level", "head"}, {"site", "blocks.3.attn"}, {"head", 2}});
    CHECK(bench.selection().site == 3);
    lab.window().setView(
        "interventions",
        {{"edits",
          QJsonObject{{"gates", QJsonArray{QJsonObject{{"site", "blocks.4.attn"}, {"head", 2}, {"gate", 0.25}}}}}}});
    CHECK(bench.changes() == Changes{.interventions = {}, .patterns = {}, .gates = {{{kCross, 2}, 0.25f}}});
}

TEST_CASE("two streams: heads of cross-attention have gates and changes of their own", "[lab]") {
    LabWindow lab(kModel.c_str(), "the cat is small.");
    Workbench& bench = lab.window().workbench();
    bench.selectHead(kCross, 1);
    REQUIRE(lab.settle());
    auto& gate = lab.find<QSlider>("gate");
    REQUIRE(gate.isEnabled());
    gate.setValue(0);
    REQUIRE(lab.settle());
    CHECK(bench.changes() == Changes{.interventions = {}, .patterns = {}, .gates = {{{kCross, 1}, 0.0f}}});
    bench.setChanges({});
    lab.showPanel("interventions");
    CHECK(lab.find<QSpinBox>("interventionLayer").text().contains("Cross L0"));
    lab.click("interventionAdd");
    REQUIRE(lab.settle());
    CHECK(lab.find<QTreeWidget>("interventionsList").topLevelItem(0)->text(0) == "Cross L0 H1 removed");
    CHECK_FALSE(lab.snapshot().runFailure);
}

TEST_CASE("two streams: the formed path stands beside the run", "[lab]") {
    LabWindow lab(kModel.c_str(), "the cat is small.");
    lab.press(lab.action("formedPath"));
    const auto& view = lab.find<LensAnswerView>("lensAnswer");
    REQUIRE(lab.waitFor([&] { return !view.answer().rows.empty(); }));
    CHECK(view.answer().summary.contains("Both predict"));
    for (const auto& row : view.answer().rows) {
        const auto logit = readNumber(row[1]), formed = readNumber(row[2]);
        REQUIRE((logit && formed));
        CHECK(*logit == Approx(*formed).margin(1e-3)); // of another order of summation
    }
}
