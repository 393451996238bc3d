#include "app/figures/map_figure.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/panels/compare_panel.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/token_strip.h"
#include "engine/training/checkpoint.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/lab_window.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

constexpr const char* kComparePrompt = "the quick fox the qu";

/// Of 120 tokens: more than a thumbnail has pixels.
std::string longPrompt() {
    std::string text;
    while (text.size() < 120) text += "the quick fox ";
    text.resize(120);
    return text;
}

} // namespace

TEST_CASE("lab: a comparison says that B waits while A is still being written", "[lab]") {
    LabWindow lab("builtin:induction", kComparePrompt);
    lab.showPanel("compare");
    const auto& message = lab.find<QLabel>("compareMessage");
    lab.window().bridge().post(GenerateCommand{.maxTokens = 1000, .tokensPerSecond = 5});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().status.activity == Activity::Generating; }));
    lab.find<QComboBox>("compareWith").setCurrentIndex(1); // without changes
    CHECK(message.text().startsWith("B waits for A"));
    lab.window().bridge().post(StopCommand{});
    CHECK(lab.waitFor([&] { return message.text().startsWith("A is "); }));
}

TEST_CASE("lab: two runs stand side by side with their difference", "[lab]") {
    LabWindow lab("builtin:induction", kComparePrompt);
    lab.showPanel("compare");
    auto& panel = lab.find<ComparePanel>("compare");
    auto& with = lab.find<QComboBox>("compareWith");
    auto& heads = lab.find<QTreeWidget>("compareHeads");
    lab.window().bridge().post(SetChangesCommand{
        std::make_shared<const Changes>(Changes{{}, {{.site = 1, .head = 0, .kind = PatternChange::Kind::Uniform}}})});
    REQUIRE(lab.settle());
    with.setCurrentIndex(1); // without changes
    REQUIRE(lab.waitFor([&] { return heads.topLevelItemCount() == 4; }));
    CHECK(heads.topLevelItem(0)->text(0) == "L1 H0"); // the one that was levelled
    CHECK(heads.topLevelItem(0)->text(1).toDouble() > 0.3);
    CHECK(heads.topLevelItem(1)->text(1).toDouble() < 1e-3);
    QTest::mouseClick(heads.viewport(), Qt::LeftButton, {}, heads.visualItemRect(heads.topLevelItem(0)).center());
    auto& difference = lab.find<MatrixView>("compareDifference");
    REQUIRE(lab.waitFor([&] { return panel.second().waitIdle(1) && !difference.figure().isEmpty(); }));
    float most = 0;
    for (int row = 0; row < difference.figure().rows(); ++row)
        for (int column = 0; column < difference.figure().columns(); ++column)
            most = std::max(most, std::abs(difference.figure().valueAt({row, column})));
    CHECK(most > 0.5f);
    CHECK(lab.find<QTreeWidget>("compareNext").topLevelItemCount() > 3);

    with.setCurrentIndex(2); // another text
    lab.find<QLineEdit>("compareText").setText("the brown fox the br");
    lab.click("compareRun");
    REQUIRE(lab.waitFor([&] {
        return panel.second().waitIdle(1) && lab.find<MatrixView>("compareB").figure().rowLabels.size() > 4 &&
               lab.find<MatrixView>("compareB").figure().rowLabels[4] == "b";
    }));
    CHECK(difference.figure().rowLabels.at(4) == "q | b");
    // A word more in B: what follows is compared with itself, and hovering leads from one to the other.
    lab.find<QLineEdit>("compareText").setText("the very quick fox the qu");
    lab.click("compareRun");
    auto& a = lab.find<MatrixView>("compareA");
    auto& b = lab.find<MatrixView>("compareB");
    REQUIRE(lab.waitFor([&] { return panel.second().waitIdle(1) && b.figure().rows() == 25; }));
    CHECK(a.figure().rows() == 20);
    const auto& message = lab.find<QLabel>("compareMessage");
    const QString caption = message.text();
    CHECK(caption.startsWith("A is “the quick fox the qu”. B is “the very quick fox the qu”."));
    CHECK(caption.contains("20 of A's 20 tokens line up with B's 25."));
    CHECK(heads.topLevelItemCount() == 4);
    CHECK(difference.figure().rows() == 20);
    CHECK(difference.figure().valueAt({12, 4}) == Approx(a.figure().valueAt({12, 4}) - b.figure().valueAt({17, 9})));
    lab.layOut(); // the caption has more lines now
    hover(a, a.figureLayout().cellRect({12, 4}).center().toPoint());
    REQUIRE(lab.waitFor([&] { return b.figure().hovered == MatrixCell{17, 9}; }));
    CHECK(difference.figure().hovered == MatrixCell{12, 4});
    CHECK(message.text().startsWith(
        QString("Query %1, key %2: A ").arg(a.figure().rowName(12), a.figure().columnName(4))));
    CHECK(message.text().endsWith("A − B " + valueText(difference.figure(), {12, 4})));
    CHECK((a.figure().writesValues && b.figure().writesValues && difference.figure().writesValues));
    hover(b, b.figureLayout().cellRect({17, 9}).center().toPoint() + QPoint(1, 0));
    hover(b, b.figureLayout().cellRect({18, 2}).center().toPoint());
    REQUIRE(lab.waitFor([&] { return a.figure().hovered == MatrixCell{13, 2}; }));
    hover(b, b.figureLayout().cellRect({6, 2}).center().toPoint()); // in B alone
    REQUIRE(lab.waitFor([&] { return !a.figure().hovered; }));
    CHECK(message.text().contains(": B "));
    CHECK_FALSE(message.text().contains("A − B"));
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&b, &leave);
    CHECK(message.text() == caption);
    with.setCurrentIndex(3); // another model
    lab.find<QLineEdit>("comparePath").setText("builtin:no-such");
    lab.click("compareRun");
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("compareMessage").text().contains("no-such"); }));
    // The list holds the bundled models and the training runs.
    startRun(std::filesystem::path((lab.folder() + "/runs/mine").toStdString()), suggestedRecipe(taskNamed("sort")));
    lab.window().workbench().runs().add(lab.folder() + "/runs/mine", suggestedRecipe(taskNamed("sort")));
    auto& models = lab.find<QComboBox>("comparePathList");
    CHECK(models.findData(lab.folder() + "/runs/mine") > models.findData("builtin:stories"));
    const int trained = models.findData("builtin:induction-trained");
    REQUIRE(trained >= 0);
    models.setCurrentIndex(trained);
    emit models.activated(trained);
    CHECK(lab.find<QLineEdit>("comparePath").text() == "builtin:induction-trained");
    REQUIRE(
        lab.waitFor([&] { return panel.second().waitIdle(1) && message.text().contains("B is induction-trained"); }));
    // It knows 16 letters, and leaves the others out.
    REQUIRE(lab.waitFor([&] { return message.text().contains("\nB: This model has no token for"); }));
    QMenu* browse = lab.find<QPushButton>("compareBrowse").menu();
    REQUIRE(browse);
    browse->actions().front()->trigger();
    auto& dialog = lab.find<QFileDialog>("fileDialog");
    CHECK(dialog.fileMode() == QFileDialog::Directory);
    dialog.reject();
    with.setCurrentIndex(0);
    CHECK(heads.isHidden());
}

