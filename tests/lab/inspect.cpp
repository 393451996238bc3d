#include "app/figures/map_figure.h"
#include "app/lab/panels/changes_panel.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/heads_grid.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/run_cells_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "app/lab/widgets/token_strip.h"
#include "tests/lab/lab_window.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

constexpr const char* kInspectPrompt = "the quick fox the qu";

QStringList firstColumn(const QTreeWidget& table) {
    QStringList texts;
    for (int row = 0; row < table.topLevelItemCount(); ++row) texts << table.topLevelItem(row)->text(0);
    return texts;
}

} // namespace

TEST_CASE("lab: a change is added, dragged, undone, saved and reset", "[lab]") {
    LabWindow lab("builtin:induction", kInspectPrompt);
    lab.showPanel("interventions");
    const std::vector<float> before = lab.snapshot().next->logits;
    CHECK(lab.find<QLabel>("interventionsTitle").text() == "No changes.");
    CHECK_FALSE(lab.find<QPushButton>("interventionsReset").isEnabled());
    lab.find<QSpinBox>("interventionLayer").setValue(1);
    lab.clickAndSettle("interventionAdd"); // removes head 0 of layer 1
    for (float logit : lab.snapshot().next->logits) CHECK(logit == Approx(0).margin(1e-6));
    CHECK(firstColumn(lab.find<QTreeWidget>("interventionsList")) == QStringList{"L1 H0 removed"});
    CHECK(lab.find<QLabel>("interventionsTitle").text() == "The model runs with 1 change.");
    const auto* effect = &lab.find<QTreeWidget>("interventionsEffect");
    REQUIRE(effect->topLevelItemCount() > 0);
    CHECK(effect->topLevelItem(0)->text(0) == "i");          // what came next before
    CHECK(effect->topLevelItem(0)->text(1).toDouble() == 0); // "99.9 %" is no number
    CHECK(effect->topLevelItem(0)->text(3).startsWith("−"));
    const QString file = lab.find<Panel>("interventions").numbers().csv();
    CHECK(file.contains(effect->topLevelItem(0)->text(3).replace("−", "-")));
    CHECK_FALSE(file.contains("−"));

    lab.clickAndSettle("interventionsWrite");
    CAPTURE(lab.find<QLabel>("interventionsWritten").text().toStdString());
    CHECK(lab.find<QLabel>("interventionsWritten").text().contains("ick quick"));

    // The slider speaks of the change that was added.
    lab.find<QSlider>("interventionAmount").setValue(0);
    REQUIRE(lab.settle());
    for (size_t i = 0; i < before.size(); ++i) CHECK(lab.snapshot().next->logits[i] == Approx(before[i]).margin(1e-4));
    lab.find<QSlider>("interventionAmount").setValue(50);
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().changes->valueChanges.front().amount == Approx(0.5f));

    const QString path = lab.folder() + "/edited.attnlab";
    lab.saveSession(path);
    while (lab.window().workbench().undoStack().canUndo()) lab.act("undo");
    CHECK(lab.snapshot().changes == nullptr);
    CHECK(lab.snapshot().next->logits == before);
    lab.window().files().openSession(path);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return lab.snapshot().changes != nullptr; }));
    CHECK(lab.snapshot().changes->valueChanges.front().amount == Approx(0.5f));
    lab.closeGate(0, 0, 0);
    REQUIRE(lab.settle());
    CHECK(lab.find<QLabel>("interventionsTitle").text() == "The model runs with 2 changes.");
    lab.act("resetEdits");
    CHECK_FALSE(lab.snapshot().isChanged);
    CHECK(lab.snapshot().next->logits == before);
    CHECK_FALSE(lab.action("resetEdits").isEnabled());
}

