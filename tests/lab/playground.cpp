#include "app/figures/formula.h"
#include "app/lab/widgets/elided_label.h"
#include "app/lab/widgets/map_grid.h"
#include "app/lab/widgets/part_cards.h"
#include "app/lab/widgets/spec_editor.h"
#include "engine/attention/catalogue.h"
#include "engine/core/bit_row.h"
#include "engine/training/initial_weights.h"
#include "tests/lab/playground_test.h"
#include "tests/support/hover.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace attn;

namespace {

/// The colour on screen in the middle of a cell.
QColor colourAt(const MatrixView& view, const MatrixCell& cell) {
    const QImage picture = const_cast<MatrixView&>(view).grab().toImage();
    return picture.pixelColor((view.figureLayout().cellRect(cell).center() * picture.devicePixelRatio()).toPoint());
}

} // namespace

TEST_CASE("lab: causal & window(3) shows in the right cells of the playground", "[lab]") {
    PlaygroundWindow lab;
    showSpec(lab, "mask=causal & window(3)");
    const auto& mask = lab.find<MatrixView>("map.mask");
    const auto& pattern = lab.find<MatrixView>("map.pattern");
    REQUIRE(lab.waitFor([&] { return mask.figure().rows() == 32; }));
    const QColor seen = colourAt(mask, {5, 5}), hidden = colourAt(mask, {5, 6});
    CHECK(seen != hidden);
    for (const auto& [i, j] : {std::pair(0, 0), {9, 9}, {9, 8}, {9, 7}, {31, 29}}) {
        INFO(i << ", " << j);
        CHECK(colourAt(mask, {i, j}) == seen);
        CHECK(pattern.figure().valueAt({i, j}) > 0);
    }
    for (const auto& [i, j] : {std::pair(0, 1), {9, 6}, {9, 10}, {31, 0}}) {
        INFO(i << ", " << j);
        CHECK(colourAt(mask, {i, j}) == hidden);
        CHECK(colourAt(pattern, {i, j}) == hidden);
        CHECK(std::isnan(pattern.figure().valueAt({i, j})));
    }
}

TEST_CASE("lab: the bias of ALiBi is grey where the mask hides a key, and never positive elsewhere", "[lab]") {
    PlaygroundWindow lab;
    showSpec(lab, "position=alibi, mask=causal");
    const auto& bias = lab.find<MatrixView>("map.position.bias");
    const auto& mask = lab.find<MatrixView>("map.mask");
    REQUIRE(lab.waitFor([&] { return bias.figure().rows() == 32 && mask.figure().rows() == 32; }));
    const QColor hidden = colourAt(mask, {5, 6});
    for (int query = 0; query < 32; ++query)
        for (int key = 0; key < 32; ++key) {
            INFO(query << ", " << key);
            const float value = bias.figure().valueAt({query, key});
            CHECK((key > query ? std::isnan(value) : value <= 0));
        }
    for (const auto& [i, j] : {std::pair(0, 1), {0, 31}, {9, 10}}) CHECK(colourAt(bias, {i, j}) == hidden);
    CHECK(colourAt(bias, {31, 0}) != hidden);
}

TEST_CASE("lab: masks are sorted by title, and a part of a title finds one", "[lab]") {
    PlaygroundWindow lab;
    auto& masks = lab.find<QComboBox>("maskPick");
    for (int i = 1; i < masks.count(); ++i) CHECK(masks.itemText(i - 1).localeAwareCompare(masks.itemText(i)) <= 0);
    CHECK(masks.count() > 40);
    masks.showPopup(); // as wide as the longest title
    CHECK(lab.waitFor([&] { return masks.view()->viewport()->width() >= masks.view()->sizeHintForColumn(0); }));
    masks.hidePopup();
    masks.lineEdit()->setFocus();
    QTest::keyClicks(masks.lineEdit(), "bidir");
    QTest::keyClick(masks.lineEdit(), Qt::Key_Return);
    CHECK(lab.find<QLineEdit>("maskText").text() == "full");
    CHECK(masks.currentText().isEmpty());
    // The text joins what is found to the mask.
    type(lab.find<QLineEdit>("maskText"), "causal");
    lab.find<QComboBox>("maskJoin").setCurrentIndex(1);
    masks.lineEdit()->setFocus();
    QTest::keyClicks(masks.lineEdit(), "mistral");
    QTest::keyClick(masks.lineEdit(), Qt::Key_Return);
    CHECK(lab.find<QLineEdit>("maskText").text().startsWith("causal & "));
    CHECK(lab.find<QLineEdit>("maskText").text().contains("window(16)"));
}

