#include "tests/lab/lab_window.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/common/theme.h"
#include "app/lab/models/branch_tree_model.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/limited_editor.h"
#include "app/lab/widgets/token_chips.h"

using namespace attn;

TEST_CASE("lab: themes change palette and type, never the session", "[lab]") {
    LabWindow lab;
    const uint64_t version = lab.snapshot().sequenceVersion;
    lab.press(lab.action("themeDark"));
    CHECK(QApplication::palette().color(QPalette::Base).lightness() < 60);
    const qreal size = QApplication::font().pointSizeF();
    lab.press(lab.action("themeProjector"));
    CHECK(QApplication::palette().color(QPalette::Base) == Qt::white);
    CHECK(QApplication::palette().color(QPalette::Text) == Qt::black);
    CHECK(QApplication::font().pointSizeF() > 1.4 * size);
    lab.press(lab.action("themeLight"));
    CHECK(QApplication::font().pointSizeF() == Approx(size));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequenceVersion == version);
}

TEST_CASE("lab: a prompt of 2000 characters is answered by text or by a sentence", "[lab]") {
    LabWindow lab;
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    prompt.setPlainText(QString("abcdefghij").repeated(200));
    REQUIRE(lab.settle());
    const bool isShown = lab.find<TokenChips>("promptTokens").count() > 100;
    CHECK((isShown || lab.snapshot().failureCount > 0));
    prompt.setPlainText("abab");
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->given.text == "abab");
}

TEST_CASE("lab: emoji, right-to-left and combining text neither crash nor get stuck", "[lab]") {
    LabWindow lab;
    for (const char* text : {"🙂👩‍👩‍👧", "שלום עולם", "مرحبا", "é̂ ǹ", "\t\n  ", "世界"}) {
        lab.find<QPlainTextEdit>("prompt").setPlainText(QString::fromUtf8(text));
        REQUIRE(lab.settle());
        lab.window().grab();
    }
}

TEST_CASE("generated text: tokens of any script keep their places", "[lab]") {
    LabWindow lab;
    GeneratedText text;
    text.resize(400, 200);
    std::vector<TokenInfo> tokens;
    for (const char* piece : {"שלום", " עולם", "🙂", "世", "界", "\n", "abc"})
        tokens.push_back({.id = 1,
                          .text = piece,
                          .written = piece,
                          .branchNode = 0,
                          .isSpecial = false,
                          .isPrompt = false,
                          .probability = 0.5f});
    text.setTokens(tokens);
    text.show();
    // Every visible token has a place where a click means it.
    std::set<int> found;
    for (int y = 0; y < text.viewport()->height(); y += 4)
        for (int x = 0; x < text.viewport()->width(); x += 2) found.insert(text.tokenAt({x, y}));
    for (int i = 0; i < text.count(); ++i)
        if (tokens[static_cast<size_t>(i)].text != "\n") CHECK(found.count(i) == 1);
    CHECK(found.count(-1) == 1);
    tokens.resize(3);
    text.setTokens(tokens);
    CHECK(text.count() == 3);
    CHECK(text.toPlainText() == QString::fromUtf8("שלום עולם🙂"));
}

TEST_CASE("branch tree: runs are one row, forks are children, growth keeps the rows", "[lab]") {
    auto tree = std::make_shared<BranchTree>();
    const auto add = [&](int parent, const char* text) {
        tree->nodes.push_back({.token = 1, .parent = parent, .text = text, .probability = 0.5f});
        return static_cast<int>(tree->nodes.size()) - 1;
    };
    tree->nodes.push_back({});
    const int a = add(0, "a"), b = add(a, "b"), c = add(b, "c"), d = add(b, "d");
    tree->current = c;
    BranchTreeModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setTree(tree);
    REQUIRE(model.rowCount() == 1);
    const QModelIndex trunk = model.index(0, 0);
    CHECK(trunk.data().toString() == "ab");
    REQUIRE(model.rowCount(trunk) == 2);
    CHECK(model.currentRow() == model.index(0, 0, trunk));
    CHECK(model.index(1, 0, trunk).data(BranchTreeModel::NodeRole).toInt() == d);
    auto grown = std::make_shared<BranchTree>(*tree);
    tree = grown;
    add(d, "e");
    bool wasReset = false;
    QObject::connect(&model, &QAbstractItemModel::modelReset, &model, [&] { wasReset = true; });
    model.setTree(tree);
    CHECK_FALSE(wasReset);
    CHECK(model.index(1, 0, trunk).data().toString() == "de");
    model.setTree(nullptr);
    CHECK(model.rowCount() == 0);
}