TEST_CASE("lab: the list of changes has the gates, and Remove opens one of them again", "[lab]") {
    LabWindow lab("builtin:induction", kInspectPrompt);
    lab.showPanel("interventions");
    auto& list = lab.find<QTreeWidget>("interventionsList");
    lab.closeGate(1, 0, 0);
    lab.closeGate(0, 1, 0.4f);
    REQUIRE(lab.settle());
    const QStringList both{"Head L0 H1 at 0.40", "Head L1 H0 removed"};
    CHECK(firstColumn(list) == both);
    CHECK(lab.find<QLabel>("interventionsTitle").text() == "The model runs with 2 changes.");
    list.setCurrentItem(list.topLevelItem(1));
    lab.clickAndSettle("interventionsRemove");
    CHECK(firstColumn(list) == both.first(1));
    CHECK(lab.snapshot().changes->gates == std::map<std::pair<int, int>, float>{{{0, 1}, 0.4f}});
    lab.act("undo");
    CHECK(firstColumn(list) == both);
    // A change to add is selected, and none of the gates.
    lab.clickAndSettle("interventionAdd");
    REQUIRE(list.currentItem());
    CHECK(list.indexOfTopLevelItem(list.currentItem()) == 0);
}

TEST_CASE("lab: every view shows the model before its changes, and with them again", "[lab]") {
    LabWindow lab("builtin:induction", kInspectPrompt);
    lab.showPanel("interventions");
    const std::vector<float> whole = lab.snapshot().next->logits;
    const auto& title = lab.find<QLabel>("interventionsTitle");
    auto& run = lab.find<QComboBox>("interventionsRun");
    CHECK_FALSE(run.isEnabled());
    const auto showBefore = [&] {
        run.setCurrentIndex(run.findText("Original"));
        REQUIRE(lab.settle());
    };
    const auto showsAfter = [&] { return run.currentText() == "Changed"; };
    lab.find<QSlider>("gate").setValue(0); // of layer 0, head 0
    lab.find<QSpinBox>("interventionLayer").setValue(1);
    lab.clickAndSettle("interventionAdd"); // removes head 0 of layer 1
    const std::vector<float> edited = lab.snapshot().next->logits;
    CHECK(edited != whole);
    const auto edits = *lab.snapshot().changes;

    showBefore();
    CHECK_FALSE(lab.snapshot().isChanged); // so that all views show the model as it was
    CHECK(lab.snapshot().next->logits == whole);
    CHECK(title.text() == "Showing the original run, without 2 changes.");
    const QString path = lab.folder() + "/held.attnlab";
    lab.saveSession(path); // with the changes

    QTest::keyClick(&lab.window(), Qt::Key_Backspace, Qt::ControlModifier | Qt::ShiftModifier);
    REQUIRE(lab.settle());
    CHECK(*lab.snapshot().changes == edits);
    CHECK(lab.snapshot().next->logits == edited);
    CHECK(showsAfter());

    // A change while they are held brings them back with it; a reset takes all away.
    showBefore();
    lab.find<QSpinBox>("interventionHead").setValue(1);
    lab.clickAndSettle("interventionAdd");
    CHECK(lab.snapshot().changes->valueChanges.size() == 2);
    CHECK(showsAfter());
    // So does undoing, of that change and of the gate.
    showBefore();
    lab.act("undo");
    CHECK(*lab.snapshot().changes == edits);
    CHECK(lab.snapshot().next->logits == edited);
    CHECK(showsAfter());
    showBefore();
    for (int step = 0; step < 2; ++step) lab.act("undo");
    CHECK_FALSE(lab.snapshot().isChanged);
    CHECK(lab.snapshot().next->logits == whole);
    for (int step = 0; step < 2; ++step) lab.act("redo");
    CHECK(lab.snapshot().next->logits == edited);
    // So does a gate that is moved; undoing it leads to what it was among the changes.
    lab.window().workbench().selectHead(0, 0); // the slider had followed the form
    showBefore();
    CHECK(lab.find<QSlider>("gate").value() == lab.find<QSlider>("gate").maximum());
    lab.find<QSlider>("gate").setValue(lab.find<QSlider>("gate").maximum() / 2);
    REQUIRE(lab.settle());
    CHECK(showsAfter());
    CHECK(lab.snapshot().changes->valueChanges == edits.valueChanges);
    CHECK(lab.snapshot().changes->gate(0, 0) == 0.5f);
    lab.act("undo");
    CHECK(lab.snapshot().changes->gate(0, 0) == 0);
    CHECK(lab.snapshot().next->logits == edited);
    showBefore();
    lab.clickAndSettle("interventionsReset");
    CHECK_FALSE(lab.snapshot().isChanged);
    CHECK(lab.snapshot().next->logits == whole);
    CHECK(title.text() == "No changes.");
    CHECK(showsAfter());

    lab.window().files().openSession(path); // it was saved with the original run on display
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().next->logits == whole);
    CHECK(title.text() == "Showing the original run, without 2 changes.");
    lab.act("holdEdits");
    CHECK(*lab.snapshot().changes == edits);
    CHECK(lab.snapshot().next->logits == edited);
}