TEST_CASE("lab: lists of parts and masks say what each entry does, also in a search", "[lab]") {
    PlaygroundWindow lab;
    const auto ideaAt = [](const QAbstractItemView& list, int row) {
        return list.model()->index(row, 0).data(Qt::AccessibleDescriptionRole).toString();
    };
    const auto height = [](const QAbstractItemView& list, int row) {
        return list.sizeHintForIndex(list.model()->index(row, 0)).height();
    };
    auto& masks = lab.find<QComboBox>("maskPick");
    for (const char* name : {"maskPick", "slot.mixer", "slot.normaliser", "slot.norm"}) {
        const auto& box = lab.find<QComboBox>(name);
        for (int row = 0; row < box.count(); ++row) {
            if (box.itemData(row).toString().isEmpty()) continue; // "the model's own"
            INFO(name << ", " << box.itemText(row).toStdString());
            const QString idea = ideaAt(*box.view(), row);
            CHECK((idea.size() > 20 && idea.endsWith('.')));
            CHECK_FALSE(idea.contains(". "));
            CHECK(height(*box.view(), row) >= 1.8 * box.view()->fontMetrics().height());
        }
    }
    masks.lineEdit()->setFocus();
    QTest::keyClicks(masks.lineEdit(), "bigb");
    const QAbstractItemView& found = *masks.completer()->popup();
    REQUIRE(lab.waitFor([&] { return found.isVisible(); }));
    REQUIRE(found.model()->rowCount() == 1);
    CHECK(ideaAt(found, 0).contains("blocks"));
    CHECK(height(found, 0) >= 1.8 * found.fontMetrics().height());
    QTest::keyClick(masks.lineEdit(), Qt::Key_Escape);
}

TEST_CASE("lab: the line below the heatmaps is whole, or its tool tip is", "[lab]") {
    PlaygroundWindow lab;
    lab.act("workspace.build");
    lab.window().resize(1024, 700);
    lab.action("themeProjector").trigger();
    lab.layOut();
    auto& line = lab.find<ElidedLabel>("playReading");
    CHECK(line.shown() == line.text()); // the hint
    line.setText(QString("A long reading of a cell. ").repeated(9));
    CHECK(line.shown().endsWith(QStringLiteral("…")));
    QHelpEvent help(QEvent::ToolTip, QPoint(5, 5), line.mapToGlobal(QPoint(5, 5)));
    QCoreApplication::sendEvent(&line, &help);
    CHECK(QToolTip::text() == line.text());
    lab.action("themeLight").trigger();
}

TEST_CASE("lab: dragging a slider of the mask changes the picture and the text", "[lab]") {
    PlaygroundWindow lab;
    type(lab.find<QLineEdit>("maskText"), "causal & window(3)");
    REQUIRE(lab.waitFor([&] { return shown(lab).query.spec.mask.text() == "causal & window(3)"; }));
    auto* slider = lab.find<QWidget>("maskTerms").findChild<QSlider*>();
    REQUIRE(slider);
    const auto& mask = lab.find<MatrixView>("map.mask");
    const QImage before = const_cast<MatrixView&>(mask).grab().toImage();
    slider->setFocus();
    for (int i = 0; i < 5; ++i) QTest::keyClick(slider, Qt::Key_Right);
    REQUIRE(lab.waitFor([&] { return shown(lab).query.spec.mask.text() == "causal & window(8)"; }));
    CHECK(lab.find<QLineEdit>("maskText").text() == "causal & window(8)");
    CHECK(mask.figure().valueAt({20, 13}) == 1);
    CHECK(mask.figure().valueAt({20, 12}) == 0);
    CHECK(const_cast<MatrixView&>(mask).grab().toImage() != before);
    // The drag is one step.
    lab.press(lab.action("undo"));
    REQUIRE(lab.waitFor([&] { return shown(lab).query.spec.mask.text() != "causal & window(8)"; }));
}