TEST_CASE("lab: a run is compared with itself on all that was given: a second text, a source and what was written",
          "[lab]") {
    const QString golden = QStringLiteral(ATTN_TEST_DIR "/golden/");
    LabWindow lab(golden + "bert");
    lab.showPanel("compare");
    auto& panel = lab.find<ComparePanel>("compare");
    const auto compare = [&](int with, const QString& path) {
        lab.find<QComboBox>("compareWith").setCurrentIndex(with);
        if (!path.isEmpty()) lab.find<QLineEdit>("comparePath").setText(path);
        if (!path.isEmpty()) lab.click("compareRun");
        REQUIRE(lab.settle());
        REQUIRE(lab.waitFor([&] {
            const Snapshot& second = *panel.second().snapshot();
            return panel.second().waitIdle(1) && second.sequence && second.next &&
                   second.sequence->tokens.size() == lab.snapshot().sequence->tokens.size();
        }));
        CHECK(panel.second().snapshot()->next->logits == lab.snapshot().next->logits);
        CHECK(panel.second().snapshot()->sequence->given.second == lab.snapshot().sequence->given.second);
    };
    lab.window().bridge().post(SetPromptCommand{{.text = "The dogs ran.", .second = "Who sat?"}});
    REQUIRE(lab.settle());
    compare(1, {});              // the same model
    compare(3, golden + "bert"); // as another model
    lab.find<QComboBox>("compareWith").setCurrentIndex(0);
    lab.window().files().open(golden + "t5_gated");
    lab.window().bridge().post(SetPromptCommand{{.text = "the cat is small."}});
    lab.window().bridge().post(GenerateCommand{.maxTokens = 4});
    REQUIRE(lab.settle());
    for (const int with : {1, 3}) {
        compare(with, with == 3 ? golden + "t5_gated" : QString());
        CHECK(panel.second().snapshot()->sequence->given.text == "the cat is small.");
    }
}