TEST_CASE("lab: every view says that a head is removed, however it was removed", "[lab]") {
    LabWindow lab("builtin:induction", kInspectPrompt);
    Workbench& bench = lab.window().workbench();
    auto& heads = lab.find<HeadsGrid>("headsGrid");
    auto& heatmap = *lab.window().findChild<HeatmapView*>();
    auto& thumbnails = *lab.window().findChild<ThumbnailGridView*>();
    for (const char* panel : {"attention", "interventions", "cell", "next", "profile"}) lab.showPanel(panel);
    bench.selectHead(1, 1);
    bench.selectCell(Cell{.query = 5, .key = 2});
    const auto check = [&](bool isRemoved) {
        REQUIRE(lab.settle());
        INFO(isRemoved);
        CHECK(heads.gate(1, 1) == (isRemoved ? 0.0f : 1.0f));
        CHECK(heads.gate(1, 0) == 1);
        const auto& gate = lab.find<QSlider>("gate");
        CHECK(gate.value() == (isRemoved ? gate.minimum() : gate.maximum()));
        const bool isByChange = !bench.changes().valueChanges.empty() && isRemoved;
        CHECK(gate.isEnabled() == !isByChange);
        CHECK(gate.toolTip().contains("Changes panel") == isByChange);
        for (const char* slider : {"gate", "interventionGate"}) {
            const auto labels = lab.find<QSlider>(slider).parentWidget()->findChildren<QLabel*>();
            const auto says = [&](const char* text) { return std::ranges::count(labels, text, &QLabel::text) == 1; };
            CHECK((says("removed") || says("0.00")) == isRemoved);
            CHECK(says("1.00") != isRemoved);
        }
        const auto& kept = thumbnails.figure().kept;
        CHECK((kept.size() == 4 && kept[3] == 0) == isRemoved);
        CHECK(heatmap.figure().title.contains("(removed)") == isRemoved);
        const auto& cell = *lab.window().findChild<CellView*>(); // it is explained again after the run
        CHECK(lab.waitFor([&] { return cell.figure().condition.contains("removed") == isRemoved; }));
        CHECK(lab.find<QLabel>("profileTitle").text().contains("(removed)") == isRemoved);
        CHECK(lab.find<QLabel>("removedHeads").text() == (isRemoved ? "Head L1 H1 is removed." : ""));
    };
    check(false);
    bench.addChanges({{.hook = "blocks.1.attn.hook_z", .head = 1}});
    check(true);
    bench.showRun(ShownRun::Original);
    check(false);
    bench.showRun(ShownRun::Changed);
    QTest::mouseDClick(heads.viewport(), Qt::LeftButton, {}, heads.cellRect(1, 1).center()); // restores it
    check(false);
    CHECK(bench.changes().empty());
    bench.setGate(1, 1, 0);
    check(true);
    bench.setGate(1, 1, 0.4f);
    REQUIRE(lab.settle());
    CHECK(heatmap.figure().title.contains("(40 % kept)"));
}