TEST_CASE("lab: other numbers of tokens and heads keep the sliders of the mask and draw every heatmap once", "[lab]") {
    PlaygroundWindow lab;
    type(lab.find<QLineEdit>("maskText"), "causal & window(3)");
    REQUIRE(lab.waitFor([&] { return shown(lab).query.spec.mask.text() == "causal & window(3)"; }));
    REQUIRE(lab.settle());
    lab.layOut();
    const auto slider = [&] { return lab.find<QWidget>("maskTerms").findChild<QSlider*>(); };
    const QPointer<QSlider> before = slider();
    REQUIRE(before);

    class Paints : public QObject {
    public:
        int count = 0;

    protected:
        bool eventFilter(QObject*, QEvent* event) override {
            count += event->type() == QEvent::Paint ? 1 : 0;
            return false;
        }
    } paints;
    lab.find<MatrixView>("map.pattern").installEventFilter(&paints);
    // How often a change draws it; the least of three, because the desktop may ask for a picture in between.
    const auto paintsOf = [&](const QString& name, const std::array<int, 3>& values, const auto& shownValue) {
        const auto boxes = lab.find<QWidget>("playControls").findChildren<QDoubleSpinBox*>();
        const auto box = std::ranges::find(boxes, name, &QWidget::accessibleName);
        REQUIRE(box != boxes.end());
        int least = std::numeric_limits<int>::max();
        for (const int value : values) {
            paints.count = 0;
            (*box)->setValue(value);
            REQUIRE(lab.waitFor([&] { return shownValue() == value; }));
            REQUIRE(lab.settle());
            lab.layOut();
            least = std::min(least, paints.count);
        }
        return least;
    };
    CHECK(paintsOf("Query heads", {12, 9, 16}, [&] { return shown(lab).heads; }) == 1); // other heads to choose from
    CHECK(paintsOf("Tokens", {56, 48, 40}, [&] { return shown(lab).query.tokens; }) == 1);
    CHECK(slider() == before);
    CHECK(slider()->maximum() == 40 - 1); // of windows from 1 to 40
}

TEST_CASE("lab: what does not combine shows its sentence, and the button mends it", "[lab]") {
    PlaygroundWindow lab;
    auto& mend = lab.find<QPushButton>("specNearest");
    CHECK_FALSE(mend.isVisible());
    auto& choice = lab.find<QComboBox>("slot.normaliser");
    choice.setFocus();
    for (int i = 0; i < choice.count() && choice.currentData().toString() != "xcit"; ++i)
        QTest::keyClick(&choice, Qt::Key_Down);
    REQUIRE(choice.currentData().toString() == "xcit");
    CHECK(mend.isVisible());
    CHECK(lab.find<QLabel>("specProblem").text().size() > 20);
    for (int i = 0; i < 5 && mend.isVisible(); ++i) QTest::mouseClick(&mend, Qt::LeftButton);
    CHECK_FALSE(mend.isVisible());
    CHECK_FALSE(lab.find<QLabel>("specProblem").isVisible());
    const AttentionSpec& mended = lab.window().findChild<SpecEditor*>()->spec();
    CHECK(check(mended).empty());
    REQUIRE(lab.waitFor([&] { return shown(lab).query.spec == mended && !shown(lab).maps.empty(); }));
}

TEST_CASE("lab: the block around an attention is chosen beside it, and left to the model again", "[lab]") {
    PlaygroundWindow lab;
    auto& choice = lab.find<QComboBox>("slot.norm");
    CHECK_FALSE(choice.isVisible());
    QTest::mouseClick(&lab.find<QToolButton>("blockToggle"), Qt::LeftButton);
    CHECK(choice.isVisible());
    choice.setFocus();
    while (choice.currentData().toString() != "rms_norm" && choice.currentIndex() + 1 < choice.count())
        QTest::keyClick(&choice, Qt::Key_Down);
    REQUIRE(lab.waitFor([&] {
        return lab.find<QLineEdit>("specText").text().contains("norm=rms_norm") &&
               findMap(shown(lab).maps, "norm.after");
    }));
    auto& own = lab.find<QComboBox>("slot.residual");
    CHECK(own.currentIndex() == 0); // the model's
    choice.setFocus();
    while (choice.currentIndex() > 0) QTest::keyClick(&choice, Qt::Key_Up);
    REQUIRE(lab.waitFor([&] { return !findMap(shown(lab).maps, "norm.after"); }));
    CHECK_FALSE(lab.find<QLineEdit>("specText").text().contains("norm"));
    type(lab.find<QLineEdit>("specText"), "residual=gru_gate, mask=causal");
    CHECK(own.currentData().toString() == "gru_gate");
}

