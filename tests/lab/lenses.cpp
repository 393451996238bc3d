#include "app/figures/head_lenses.h"
#include "app/figures/lens_pages.h"
#include "app/figures/map_figure.h"
#include "app/figures/token_label.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "engine/analysis/head_circuits.h"
#include "tests/lab/lens_test.h"
#include "tests/lab/training_test.h"

using namespace attn;

TEST_CASE("lens: small scores of circuits keep their digits", "[lab]") {
    HeadCircuits circuits;
    circuits.tokens = {0};
    circuits.reads = {.choices = 2, .ids = {0, 1}, .values = {1.25f, 0.00123f}};
    const ModelInfo model{.tokenTexts = {"a", "b"}};
    CHECK(showCircuits(circuits, {.model = model}).rows[0][1] == "“a” 1.25  “b” 0.00123");
}

TEST_CASE("lab: every lens answers", "[lab]") {
    LabWindow lab("builtin:stories", "Lily had a dog. She loved her");
    lab.showPanel("lenses");
    auto& pages = lab.find<QComboBox>("lensPage");
    const std::span<const LensPage> known = lensPages();
    CHECK(pages.count() == static_cast<int>(known.size()));
    lab.find<QLineEdit>("lensText").setText("Lily had a cat. She loved her");
    for (int page = 0; page < pages.count(); ++page) {
        INFO(pages.itemText(page).toStdString());
        pages.setCurrentIndex(page);
        if (!known[static_cast<size_t>(page)].isQuick) runLens(lab);
        if (pages.currentData() == "spans") {
            REQUIRE(lensRefuses(lab, kNoSpans));
            continue;
        }
        REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("lensSummary").isVisible(); }));
        CHECK_FALSE(lab.snapshot().failure);
        CHECK(lab.find<QLabel>("lensExplanation").text() == known[static_cast<size_t>(page)].explanation); // not old
        if (pages.currentData() == "logit") { // the last layer's prediction at the last token is the model's
            const std::vector<QString>& words = lab.find<MatrixView>("lensMatrix").figure().words;
            const auto& next = *lab.snapshot().next;
            const auto best = std::ranges::max_element(next.logits) - next.logits.begin();
            REQUIRE_FALSE(words.empty());
            CHECK(words.back() ==
                  visibleText(QString::fromStdString(lab.snapshot().model->tokenTexts[static_cast<size_t>(best)])));
        }
        if (pages.currentData() == "circuits")
            CHECK(lab.find<QLabel>("lensSummary").text().contains("embeddings alone, without the layers before"));
        const bool hasFigure = lab.find<MatrixView>("lensMatrix").isVisible() ||
                               lab.find<LinesView>("lensBars").isVisible() ||
                               lab.find<QTreeWidget>("lensTable").isVisible();
        CHECK(hasFigure);
    }
    // The last one was patching: where the dog became a cat, the stream before the first layer carries all of it.
    const MatrixFigure& figure = lab.find<MatrixView>("lensMatrix").figure();
    float largest = 0;
    for (int column = 0; column < figure.columns(); ++column) largest = std::max(largest, figure.valueAt({0, column}));
    CHECK(largest == Approx(1).margin(0.02));
    auto& view = lab.find<MatrixView>("lensMatrix");
    lab.layOut();
    const QPoint cell = view.figureLayout().cellRect({0, 4}).center().toPoint();
    QHelpEvent help(QEvent::ToolTip, cell, view.mapToGlobal(cell));
    QApplication::sendEvent(&view, &help);
    CHECK(QToolTip::text() == readingOf(figure, {0, 4}));
    QTest::mouseClick(&view, Qt::LeftButton, {}, cell);
    QTest::mouseDClick(&view, Qt::LeftButton, {}, cell);
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().changes);
    CHECK(lab.snapshot().changes->valueChanges.front().hook == "blocks.0.hook_resid_pre");
    CHECK(lab.snapshot().changes->valueChanges.front().position == 4);
    lab.act("resetEdits");
    lab.showPanel("lenses");
    lab.window().bridge().post(SetPromptCommand{{.text = "Lily had a dog."}});
    REQUIRE(lab.settle());
    CHECK(lab.find<QLabel>("lensExplanation").text().contains("previous text or model"));
    pages.setCurrentIndex(pages.findData("attribution"));
    const auto& summary = lab.find<QLabel>("lensSummary");
    lab.find<QLineEdit>("lensTarget").setText("no such token");
    runLens(lab);
    REQUIRE(lab.settle());
    CHECK_FALSE(lab.snapshot().failure);
    CHECK(summary.text().startsWith("“no such token” is no token or class of this model."));
    CHECK(summary.text().size() > 120); // the answer follows
    lab.find<QLineEdit>("lensTarget").clear();
    runLens(lab);
    REQUIRE(lab.settle());
    CHECK_FALSE(summary.text().contains("is no token"));
    lab.find<QLineEdit>("lensAgainst").setText("no such token");
    runLens(lab);
    REQUIRE(lab.settle());
    CHECK(summary.text().startsWith("“no such token” is no token or class of this model. Nothing is subtracted."));
}