TEST_CASE("lab: one of three compared heatmaps is large, and a double click makes another one large", "[lab]") {
    LabWindow lab("builtin:induction", kComparePrompt);
    lab.act("workspace.compare");
    lab.find<QComboBox>("compareWith").setCurrentIndex(1); // without changes
    auto& a = lab.find<MatrixView>("compareA");
    auto& b = lab.find<MatrixView>("compareB");
    auto& difference = lab.find<MatrixView>("compareDifference");
    REQUIRE(lab.waitFor([&] { return !difference.figure().isEmpty() && difference.isVisible(); }));
    CHECK(a.figure().title == "A: L0 H0");
    CHECK(b.figure().title == "B: L0 H0");
    CHECK(difference.figure().title == "A − B: L0 H0");
    const auto area = [](const QWidget& widget) { return static_cast<double>(widget.width()) * widget.height(); };
    const auto share = [&](const QWidget& map) { return area(map) / area(lab.find<ComparePanel>("compare")); };
    for (const auto& [size, least] : {std::pair(QSize(1440, 900), 0.6), std::pair(QSize(1024, 700), 0.56)}) {
        lab.window().resize(size);
        REQUIRE(lab.waitFor([&, wanted = size] { return lab.window().size() == wanted; }, 5'000));
        lab.layOut();
        CAPTURE(size.width(), size.height());
        CHECK(share(difference) >= least);
        CHECK(lab.find<QTreeWidget>("compareNext").columnWidth(0) >= 40); // names of tokens
        CHECK(a.geometry().left() > difference.geometry().right());
        CHECK(a.geometry().left() == b.geometry().left());
        CHECK(a.geometry().bottom() < b.geometry().top());
    }
    CHECK(b.toolTip().contains("Double-click"));
    CHECK_FALSE(difference.toolTip().contains("Double-click"));
    QTest::mouseDClick(&b, Qt::LeftButton);
    lab.layOut();
    CHECK(share(b) >= 0.56);
    CHECK(difference.geometry().left() > b.geometry().right());
    CHECK_FALSE(b.toolTip().contains("Double-click"));
    a.setFocus();
    QTest::keyClick(&a, Qt::Key_Return);
    lab.layOut();
    CHECK(share(a) >= 0.56);
    CHECK(a.hasFocus());
    CHECK(difference.toolTip().contains("Double-click"));
}

TEST_CASE("lab: a place without content offers the way to it", "[lab]") {
    LabWindow lab("builtin:induction", kComparePrompt);
    lab.act("workspace.compare");
    CHECK(lab.find<QLabel>("compareEmpty").isVisible());
    lab.clickAndSettle("compareEmpty.1");
    CHECK_FALSE(lab.find<QLabel>("compareEmpty").isVisible());
    CHECK(lab.find<QComboBox>("compareWith").currentIndex() == 2);
    CHECK(lab.find<QLineEdit>("compareText").hasFocus());

    lab.act("workspace.train");
    lab.showPanel("samples");
    CHECK(lab.find<QLabel>("curvesEmpty").isVisible());
    lab.click("samplesEmpty.1");
    const auto& training = lab.window().workbench().training();
    REQUIRE(lab.waitFor([&] { return training.snapshot()->step > 0; }, 120'000));
    CHECK(lab.waitFor([&] { return !lab.find<QLabel>("samplesEmpty").isVisible(); }));
    lab.press(lab.action("trainPlay")); // pause
    REQUIRE(lab.waitFor([&] { return training.snapshot()->state == TrainingSnapshot::State::Paused; }));
}

TEST_CASE("lab: panels have the pictures that they show, whatever Attention shows", "[lab]") {
    LabWindow lab("builtin:induction", kComparePrompt);
    lab.window().workbench().selectHead(1, 0);
    lab.find<QDockWidget>("dock.attention").close();
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().grid == nullptr);
    CHECK(lab.snapshot().detail == nullptr);

    lab.showPanel("interventions"); // paints
    const auto& pattern = lab.find<MatrixView>("interventionPattern");
    REQUIRE(lab.waitFor([&] { return pattern.figure().rows() == 20; }));
    lab.showPanel("compare");
    lab.find<QComboBox>("compareWith").setCurrentIndex(1); // without changes
    const auto& heads = lab.find<QTreeWidget>("compareHeads");
    REQUIRE(lab.waitFor([&] { return heads.topLevelItemCount() == 4; }));
    REQUIRE(lab.waitFor([&] { return lab.find<MatrixView>("compareDifference").figure().rows() == 20; }));
    lab.find<QComboBox>("compareWith").setCurrentIndex(0);
    lab.showPanel("text");
    auto& shade = lab.find<QComboBox>("textShade");
    shade.setCurrentText("Attention of the head");
    const auto& strip = lab.find<TokenStrip>("textTokens");
    REQUIRE(
        lab.waitFor([&] { return strip.shades().size() == 20 && *std::ranges::max_element(strip.shades()) > 0.1f; }));
    shade.setCurrentText("Loss"); // nobody looks any more
    lab.find<QDockWidget>("dock.text").close();
    REQUIRE(lab.waitFor([&] { return lab.snapshot().grid == nullptr && lab.snapshot().detail == nullptr; }));
}

TEST_CASE("lab: long texts are compared also where the first token is hidden", "[lab]") {
    LabWindow lab("builtin:induction", longPrompt().c_str());
    lab.find<QCheckBox>("attentionHideFirst").setChecked(true);
    lab.showPanel("compare");
    lab.closeGate(0, 0, 0);
    REQUIRE(lab.settle());
    lab.find<QComboBox>("compareWith").setCurrentIndex(1); // without changes
    const auto& a = lab.find<MatrixView>("compareA");
    const auto& b = lab.find<MatrixView>("compareB");
    const auto& difference = lab.find<MatrixView>("compareDifference");
    REQUIRE(lab.waitFor(
        [&] { return lab.find<ComparePanel>("compare").second().waitIdle(1) && !difference.figure().isEmpty(); }));
    CHECK(a.figure().rows() == b.figure().rows());
    REQUIRE(lab.waitFor([&] { return lab.find<QTreeWidget>("compareHeads").topLevelItemCount() == 4; }));
    // The first token taken back: both follow.
    lab.find<QCheckBox>("attentionHideFirst").setChecked(false);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] {
        return lab.find<ComparePanel>("compare").second().waitIdle(1) && !difference.figure().isEmpty() &&
               !a.figure().note.contains("first token") && !b.figure().note.contains("first token");
    }));
}