TEST_CASE("lab: scrolling the parts changes none that the cursor passes", "[lab]") {
    PlaygroundWindow lab;
    auto& choice = lab.find<QComboBox>("slot.score");
    lab.find<QLineEdit>("specText").setFocus();
    const auto turn = [&] {
        QWheelEvent down(QPointF(5, 5), choice.mapToGlobal(QPointF(5, 5)), {}, {0, -120}, Qt::NoButton, {},
                         Qt::NoScrollPhase, false);
        QApplication::sendEvent(&choice, &down);
    };
    turn();
    CHECK(choice.currentData().toString() == "scaled_dot");
    CHECK_FALSE(choice.hasFocus());
    const int before = choice.currentIndex();
    choice.setFocus(); // a box keeps the focus after a choice: the wheel still means the form
    turn();
    CHECK(choice.currentIndex() == before);
}

TEST_CASE("lab: a mistake in the text is a sentence in its place and changes nothing", "[lab]") {
    PlaygroundWindow lab;
    const AttentionSpec before = lab.window().findChild<SpecEditor*>()->spec();
    type(lab.find<QLineEdit>("maskText"), "windw(3)");
    CHECK(lab.find<QLabel>("maskError").isVisible());
    CHECK(lab.find<QLabel>("maskError").text().startsWith("There is no mask term"));
    CHECK(lab.find<QLabel>("maskError").text().contains("window"));
    CHECK(lab.window().findChild<SpecEditor*>()->spec() == before);
    type(lab.find<QLineEdit>("maskText"), "window(3)");
    CHECK_FALSE(lab.find<QLabel>("maskError").isVisible());
}

TEST_CASE("lab: one map of the Playground is large, and the others stand in a strip with cells of one size", "[lab]") {
    PlaygroundWindow lab;
    lab.window().resize(1440, 900);
    REQUIRE(lab.waitFor([&] { return lab.window().size() == QSize(1440, 900); }, 5'000));
    const auto layoutOf = [&](const char* map) {
        lab.layOut();
        return lab.find<MatrixView>(map).figureLayout();
    };
    const auto pattern = layoutOf("map.pattern"), scores = layoutOf("map.scores");
    CHECK(pattern.rowLabels > 0);
    CHECK(pattern.columnLabels > 0);
    CHECK(pattern.cellWidth > 2 * scores.cellWidth);
    for (const char* other : {"map.mask", "map.position.bias"})
        CHECK(layoutOf(other).cellWidth == Approx(scores.cellWidth).margin(0.1)); // whole pixels
    // Many features make the cells of the output narrow, but not those of the maps over tokens.
    QJsonObject wide = lab.window().panels().view("playground");
    wide["width"] = 64;
    lab.window().panels().setView("playground", wide);
    REQUIRE(lab.waitFor([&] { return lab.find<MatrixView>("map.z").figure().columns() == 64; }));
    CHECK(lab.waitFor([&] { return layoutOf("map.scores").cellWidth == Approx(scores.cellWidth).margin(0.1); }));
    CHECK(layoutOf("map.z").cellWidth < scores.cellWidth);
    // A double click makes another map the large one, also of the next attention, if that has it.
    auto& mask = lab.find<MatrixView>("map.mask");
    QTest::mouseDClick(&mask, Qt::LeftButton, {}, mask.rect().center());
    CHECK(layoutOf("map.mask").cellWidth > 2 * layoutOf("map.pattern").cellWidth);
    for (const char* map : {"map.scores", "map.pattern", "map.mask", "map.z"})
        CHECK(lab.find<MatrixView>(map).isVisible());
    showSpec(lab, "mask=window(4)");
    REQUIRE(lab.waitFor([&] { return layoutOf("map.mask").cellWidth > 2 * layoutOf("map.pattern").cellWidth; }));
}

TEST_CASE("lab: the head is picked, and pointing at a cell reads i, j and the value", "[lab]") {
    PlaygroundWindow lab;
    auto& view = lab.find<MatrixView>("map.pattern");
    const float first = view.figure().valueAt({8, 3});
    lab.find<QSpinBox>("playHead").setFocus();
    QTest::keyClick(&lab.find<QSpinBox>("playHead"), Qt::Key_Up);
    CHECK(view.figure().note.startsWith("head 1"));
    CHECK(view.figure().valueAt({8, 3}) != first);
    hover(view, view.figureLayout().cellRect({8, 3}).center().toPoint());
    const QString value = QString::number(static_cast<double>(view.figure().valueAt({8, 3})), 'g', 5);
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("playReading").text().contains("i = 8"); }));
    CHECK(lab.find<QLabel>("playReading").text().contains("j = 3"));
    CHECK(lab.find<QLabel>("playReading").text().contains(value));
    // Enlarged and back.
    QTest::mouseDClick(&view, Qt::LeftButton, {}, view.rect().center());
    CHECK_FALSE(lab.find<MatrixView>("map.scores").isVisible());
    QTest::mouseDClick(&view, Qt::LeftButton, {}, view.rect().center());
    CHECK(lab.find<MatrixView>("map.scores").isVisible());
}

