#include "app/figures/arcs_figure.h"
#include "app/figures/beam_figure.h"
#include "app/figures/drawing.h"
#include "app/figures/word_rows.h"
#include "app/lab/controls/pattern_editor.h"
#include "app/lab/widgets/arcs_view.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/pointed_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_chips.h"
#include "app/lab/widgets/token_strip.h"
#include "app/lab/workbench/session_link.h"
#include "engine/inference/language_model.h"
#include "tests/lab/lab_window.h"
#include "tests/support/farthest.h"

#include <QCheckBox>
#include <QFile>

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

/// Writes three tokens of a target.
void writeThree(LabWindow& lab) {
    lab.find<QSpinBox>("amount").setValue(3);
    lab.find<QPushButton>("run").click();
    REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->tokens.size() == 4; }));
    REQUIRE(lab.settle());
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
    CHECK(lab.snapshot().sequence->given.text == "the cat is small.");
}

TEST_CASE("two streams: a heatmap of cross-attention has the target down and the source across", "[lab]") {
    LabWindow lab(kModel.c_str(), "the cat is small.");
    writeThree(lab);
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
    const Changes changes{.valueChanges = {{.hook = "decoder.0.cross_attn.hook_z", .head = 1}},
                          .patterns = {{.site = 0, .head = 2, .kind = PatternChange::Kind::Uniform}},
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

    const SessionDocument document = lab.window().session().document();
    const QByteArray json = sessionToJson(document);
    CHECK(json.contains("\"decoder.0.cross_attn\""));
    CHECK_FALSE(json.contains("\"blocks."));
    const QString link = sessionLink(document);
    bench.setChanges({});
    bench.selectHead(0, 0);
    lab.window().files().openLink(link);
    REQUIRE(lab.waitFor([&] { return bench.changes() == changes && !lab.window().session().isRestoring(); }));
    CHECK(bench.selection().site == kCross);
    CHECK(bench.selection().head == 1);

    // Files of before number the sites.
    lab.window().panels().setView("attention", {{"level", "head"}, {"site", "blocks.3.attn"}, {"head", 2}});
    CHECK(bench.selection().site == 3);
    lab.window().panels().setView(
        "interventions",
        {{"edits",
          QJsonObject{{"gates", QJsonArray{QJsonObject{{"site", "blocks.4.attn"}, {"head", 2}, {"gate", 0.25}}}}}}});
    CHECK(bench.changes() == Changes{.valueChanges = {}, .patterns = {}, .gates = {{{kCross, 2}, 0.25f}}});
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
    CHECK(bench.changes() == Changes{.valueChanges = {}, .patterns = {}, .gates = {{{kCross, 1}, 0.0f}}});
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

TEST_CASE("two streams: both texts of cross-attention can be pointed at, painted and exported", "[lab]") {
    LabWindow lab(kModel.c_str(), "the cat is small.");
    Workbench& bench = lab.window().workbench();
    writeThree(lab);
    lab.action("attentionHead").trigger();
    bench.selectHead(kCross, 1);
    REQUIRE(lab.settle());

    // Words: a click on a word that looks keeps it as the query; those that are looked at are shaded.
    lab.find<QAbstractButton>("attentionAsText").click();
    auto& queries = lab.find<TokenStrip>("attentionQueries");
    auto& keys = lab.find<TokenStrip>("attentionTokens");
    REQUIRE(lab.waitFor([&] { return queries.isVisible() && queries.count() == 4 && keys.count() == 6; }));
    QTest::mouseClick(queries.viewport(), Qt::LeftButton, {}, queries.tokenRect(2).center());
    CHECK(bench.selection().row == 2);
    QTest::mouseClick(keys.viewport(), Qt::LeftButton, {}, keys.tokenRect(5).center());
    CHECK(bench.selection().row == 2);
    const HeatmapFigure& figure = lab.find<HeatmapView>("attentionHeatmap").figure();
    REQUIRE(lab.waitFor([&] { return figure.tile && figure.tile->site == kCross && keys.shades().size() == 6; }));
    for (int key = 0; key < 6; ++key)
        CHECK(keys.shades()[static_cast<size_t>(key)] == Approx(figure.valueAt({2, key})));
    bench.selectHead(0, 1); // of the encoder: one text
    REQUIRE(lab.settle());
    CHECK_FALSE(queries.isVisible());

    // The pattern of a cross head names both texts, and is painted.
    bench.selectHead(kCross, 1);
    bench.selectCell(Cell{1, 3});
    lab.showPanel("interventions");
    REQUIRE(lab.settle());
    const auto& matrix = lab.window().findChild<PatternEditor*>()->findChild<MatrixView*>()->figure();
    REQUIRE(lab.waitFor([&] { return matrix.rows() == 4 && matrix.columns() == 6; }));
    CHECK(joined(matrix.columnLabels).contains("cat|"));
    const auto& pin = lab.find<QPushButton>("interventionPin");
    CHECK(pin.text().contains(matrix.columnLabels[3]));
    lab.click("interventionPin");
    REQUIRE(lab.settle());
    CHECK_FALSE(lab.snapshot().runFailure);
    REQUIRE(lab.waitFor([&] { return matrix.rows() == 4 && matrix.valueAt({2, 3}) == 1; }));
    CHECK(matrix.valueAt({2, 1}) == 0);
    bench.setChanges({});
    REQUIRE(lab.settle());

    // The archive names the site and both texts.
    lab.showPanel("attention");
    lab.find<QAbstractButton>("attentionAsHeatmap").click();
    lab.find<HeatmapView>("attentionHeatmap").setFocus();
    const QString path = lab.folder() + "/cross.npz";
    lab.window().exports().exportFigure(path);
    REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
    QFile npz(path);
    REQUIRE(npz.open(QIODevice::ReadOnly));
    const QByteArray archive = npz.readAll();
    for (const char* array : {"tokens.npy", "source_tokens.npy", "site.npy", "layer.npy"})
        CHECK(archive.contains(array));
}

TEST_CASE("two streams: a beam search draws its tree, and a click shows the attention of a text", "[lab]") {
    LabWindow lab(kModel.c_str(), "the cat is small.");
    lab.showPanel("beams");
    CHECK(lab.find<QWidget>("beamsEmpty").isVisible());
    lab.find<QSpinBox>("beamWidth").setValue(2);
    lab.find<QSpinBox>("beamTokens").setValue(4);
    lab.click("beamStep");
    auto& tree = lab.find<PointedView>("beamTree");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().beams && tree.isVisible() && tree.figure()->items() > 3; }));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->tokens.size() == 2); // the start and one token
    const int afterOne = tree.figure()->items();
    lab.click("beamSearch");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().beams->isDone && tree.figure()->items() > afterOne; }));
    REQUIRE(lab.settle());
    const BeamFigure beam = dynamic_cast<const BeamFigure&>(*tree.figure());
    CHECK(beam.chosen == lab.snapshot().beams->finished.front()); // the best text is written
    CHECK(lab.find<QLabel>("beamHint").text().contains("texts finished"));

    const auto places = beam.layout(tree.rect(), tree.theme());
    const auto dropped = std::ranges::find(beam.nodes, BeamNode::Fate::Dropped, &BeamNode::fate) - beam.nodes.begin();
    const auto place = places.at(static_cast<size_t>(dropped));
    QTest::mouseClick(&tree, Qt::LeftButton, {}, place.center().toPoint());
    REQUIRE(lab.waitFor(
        [&] { return lab.snapshot().sequence->tokens.back().id == beam.nodes[static_cast<size_t>(dropped)].token; }));
    REQUIRE(lab.settle());
    CHECK(tree.figure()->chosen == static_cast<int>(dropped));
    CHECK(lab.snapshot().beams->isDone);

    const QString path = lab.folder() + "/beam.csv";
    tree.setFocus();
    lab.window().exports().exportFigure(path);
    REQUIRE(lab.waitFor([&] { return QFile(path).size() > 0; }));
}