TEST_CASE("lab: a long text is shaded by a head, or it is said why not", "[lab]") {
    LabWindow lab("builtin:induction", longPrompt().c_str());
    lab.window().workbench().selectHead(0, 0);
    lab.find<QComboBox>("attentionAggregate").setCurrentText("Mean"); // among all heads, whose pictures are too small
    lab.showPanel("text");
    lab.find<QComboBox>("textShade").setCurrentText("Attention of the head");
    const auto& strip = lab.find<TokenStrip>("textTokens");
    const auto& reading = lab.find<QLabel>("textReading");
    REQUIRE(lab.waitFor([&] { return strip.shades().size() == 120 && strip.shades()[118] > 0.9f; }));
    CHECK(reading.text().startsWith("L0 H0, query"));
    QTest::keyClick(&lab.window(), Qt::Key_2, Qt::ControlModifier); // the mean is on screen
    REQUIRE(lab.waitFor([&] { return reading.text().contains("open this head in the Attention panel"); }));
    lab.find<QComboBox>("attentionAggregate").setCurrentText("One head");
    REQUIRE(lab.waitFor([&] { return reading.text().startsWith("L0 H0, query"); }));
    CHECK(strip.shades()[118] > 0.9f);
}

TEST_CASE("lab: of models with other layers and heads is shown what can be, and its numbers name both", "[lab]") {
    LabWindow lab("builtin:stories", "a b c a b c");
    lab.showPanel("compare");
    lab.find<QLineEdit>("comparePath").setText("builtin:induction-trained");
    lab.find<QComboBox>("compareWith").setCurrentIndex(3);
    auto& difference = lab.find<MatrixView>("compareDifference");
    auto& a = lab.find<MatrixView>("compareA");
    lab.window().workbench().selectHead(3, 0);
    REQUIRE(lab.waitFor([&] { return difference.figure().note.startsWith("B has no L3 H0: it has 2 layers"); }));
    CHECK(a.height() > difference.height()); // A has the large place
    const auto& message = lab.find<QLabel>("compareMessage");
    CHECK(message.text().startsWith("A is stories. B is induction-trained."));
    CHECK(message.text().contains("cannot compare head by head. Choose two models"));
    CHECK(lab.find<QComboBox>("comparePathList").findData("builtin:vit-shapes") < 0); // it reads pictures
    lab.find<QLineEdit>("comparePath").setText("builtin:stories");
    lab.click("compareRun");
    REQUIRE(lab.waitFor([&] { return message.text().contains("A and B are the same model and text"); }));
    lab.find<QLineEdit>("comparePath").setText("builtin:induction-trained");
    lab.click("compareRun");
    REQUIRE(lab.waitFor([&] { return difference.figure().note.startsWith("B has no L3 H0"); }));
    CHECK_FALSE(a.figure().isEmpty());
    lab.find<QWidget>("compareWith").setFocus();
    REQUIRE(lab.waitFor([&] { return lab.find<QWidget>("compareWith").hasFocus(); }));
    const QString path = lab.folder() + "/two.npz";
    lab.window().exports().exportFigure(path);
    REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
    QFile npz(path);
    REQUIRE(npz.open(QIODevice::ReadOnly));
    const QByteArray archive = npz.readAll();
    for (const char* array : {"layer.npy", "head.npy", "tokens.npy", "second_tokens.npy", "second_model.npy"})
        CHECK(archive.contains(array));
}