TEST_CASE("lab: the playground is saved with the session and comes back", "[lab]") {
    PlaygroundWindow lab;
    showSpec(lab, "position=rope, mask=window(4)");
    const QString path = lab.folder() + "/play.attnlab";
    lab.saveSession(path);
    showSpec(lab, "mask=full");
    lab.window().files().openSession(path);
    REQUIRE(shows(lab, "position=rope, mask=window(4)"));
}

TEST_CASE("lab: every part has a reference card with its source, and draws its own picture", "[lab]") {
    PlaygroundWindow lab;
    lab.find<QTabWidget>("playViews").setCurrentIndex(3);
    auto& list = lab.find<QTreeWidget>("partList");
    const auto& picture = lab.find<MatrixView>("partPicture");
    const auto* cards = lab.window().findChild<PartCards*>();
    const auto items = list.findItems("*", Qt::MatchWildcard | Qt::MatchRecursive);
    const std::map<std::string, std::string> kPictures{
        {"heads.single", "Pattern"},
        {"heads.multi_head", "Pattern"},
        {"heads.grouped_query", "Pattern"},
        {"score.scaled_dot", "Scores"},
        {"score.additive", "Scores"},
        {"normaliser.softmax", "Pattern"},
        {"position.rope", "Pattern"},
        {"position.alibi", "Position bias"},
        {"position.t5", "Position bias"},
        {"position.shaw", "Query with relative key"},
        {"position.etc", "Query with label"},
        {"position.dependency_tree", "Query with place in the tree"},
        {"normaliser.reformer", "Hash buckets"},
        {"normaliser.routing", "Clusters"},
        {"normaliser.xcit", "Channel map"},
        {"normaliser.memory_compressed", "Weights of the compressed keys"},
        {"mixer.fnet", "Cosine matrix"},
        {"mixer.mlp_mixer", "Influence"},
        {"output.plain", "Output"},
        {"output.gated", "Gate"}};
    size_t seen = 0, rules = 0, checked = 0;
    for (QTreeWidgetItem* item : items) {
        if (!(item->flags() & Qt::ItemIsSelectable)) continue;
        ++seen;
        list.setCurrentItem(item);
        const QString text = lab.find<QLabel>("partText").text();
        const QString details = lab.find<QLabel>("partDetails").text();
        if (!cards->part()) { // a rule for initial weights
            const Initialisation& rule = initialisations()[rules++];
            INFO(rule.id);
            CHECK(text.contains(
                QString::fromUtf8(rule.idea.data(), static_cast<qsizetype>(rule.idea.size())).toHtmlEscaped()));
            CHECK(details.contains(QString::number(rule.source.year)));
            CHECK(details.contains("attention-cli train"));
            const auto formula = QString::fromUtf8(rule.formula.data(), static_cast<qsizetype>(rule.formula.size()));
            CHECK(Formula(formula).sizeFor(400, lab.window().font()).width() <= 400);
            CHECK(picture.figure().rows() == 32);
            CHECK_FALSE(lab.find<QPushButton>("tryPart").isEnabled());
            continue;
        }
        const Part& part = *cards->part();
        INFO(part.id);
        CHECK(details.contains(QString::number(part.source.year)));
        CHECK(text.contains(
            QString::fromUtf8(part.title.data(), static_cast<qsizetype>(part.title.size())).toHtmlEscaped()));
        CHECK(lab.waitFor([&] { return !picture.figure().isEmpty(); }));
        const std::string title = picture.figure().title.toStdString();
        for (const char* ofKernel : {"Running maximum", "Running sum", "Tiles walked over"}) CHECK(title != ofKernel);
        const auto known = kPictures.find(std::string(nameOf(part.slot)) + "." + std::string(part.id));
        if (known != kPictures.end()) CHECK(title == known->second);
        if (known != kPictures.end()) ++checked;
    }
    CHECK(checked == kPictures.size());
    CHECK(rules == initialisations().size());
    CHECK(seen == partCatalogue().size() + rules);
    lab.click("trainPart");
    const auto& init = lab.find<QComboBox>("init");
    REQUIRE(lab.waitFor([&] { return init.isVisible(); }));
    CHECK(init.currentData().toString() == "zero_residual");
}