TEST_CASE("two streams: whole words stand in place of their pieces, and cells still name tokens", "[lab]") {
    LabWindow lab(kModel.c_str(), "the houses were smaller.");
    Workbench& bench = lab.window().workbench();
    writeThree(lab);
    lab.action("attentionHead").trigger();
    bench.selectHead(0, 1); // of the encoder
    REQUIRE(lab.settle());
    const HeatmapFigure& figure = lab.find<HeatmapView>("attentionHeatmap").figure();
    const auto pieces = static_cast<int>(lab.snapshot().sequence->source.size());
    REQUIRE(lab.waitFor([&] { return figure.tile && figure.tile->site == 0 && figure.keyCount == pieces; }));
    const auto tokens = figure.tile;
    const WordRows words = wordRows(lab.snapshot().sequence->source);
    REQUIRE(words.count() < pieces);
    lab.find<QCheckBox>("attentionWholeWords").setChecked(true);
    REQUIRE(figure.keyCount == words.count());
    CHECK(joined(figure.keyLabels()).startsWith("the|houses|"));
    for (int row = 0; row < words.count(); ++row) {
        float sum = 0;
        for (int key = 0; key < words.count(); ++key) sum += figure.valueAt({row, key});
        CHECK(sum == Approx(1).margin(1e-4));
    }
    // A click on a word chooses the first of its pieces.
    auto& view = lab.find<HeatmapView>("attentionHeatmap");
    const auto at = view.figureLayout().cellRect({1, 2}).center().toPoint();
    QTest::mouseClick(&view, Qt::LeftButton, {}, at);
    REQUIRE(lab.settle());
    CHECK(bench.selection().cell == Cell{words.begins[1], words.begins[2]});
    CHECK(figure.selected == Cell{1, 2});
    lab.press(lab.action("undo"));
    lab.find<QCheckBox>("attentionWholeWords").setChecked(false);
    CHECK(figure.keyCount == pieces);
    CHECK(figure.tile == tokens);
}