TEST_CASE("lab: a whole layer is one change with one slider", "[lab]") {
    LabWindow lab("builtin:stories", "Lily had a dog. She loved her");
    lab.showPanel("interventions");
    const std::vector<float> before = lab.snapshot().next->logits;
    auto& where = lab.find<QComboBox>("interventionWhere");
    where.setCurrentIndex(where.findText("Whole layer"));
    lab.find<QSpinBox>("interventionLayer").setValue(1);
    lab.clickAndSettle("interventionAdd");
    const auto& list = lab.find<QTreeWidget>("interventionsList");
    CHECK(firstColumn(list) == QStringList{"layer 1 removed"});
    CHECK(lab.find<QLabel>("interventionsTitle").text() == "The model runs with 1 change.");
    REQUIRE(lab.snapshot().changes->valueChanges.size() == 2);
    CHECK(lab.snapshot().next->logits != before);
    lab.find<QSlider>("interventionAmount").setValue(40);
    REQUIRE(lab.settle());
    for (const ValueChange& each : lab.snapshot().changes->valueChanges) CHECK(each.amount == Approx(0.4f));
    CHECK(firstColumn(list) == QStringList{"40 % of layer 1 removed"});
    const QString path = lab.folder() + "/layer.attnlab";
    lab.saveSession(path);
    lab.press(lab.action("undo")); // the slider
    lab.act("undo");               // the change, as one step
    CHECK(lab.snapshot().changes == nullptr);
    CHECK(lab.snapshot().next->logits == before);
    lab.window().files().openSession(path);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return firstColumn(list) == QStringList{"40 % of layer 1 removed"}; }));
    lab.clickAndSettle("interventionsRemove");
    CHECK(lab.snapshot().changes == nullptr);
}

TEST_CASE("lab: a value is dragged from another text's cell to one of the prompt", "[lab]") {
    LabWindow lab("builtin:stories", "Lily had a dog. She loved her");
    lab.showPanel("interventions");
    const std::vector<float> before = lab.snapshot().next->logits;
    auto& cells = lab.find<RunCellsView>("interventionCells");
    auto& where = lab.find<QComboBox>("interventionWhere");
    where.setCurrentIndex(where.findText("Residual stream before layer"));
    auto& kind = lab.find<QComboBox>("interventionKind");
    kind.setCurrentIndex(static_cast<int>(ValueChange::Kind::Patch));
    CHECK_FALSE(cells.isVisible());
    lab.find<QLineEdit>("interventionText").setText("Lily had a cat. She loved her");
    REQUIRE(lab.waitFor([&] { return cells.isVisible() && cells.tokenCount(RunCellsView::Other) > 0; }));
    CHECK(cells.tokenCount(RunCellsView::Prompt) == static_cast<int>(lab.snapshot().sequence->tokens.size()));
    CHECK(cells.rowCount() == lab.snapshot().model->layers + 1);
    CHECK_FALSE(cells.accessibleName().isEmpty());
    const auto at = [&](RunCellsView::Run run, int row, int token) {
        return cells.cellRect({run, row, token}).center().toPoint();
    };
    const auto drag = [&](const QPoint& from, const QPoint& to) {
        QTest::mousePress(&cells, Qt::LeftButton, {}, from);
        hover(cells, (from + to) / 2, Qt::LeftButton);
        hover(cells, to, Qt::LeftButton);
        QTest::mouseRelease(&cells, Qt::LeftButton, {}, to);
    };
    lab.layOut();
    drag(at(RunCellsView::Other, 1, 4), at(RunCellsView::Prompt, 2, 4)); // another row is refused
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().changes == nullptr);
    drag(at(RunCellsView::Other, 1, 4), at(RunCellsView::Prompt, 1, 3));
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().changes);
    CHECK(lab.snapshot().changes->valueChanges == std::vector<ValueChange>{{.kind = ValueChange::Kind::Patch,
                                                                            .hook = "blocks.0.hook_resid_pre",
                                                                            .position = 3,
                                                                            .text = "Lily had a cat. She loved her",
                                                                            .textPosition = 4}});
    CHECK(lab.snapshot().next->logits != before);
    CHECK(cells.moves() == std::vector<RunCellsView::Move>{{1, 4, 3}});
    drag(at(RunCellsView::Other, 1, 2), at(RunCellsView::Prompt, 1, 3)); // takes the other's place
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().changes->valueChanges.size() == 1);
    CHECK(lab.snapshot().changes->valueChanges.front().textPosition == 2);
    lab.press(lab.action("undo"));
    lab.act("undo");
    CHECK(lab.snapshot().changes == nullptr);
    CHECK(cells.moves().empty());

    // By keys: the embedding of the other text's third token to the prompt's fifth.
    cells.setFocus();
    QTest::keyClick(&cells, Qt::Key_Escape);
    for (int i = 0; i < 40; ++i) QTest::keyClick(&cells, Qt::Key_Up);
    for (int i = 0; i < 40; ++i) QTest::keyClick(&cells, Qt::Key_Left);
    for (int i = 0; i < 2; ++i) QTest::keyClick(&cells, Qt::Key_Right);
    CHECK(cells.accessibleDescription().startsWith("The other text: embedding, token 2 “"));
    QTest::keyClick(&cells, Qt::Key_Return);
    CHECK(cells.accessibleDescription().contains("of the other text. The prompt: embedding, token 2 “"));
    lab.forget();
    QTest::keyClick(&cells, Qt::Key_Escape); // lets go, and stops nothing
    CHECK(cells.accessibleDescription().startsWith("The other text: embedding, token 2 “"));
    CHECK(lab.postedOf<StopCommand>().empty());
    QTest::keyClick(&cells, Qt::Key_Return);
    for (int i = 0; i < 2; ++i) QTest::keyClick(&cells, Qt::Key_Right);
    QTest::keyClick(&cells, Qt::Key_Return);
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().changes);
    CHECK(lab.snapshot().changes->valueChanges.front().hook == "hook_embed");
    CHECK(lab.snapshot().changes->valueChanges.front().position == 4);
    CHECK(lab.snapshot().changes->valueChanges.front().textPosition == 2);
    CHECK(lab.snapshot().next->logits != before);
    kind.setCurrentIndex(0);
    CHECK_FALSE(cells.isVisible());
}