TEST_CASE("lab: Try this part keeps the other parts of the composition, and undo takes it back", "[lab]") {
    PlaygroundWindow lab;
    type(lab.find<QLineEdit>("specText"), "heads=multi_head(2), normaliser=sigmoid, mask=window(8)");
    const AttentionSpec before = lab.window().findChild<SpecEditor*>()->spec();
    lab.find<QTabWidget>("playViews").setCurrentIndex(3);
    auto& list = lab.find<QTreeWidget>("partList");
    const auto found = list.findItems("RoPE", Qt::MatchContains | Qt::MatchRecursive);
    REQUIRE_FALSE(found.empty());
    list.setCurrentItem(found.front());
    lab.click("tryPart");
    AttentionSpec expected = before;
    expected.set(Slot::Position, "rope");
    CHECK(lab.window().findChild<SpecEditor*>()->spec() == expected);
    REQUIRE(lab.waitFor([&] { return !lab.find<MatrixView>("map.pattern").figure().isEmpty(); }));
    lab.press(lab.action("undo"));
    CHECK(lab.window().findChild<SpecEditor*>()->spec() == before);
}

TEST_CASE("lab: painting a cell changes the mask, and undo takes it back", "[lab]") {
    PlaygroundWindow lab;
    type(lab.find<QLineEdit>("specText"), "mask=causal");
    lab.find<QTabWidget>("playViews").setCurrentIndex(2);
    auto& canvas = lab.find<MatrixView>("maskCanvas");
    const auto& editor = *lab.window().findChild<SpecEditor*>();
    const auto centre = [&](const MatrixCell& cell) { return canvas.figureLayout().cellRect(cell).center().toPoint(); };
    REQUIRE(lab.waitFor([&] { return canvas.figure().rows() == 32 && canvas.width() > 200; }));
    CHECK(canvas.figure().valueAt({3, 20}) == 0);
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, centre({3, 20}));
    CHECK(canvas.figure().valueAt({3, 20}) == 1);
    CHECK(editor.spec().mask.text().starts_with("painted(32,"));
    const auto isSeen = [&](int i, int j) {
        BitRow row;
        editor.spec().mask.row({.queries = 32, .keys = 32}, i, row);
        return row.test(j);
    };
    CHECK(isSeen(3, 20));
    CHECK(isSeen(3, 3));
    CHECK_FALSE(isSeen(3, 21));
    lab.press(lab.action("undo"));
    CHECK(editor.spec().mask.text() == "causal");
    CHECK(canvas.figure().valueAt({3, 20}) == 0);

    // A rectangle on both sides of the diagonal, and erased by hand.
    lab.find<QCheckBox>("paintSymmetric").setChecked(true);
    lab.find<QComboBox>("paintTool").setCurrentIndex(2);
    QTest::mousePress(&canvas, Qt::LeftButton, {}, centre({2, 10}));
    hover(canvas, centre({5, 14}), Qt::LeftButton);
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, centre({5, 14}));
    CHECK(isSeen(5, 14));
    CHECK(isSeen(14, 5));
    CHECK_FALSE(isSeen(6, 14));
    lab.find<QComboBox>("paintTool").setCurrentIndex(1);
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, centre({4, 12}));
    CHECK_FALSE(isSeen(4, 12));
    CHECK_FALSE(isSeen(12, 4));
}

TEST_CASE("lab: the reach of a token grows by a window's width with each layer", "[lab]") {
    PlaygroundWindow lab;
    type(lab.find<QLineEdit>("specText"), "mask=causal & window(4)");
    lab.find<QTabWidget>("playViews").setCurrentIndex(2);
    const auto& reach = lab.find<MatrixView>("reachMap").figure();
    lab.find<QSpinBox>("reachToken").setValue(31);
    lab.find<QSpinBox>("reachLayers").setValue(3);
    REQUIRE(reach.rows() == 4);
    for (int layer = 0; layer <= 3; ++layer)
        for (int key = 0; key < 32; ++key) {
            INFO("layer " << layer << ", key " << key);
            CHECK(reach.valueAt({layer, key}) == (31 - key <= 3 * layer ? 1 : 0));
        }
    CHECK(lab.find<QLabel>("reachRemark").text().contains("10"));
}