TEST_CASE("lab: lenses follow a source and a target; two say that they need one stack", "[lab]") {
    LabWindow lab("builtin:numbers-de", "three hundred twelve");
    lab.find<QSpinBox>("amount").setValue(1);
    lab.clickAndSettle("run");
    lab.showPanel("lenses");
    auto& pages = lab.find<QComboBox>("lensPage");
    lab.find<QLineEdit>("lensText").setText("four hundred twelve");
    const std::span<const LensPage> known = lensPages();
    const auto& matrix = lab.find<MatrixView>("lensMatrix");
    for (int page = 0; page < pages.count(); ++page) {
        const LensPage& lens = known[static_cast<size_t>(page)];
        INFO(lens.id);
        pages.setCurrentIndex(page);
        if (lens.id == std::string("circuits") || lens.id == std::string("composition")) {
            if (!lens.isQuick) runLens(lab);
            REQUIRE(lensRefuses(lab, "one stack"));
            continue;
        }
        if (lens.id == std::string("spans")) {
            REQUIRE(lensRefuses(lab, kNoSpans));
            continue;
        }
        if (!lens.isQuick) runLens(lab);
        REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("lensSummary").isVisible(); }));
        CHECK(lab.find<QLabel>("lensExplanation").text() == lens.explanation);
        if (lens.id == std::string("logit")) {
            CHECK(matrix.figure().rowLabels.front() == "encoder embedding");
            CHECK(matrix.figure().columns() == 2); // tokens of the target
        }
        if (lens.id == std::string("gradients"))
            CHECK(lab.find<LinesView>("lensBars").figure().placeNames ==
                  std::vector<QString>{"␣three", "␣hundred", "␣twelve", "<|endoftext|>", "␣drei"});
        if (lens.id == std::string("ablation")) CHECK(matrix.figure().rowLabels[3] == "Cross L0");
    }
    // The last one was patching: the encoder's first token is "three" here and "four" in the other source.
    CHECK(matrix.figure().rows() == 4);
    CHECK(matrix.figure().columns() == 5);
    CHECK(std::isnan(matrix.figure().valueAt({0, 4}))); // a token of the target has no row in the encoder
    lab.layOut();
    const auto activate = [&](MatrixCell cell) {
        auto& view = lab.find<MatrixView>("lensMatrix");
        const QPoint at = view.figureLayout().cellRect(cell).center().toPoint();
        QTest::mouseClick(&view, Qt::LeftButton, {}, at);
        QTest::mouseDClick(&view, Qt::LeftButton, {}, at);
        REQUIRE(lab.settle());
    };
    activate({0, 4});
    CHECK_FALSE(lab.snapshot().changes);
    activate({0, 0});
    REQUIRE(lab.snapshot().changes);
    CHECK(lab.snapshot().changes->valueChanges.front().hook == "encoder.0.hook_resid_pre");
    CHECK(lab.snapshot().changes->valueChanges.front().text == "four hundred twelve");
}

TEST_CASE("lab: the lens of spans shows those of a model that has just been trained, and follows the prompt", "[lab]") {
    LabWindow lab("builtin:reverse");
    REQUIRE(lab.settle());
    Recipe recipe{.task = "reverse", .batch = 4};
    recipe.architecture = {
        .layers = 2, .heads = 2, .width = 16, .attention = "position=learned, mask=causal & dynamic_span(8, 4, 0.01)"};
    recipe.schedule.steps = 4;
    recipe.evaluateEvery = recipe.checkpointEvery = 2;
    lab.showPanel("train");
    lab.window().workbench().requestRecipe(recipe);
    REQUIRE(lab.settle());
    lab.click("train.play");
    REQUIRE(trainsToItsEnd(lab));
    lab.showPanel("lenses");
    auto& pages = lab.find<QComboBox>("lensPage");
    pages.setCurrentIndex(pages.findData("spans"));
    const auto& bars = lab.find<LinesView>("lensBars");
    REQUIRE(lab.waitFor([&] { return bars.isVisible(); }));
    CHECK(bars.figure().placeNames == std::vector<QString>{"L0 H0", "L0 H1", "L1 H0", "L1 H1"});
    const std::vector<float>& means = bars.figure().lines.front().values;
    CHECK(std::ranges::all_of(means, [](float span) { return span > 0 && span < 8; }));
    const MatrixFigure& matrix = lab.find<MatrixView>("lensMatrix").figure();
    REQUIRE(matrix.rows() == 4);
    const int tokens = static_cast<int>(lab.snapshot().sequence->tokens.size());
    CHECK(matrix.columns() == tokens);
    float sum = 0;
    for (int token = 0; token < tokens; ++token) sum += matrix.valueAt({3, token});
    CHECK(means[3] == Approx(sum / static_cast<float>(tokens)));
    const auto& ids = lab.snapshot().sequence->tokens;
    lab.window().bridge().post(SetPromptCommand{{.tokens = {ids[0].id, ids[1].id}}});
    CHECK(lab.waitFor([&] { return lab.find<MatrixView>("lensMatrix").figure().columns() == 2; }));
}