TEST_CASE("lab: a thousand random clicks and keys leave the window alive", "[lab]") {
    LabWindow lab;
    std::mt19937 random(7);
    const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
    const QList<Qt::Key> keys = {Qt::Key_Space, Qt::Key_Return, Qt::Key_Up,        Qt::Key_Down, Qt::Key_Left,
                                 Qt::Key_Right, Qt::Key_A,      Qt::Key_Backspace, Qt::Key_Tab,  Qt::Key_Plus,
                                 Qt::Key_Minus, Qt::Key_Delete, Qt::Key_End};
    QTimer popups; // a menu runs its own event loop inside the click that opens it: nothing else could close it
    QObject::connect(&popups, &QTimer::timeout, &popups, [] {
        if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
    });
    popups.start(20);
    for (int i = 0; i < 1000; ++i) {
        for (auto* dialog : lab.window().findChildren<QDialog*>()) dialog->reject();
        const auto widgets = lab.window().findChildren<QWidget*>();
        QWidget* target = widgets[pick(static_cast<int>(widgets.size()))];
        // A floating or closed dock would take every later click away; dock buttons are Qt's.
        if (!target->isVisible() || target->window() != &lab.window() ||
            target->objectName().startsWith("qt_dockwidget"))
            continue;
        const QPoint at(pick(std::max(1, target->width())), pick(std::max(1, target->height())));
        switch (pick(4)) {
        case 0:
            QTest::keyClick(target, keys[pick(static_cast<int>(keys.size()))]);
            break;
        case 1:
            QTest::mouseDClick(target, Qt::LeftButton, {}, at);
            break;
        default:
            QTest::mouseClick(target, Qt::LeftButton, {}, at);
            break;
        }
        if (i % 10 == 0) QCoreApplication::processEvents();
    }
    lab.window().bridge().post(StopCommand{});
    REQUIRE(lab.settle());
    // The clicks may have opened another model, or trained one, that has no such letters: then it says so.
    const uint64_t failures = lab.snapshot().failureCount;
    lab.find<QPlainTextEdit>("prompt").setPlainText("abcabc");
    const bool isAnswered = lab.waitFor(
        [&] { return lab.snapshot().sequence->given.text == "abcabc" || lab.snapshot().failureCount > failures; });
    CAPTURE(lab.snapshot().model->name, lab.snapshot().sequence->given.text);
    CHECK(isAnswered);
}

TEST_CASE("lab: pasting from an empty clipboard changes nothing", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    auto& prompt = lab.find<LimitedEditor>("prompt");
    struct Editor : LimitedEditor { // to reach what a paste calls
        using LimitedEditor::insertFromMimeData;
    };
    (prompt.*(&Editor::insertFromMimeData))(nullptr);
    const QMimeData empty;
    (prompt.*(&Editor::insertFromMimeData))(&empty);
    CHECK(prompt.toPlainText() == "abcabc");
}

TEST_CASE("lab: locks are set although a field makes its controls again when it loses the focus", "[lab]") {
    LabWindow lab;
    auto* container = new QWidget(&lab.window());
    assignControlGroup(container, "recipe");
    auto* field = new QLineEdit(container);
    container->show();
    for (int i = 0; i < 40; ++i) assignControlGroup(new QWidget(container), "recipe");
    const QPointer<QWidget> made = container;
    QObject::connect(field, &QLineEdit::editingFinished, container, [container, field] {
        for (QWidget* each : container->findChildren<QWidget*>())
            if (each != field) delete each;
    });
    field->setFocus();
    REQUIRE(lab.waitFor([&] { return field->hasFocus(); }));
    QTest::keyClicks(field, "x"); // or else there is nothing to take
    lab.window().locks().setOwn({{"recipe", ControlState::Locked}});
    CHECK(made->findChildren<QWidget*>().size() == 1); // the field alone
    CHECK_FALSE(container->isEnabled());
    lab.window().locks().setOwn({});
    CHECK(container->isEnabled());
}