TEST_CASE("lab: a pattern is pinned, levelled and painted, and the model runs on it", "[lab]") {
    LabWindow lab("builtin:induction", kInspectPrompt);
    lab.showPanel("interventions");
    lab.find<QSpinBox>("interventionLayer").setValue(1);
    REQUIRE(lab.settle());
    auto& view = lab.find<MatrixView>("interventionPattern");
    REQUIRE(lab.waitFor([&] { return !view.figure().isEmpty(); }));
    auto& pin = lab.find<QPushButton>("interventionPin");
    CHECK(pin.text() == "Pin to token 0 “t”");
    lab.find<QComboBox>("interventionToken").setCurrentIndex(1 + 4);
    CHECK(pin.text() == "Pin to token 4 “q”");
    CHECK(lab.find<QLabel>("interventionBrushAmount").text() == "1.00");
    lab.clickAndSettle("interventionPin");
    CHECK(view.figure().valueAt({10, 4}) == 1);
    const auto said = std::max_element(lab.snapshot().next->logits.begin(), lab.snapshot().next->logits.end()) -
                      lab.snapshot().next->logits.begin();
    CHECK(said == lab.snapshot().sequence->tokens[4].id); // it copies the letter that it is pinned to
    lab.clickAndSettle("interventionUniform");
    CHECK(view.figure().valueAt({9, 3}) == Approx(0.1f));
    lab.clickAndSettle("interventionOwn");
    CHECK(lab.snapshot().changes == nullptr);

    // By the pointer: the row's last cell, all of its weight.
    const int last = static_cast<int>(lab.snapshot().sequence->tokens.size()) - 1;
    const QRectF cell = view.figureLayout().cellRect({last, 2});
    QTest::mouseClick(&view, Qt::LeftButton, {}, cell.center().toPoint());
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().changes);
    CHECK(lab.snapshot().changes->patterns.front().rows.at(last)[2] == Approx(1));
    CHECK(view.figure().valueAt({last, 2}) == Approx(1));
    const auto now = std::max_element(lab.snapshot().next->logits.begin(), lab.snapshot().next->logits.end()) -
                     lab.snapshot().next->logits.begin();
    CHECK(now == lab.snapshot().sequence->tokens[2].id);
    lab.act("undo");
    CHECK(lab.snapshot().changes == nullptr);
}