TEST_CASE("lab: a lens that fails ends with its reason, also after other commands", "[lab]") {
    LabWindow lab("builtin:stories", "Lily had a dog.");
    lab.showPanel("lenses");
    auto& pages = lab.find<QComboBox>("lensPage");
    auto& reading = lab.find<QLabel>("lensReading");
    const auto next = [&] { // a command of another panel, which succeeds
        lab.window().bridge().post(CellRequest{.site = 0, .head = 0, .query = 1, .key = 0});
        REQUIRE(lab.settle());
        CHECK_FALSE(lab.snapshot().failure);
    };
    pages.setCurrentIndex(pages.findData("patching"));
    REQUIRE(pages.currentData() == "patching");
    auto& text = lab.find<QLineEdit>("lensText");
    text.setText("Lily had a cat.");
    QTest::keyClick(&text, Qt::Key_Return);
    const auto& matrix = lab.find<MatrixView>("lensMatrix");
    REQUIRE(lab.waitFor([&] { return !matrix.figure().isEmpty(); }));
    int differing = 0; // both tokens are named where the texts differ
    for (const QString& name : matrix.figure().columnLabels) differing += name.contains(" ← ") ? 1 : 0;
    CHECK(differing >= 1);
    CHECK(matrix.figure().rowTitle == "before layer");
    auto& hook = lab.find<QComboBox>("lensHook");
    CHECK(hook.isVisible());
    REQUIRE(hook.count() == 4);
    CHECK(hook.itemText(1) == "Output of the heads"); // before W_O
    CHECK(hook.itemText(2) == "What attention adds"); // after it
    const float carried = matrix.figure().valueAt({0, matrix.figure().columns() - 1});
    hook.setCurrentIndex(hook.findText("What the MLP adds"));
    emit hook.activated(hook.currentIndex());
    REQUIRE(lab.waitFor([&] { return !matrix.figure().isEmpty() && matrix.figure().rowTitle == "in layer"; }));
    CHECK(lab.find<QLabel>("lensSummary").text().contains("“What the MLP adds” is copied there"));
    CHECK(matrix.figure().valueAt({0, matrix.figure().columns() - 1}) != carried);
    hook.setCurrentIndex(0);
    emit hook.activated(0);
    REQUIRE(lab.waitFor([&] { return matrix.figure().rowTitle == "before layer"; }));
    text.setText("A text with many more tokens than the prompt has.");
    QTest::keyClick(&text, Qt::Key_Return);
    REQUIRE(lab.waitFor([&] { return reading.text().contains("tokens"); }));
    CHECK(lab.find<MatrixView>("lensMatrix").figure().isEmpty()); // of the other text
    const QString reason = reading.text();
    CHECK_FALSE(reason.contains("patch:"));
    CHECK_FALSE(banner(lab, "failureBanner").isVisible()); // the panel says it
    next();
    CHECK(reading.text() == reason);
    QTest::keyClick(&text, Qt::Key_Return); // once more: the same answer, not "Computing"
    REQUIRE(lab.settle());
    CHECK(reading.text() == reason);

    text.clear();
    QTest::keyClick(&text, Qt::Key_Return);
    CHECK(lab.waitFor([&] { return reading.text().contains("ype the other text"); }));

    text.setText("Lily had a cat.");
    lab.find<QLineEdit>("lensTarget").setText("#99999");
    for (int page = 0; page < pages.count(); ++page) {
        if (!lensPages()[static_cast<size_t>(page)].usesTarget) continue;
        INFO(pages.itemText(page).toStdString());
        pages.setCurrentIndex(page);
        runLens(lab);
        REQUIRE(lab.settle());
        next();
        CHECK_THAT(reading.text().toStdString(), CONTAINS("99999"));
    }
}

TEST_CASE("lens: of a model that fills gaps, the hidden word is explained", "[lab]") {
    LabWindow lab("builtin:masked", "It was the [MASK] day of spring.");
    lab.showPanel("lenses");
    auto& pages = lab.find<QComboBox>("lensPage");
    auto& position = lab.find<QComboBox>("lensPosition");
    pages.setCurrentIndex(pages.findData("gradients"));
    REQUIRE(lab.settle());
    CHECK(position.itemText(0) == "hidden word");
    const auto says = [&](const char* text) {
        return lab.waitFor([&] { return lab.find<QLabel>("lensSummary").text().contains(text); });
    };
    const int row = lab.snapshot().next->row;
    CHECK(row == 4); // [CLS] it was the [MASK]
    CHECK(says(" at token 4 is "));
    position.setCurrentIndex(2);
    emit position.activated(2);
    CHECK(says(" at token 1 is "));
    lab.window().bridge().post(SetPromptCommand{{.text = "It was the first day."}});
    REQUIRE(lab.settle());
    CHECK(position.itemText(0) == "last token"); // no word is hidden
}