TEST_CASE("lab: a key that only one of two models sees counts as no weight of the other", "[lab]") {
    LabWindow lab("builtin:stories", "the dog ran home");
    lab.showPanel("compare");
    lab.find<QLineEdit>("comparePath").setText("builtin:masked"); // its heads look ahead
    lab.find<QComboBox>("compareWith").setCurrentIndex(3);
    auto& difference = lab.find<MatrixView>("compareDifference");
    REQUIRE(lab.waitFor([&] { return !difference.figure().isEmpty(); }));
    REQUIRE(lab.settle());
    const MatrixFigure &a = lab.find<MatrixView>("compareA").figure(), &b = lab.find<MatrixView>("compareB").figure();
    const auto placeInB = [&](const QString& token) {
        const auto found = std::ranges::find(b.rowLabels, token);
        return found == b.rowLabels.end() ? -1 : static_cast<int>(found - b.rowLabels.begin());
    };
    int count = 0;
    for (int query = 0; query < a.rows(); ++query)
        for (int key = 0; key < a.columns(); ++key) {
            const MatrixCell cell{query, key}, other{placeInB(a.rowLabels[static_cast<size_t>(query)]),
                                                     placeInB(a.columnLabels[static_cast<size_t>(key)])};
            if (other.row < 0 || other.column < 0) continue;
            ++count;
            const float own = key > query ? 0 : a.valueAt(cell); // A hides what comes later
            CHECK(difference.figure().valueAt(cell) == Approx(own - b.valueAt(other)).margin(1e-6));
        }
    CHECK(count > 4);
}

TEST_CASE("lab: the answers of two runs are named after what each model predicts", "[lab]") {
    LabWindow lab("builtin:stories", "the dog ran home");
    lab.showPanel("compare");
    auto& path = lab.find<QLineEdit>("comparePath");
    const auto title = [&] { return lab.find<QTreeWidget>("compareNext").headerItem()->text(0); };
    path.setText("builtin:masked");
    lab.find<QComboBox>("compareWith").setCurrentIndex(3);
    CHECK(lab.waitFor([&] { return title() == "A: Next token, B: Hidden word"; }));
    path.setText("builtin:stories");
    lab.click("compareRun");
    CHECK(lab.waitFor([&] { return title() == "Next token"; }));
}