TEST_CASE("lab: a text is scored by token and by word", "[lab]") {
    LabWindow lab("builtin:stories", "Lily had a dog.");
    lab.showPanel("text");
    lab.click("textPrompt");
    auto& strip = lab.find<TokenStrip>("textTokens");
    REQUIRE(lab.waitFor([&] { return strip.count() > 0; }));
    CHECK(strip.count() == static_cast<int>(lab.snapshot().sequence->tokens.size()));
    const int tokens = strip.count();
    QTest::mouseClick(strip.viewport(), Qt::LeftButton, {}, strip.tokenRect(tokens - 1).center());
    CHECK(lab.find<QLabel>("textReading").text().contains("probability"));
    CHECK(lab.find<QLabel>("textLegend").text() == "No colour: a loss of 0. Full colour: a loss of 8 nats or more.");
    lab.click("textScore"); // without a text
    CHECK(lab.find<QLabel>("textSummary").text().startsWith("There is no text to score."));
    CHECK(lab.find<QTreeWidget>("textAlternatives").topLevelItemCount() == 5);
    lab.find<QComboBox>("textShade").setCurrentIndex(3);
    CHECK(strip.shades().size() == static_cast<size_t>(tokens));
    double sum = 0;
    for (float share : strip.shades()) sum += static_cast<double>(share);
    CHECK(sum == Approx(1).margin(0.01)); // a row of attention
    lab.find<QPlainTextEdit>("scoredText").setPlainText("Tom was happy. Tom was very very happy because Lily smiled.");
    lab.click("textScore");
    REQUIRE(lab.waitFor([&] { return strip.count() > tokens; }));
    CHECK(lab.find<QLabel>("textSummary").text().startsWith("Perplexity "));
    const int pieces = strip.count();
    lab.find<QComboBox>("textShade").setCurrentIndex(0);
    lab.find<QCheckBox>("textWords").click();
    CHECK(strip.count() <= pieces);
    lab.find<QCheckBox>("textWords").click();
    CHECK(strip.count() == pieces);
}

TEST_CASE("lab: a click on a cell opens its arithmetic beside the heatmap", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("workspace.inspect");
    auto& heatmap = lab.find<HeatmapView>("attentionHeatmap");
    REQUIRE(lab.waitFor([&] { return !heatmap.figure().isEmpty(); }));
    lab.layOut();
    const int wide = heatmap.width();
    QTest::mouseClick(&heatmap, Qt::LeftButton, {}, heatmap.figureLayout().cellRect({4, 2}).center().toPoint());
    REQUIRE(lab.settle());
    auto& cell = lab.find<QWidget>("attentionCell");
    REQUIRE(lab.waitFor([&] { return cell.isVisible() && lab.snapshot().explanation; }));
    CHECK(heatmap.isVisible());
    CHECK(lab.waitFor([&] { return heatmap.width() < wide - 150; }, 5'000)); // it has slid in
    CHECK(lab.snapshot().explanation->query == 4);
    CHECK(lab.snapshot().explanation->key == 2);
    QTest::mouseClick(&lab.find<QToolButton>("slidingColumnClose"), Qt::LeftButton);
    CHECK(lab.waitFor([&] { return !cell.isVisible() && heatmap.width() == wide; }, 5'000));
}

TEST_CASE("lab: Esc closes the arithmetic of a cell, and only then stops the model", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.window().workbench().selectCell(Cell{4, 2});
    lab.act("attentionCellLevel");
    const auto level = [&] { return lab.window().panels().view("attention")["level"]; };
    REQUIRE(level() == "cell");
    lab.window().bridge().post(GenerateCommand{.maxTokens = 1000, .tokensPerSecond = 5});
    const auto isWriting = [&] { return lab.snapshot().status.activity == Activity::Generating; };
    REQUIRE(lab.waitFor(isWriting));
    auto& prompt = lab.find<QPlainTextEdit>("prompt"); // wherever the keyboard is
    prompt.setFocus();
    QTest::keyClick(&prompt, Qt::Key_Escape);
    CHECK(level() == "head");
    QTest::qWait(100);
    CHECK(isWriting());
    QTest::keyClick(&prompt, Qt::Key_Escape);
    CHECK(lab.waitFor([&] { return !isWriting(); }));
    CHECK(level() == "head");
}
