#include "tests/lab/lab_window.h"

#include "app/figures/drawing.h"
#include "app/lab/models/candidate_model.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "app/lab/widgets/token_chips.h"
#include "app/lab/widgets/weight_canvas.h"
#include "app/lab/workbench/session_file.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer.h"

#include <QLineEdit>

using namespace attn;

namespace {

void click(QAbstractScrollArea& area, const QPoint& position) {
    QTest::mouseClick(area.viewport(), Qt::LeftButton, {}, position);
}

void type(LabWindow& lab, const QString& text) {
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    prompt.setFocus();
    QTest::keyClick(&prompt, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(&prompt, text);
    lab.settle();
}

} // namespace

TEST_CASE("generate: opens with an example that has already run", "[lab]") {
    LabWindow lab;
    REQUIRE(lab.snapshot().grid);
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText().toStdString() == lab.snapshot().sequence->given.text);
    CHECK(lab.find<TokenChips>("promptTokens").count() > 3);
    CHECK(lab.find<QTreeView>("candidates").model()->rowCount() == CandidateModel::kLimit);
}

TEST_CASE("generate: a click hides a word, and its candidates fill it in", "[lab]") {
    LabWindow lab("builtin:masked", "It was the first day of spring.");
    CHECK_FALSE(lab.find<QPushButton>("run").isVisible()); // this model does not continue a text
    CHECK_FALSE(lab.action("run").isEnabled());
    lab.showPanel("next");
    auto& candidates = lab.find<QTreeView>("candidates");
    CHECK(candidates.model()->rowCount() == 0);
    CHECK(lab.find<QLabel>("hiddenWordHint").isVisible());

    auto& chips = lab.find<TokenChips>("promptTokens");
    CHECK_FALSE(chips.isVisible()); // the words stand in the prompt and in the text already
    lab.find<QCheckBox>("showTokens").click();
    lab.layOut();
    const auto clickWord = [&](const char* word) {
        const auto& tokens = lab.snapshot().sequence->tokens;
        const auto found = std::ranges::find(tokens, word, &TokenInfo::text);
        REQUIRE(found != tokens.end());
        click(chips, chips.chipRect(static_cast<int>(found - tokens.begin())).center());
        REQUIRE(lab.settle());
    };
    clickWord(" first");
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "It was the [MASK] day of spring.");
    std::string written;
    for (const TokenInfo& token : lab.snapshot().sequence->tokens) written += token.written;
    CHECK(written == "[CLS] it was the [MASK] day of spring. [SEP] ");
    CHECK(lab.window().workbench().selection().row == 4); // [CLS] it was the [MASK]
    CHECK(candidates.model()->rowCount() == CandidateModel::kLimit);
    CHECK_FALSE(lab.find<QLabel>("hiddenWordHint").isVisible());
    clickWord(" day"); // one word at a time
    CHECK(lab.snapshot().next->row == 5);
    CHECK(lab.snapshot().sequence->given.text == "It was the first [MASK] of spring.");
    clickWord("[MASK]");
    CHECK(lab.snapshot().sequence->given.text == "It was the first day of spring.");
    clickWord(" spring");
    const QString word = candidates.model()->index(0, 0).data(Qt::DisplayRole).toString().remove(0, 1);
    click(candidates, candidates.visualRect(candidates.model()->index(0, 0)).center());
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->given.text == "It was the first day of " + word.toStdString() + ".");
    lab.act("undo");
    CHECK(lab.snapshot().sequence->given.text == "It was the first day of [MASK].");

    type(lab, "It [MASK] the first day of [MASK].");
    CHECK(lab.snapshot().next->row == 7); // the last one
    const std::vector<float> last = lab.snapshot().next->logits;
    clickWord("[MASK]"); // the first one
    REQUIRE(lab.waitFor([&] { return lab.snapshot().next->row == 2; }));
    CHECK(lab.snapshot().next->logits != last);
    clickWord(" day"); // hides a third one, which is predicted
    REQUIRE(lab.waitFor([&] { return lab.snapshot().next->row == 5; }));
    REQUIRE(lab.settle());

    // What shows one row shows that of the hidden word.
    CHECK(std::ranges::all_of(lab.snapshot().readoutRows->queries, [](int query) { return query == 5; }));
    lab.showPanel("heads");
    CHECK(lab.find<QLabel>("headsCaption").text().contains(QString::fromUtf8("where “[MASK]” looks")));
}

TEST_CASE("generate: the formed path stands beside the run", "[lab]") {
    const char* model = GENERATE("builtin:stories", "builtin:vit-shapes");
    LabWindow lab(model);
    REQUIRE(lab.waitFor([&] { return lab.action("formedPath").isEnabled(); })); // the picture was classified
    lab.press(lab.action("formedPath"));
    const auto& view = lab.find<LensAnswerView>("lensAnswer");
    REQUIRE(lab.waitFor([&] { return !view.answer().rows.empty(); }));
    const LensAnswer& answer = view.answer();
    CAPTURE(answer.summary.toStdString());
    CHECK(answer.summary.contains("Both predict"));
    REQUIRE(answer.rows.size() > 1);
    const auto logit = readNumber(answer.rows.front()[1]), formed = readNumber(answer.rows.front()[2]);
    REQUIRE((logit && formed));
    CHECK(*logit == Approx(*formed).margin(1e-3));
}

TEST_CASE("generate: typing posts the prompt and shows its tokens", "[lab]") {
    LabWindow lab;
    lab.forget();
    type(lab, "abcabc");
    const auto prompts = lab.postedOf<SetPromptCommand>();
    REQUIRE_FALSE(prompts.empty());
    CHECK(prompts.back().given.text == "abcabc");
    CHECK(lab.snapshot().sequence->given.text == "abcabc");
    const auto& tokens = lab.snapshot().sequence->tokens;
    CHECK(lab.find<TokenChips>("promptTokens").count() == static_cast<int>(tokens.size()));
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "abcabc");
}

TEST_CASE("generate: an empty prompt is not run, and a warning moves no button", "[lab]") {
    LabWindow lab("builtin:english", "My dog");
    const auto& run = lab.find<QPushButton>("run");
    const auto& hint = lab.find<QLabel>("promptCount");
    lab.layOut();
    const QPoint place = run.mapTo(&lab.window(), QPoint());
    type(lab, "My dog ");
    REQUIRE(hint.text().contains("ends with a space"));
    lab.layOut();
    CHECK(run.mapTo(&lab.window(), QPoint()) == place);
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    QTest::keyClick(&prompt, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(&prompt, Qt::Key_Delete);
    lab.settle();
    const QString warning = hint.text();
    CHECK(warning.contains("prompt is empty"));
    lab.forget();
    lab.clickAndSettle("run");
    lab.clickAndSettle("step");
    CHECK(lab.postedOf<GenerateCommand>().empty());
    CHECK(hint.text() == warning);
    lab.layOut();
    CHECK(run.mapTo(&lab.window(), QPoint()) == place);
}

TEST_CASE("generate: a typed prompt comes back after other models and after a restart", "[lab]") {
    const QString mine = QString::fromUtf8("My friend Zo\u00e9 likes her dog");
    LabWindow lab("builtin:english");
    lab.find<QPlainTextEdit>("prompt").setPlainText(mine);
    REQUIRE(lab.settle());
    for (const char* model : {"builtin:sort", "builtin:vit-shapes", "builtin:english"}) {
        lab.window().files().open(model);
        REQUIRE(lab.settle());
    }
    CHECK(lab.snapshot().sequence->given.text == mine.toStdString());
    lab.window().close();
    const QVariant kept = QSettings().value("typedPrompt");
    CHECK(kept == mine);

    LabWindow next; // with settings of its own
    QSettings().setValue("typedPrompt", kept);
    next.window().files().open("builtin:english");
    REQUIRE(next.settle());
    CHECK(next.snapshot().sequence->given.text == mine.toStdString());
}

TEST_CASE("generate: prompts that do not fit in one line wait in a menu", "[lab]") {
    LabWindow lab("builtin:english");
    auto& rest = lab.find<QToolButton>("suggestion.rest");
    REQUIRE(rest.isVisible());
    REQUIRE_FALSE(rest.menu()->actions().isEmpty());
    const QAction* last = rest.menu()->actions().last();
    const auto& hidden = lab.find<QToolButton>(("suggestion." + last->text()).toUtf8().constData());
    CHECK_FALSE(hidden.isVisible());
    rest.menu()->actions().last()->trigger();
    REQUIRE(lab.settle());
    const std::string prompt = lab.snapshot().sequence->given.text;
    CHECK(hidden.toolTip().toStdString().ends_with(prompt));
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText().toStdString() == prompt);
}

TEST_CASE("generate: the focus stays where it is while the model writes, and never moves to Reset", "[lab]") {
    LabWindow lab("builtin:english");
    const char* name = GENERATE("run", "step");
    lab.find<QSpinBox>("amount").setValue(5);
    auto& button = lab.find<QPushButton>(name);
    for (size_t press = 0; press < 2; ++press) {
        const size_t before = lab.snapshot().sequence->tokens.size();
        button.setFocus();
        QTest::keyClick(&button, Qt::Key_Space);
        REQUIRE(lab.waitFor([&] {
            CHECK_FALSE(lab.find<QPushButton>("reset").hasFocus());
            return lab.snapshot().sequence->tokens.size() > before && button.isEnabled();
        }));
        CHECK(button.hasFocus());
    }
}

TEST_CASE("generate: what is typed while older prompts are still running is never overwritten", "[lab]") {
    LabWindow lab;
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    prompt.setFocus();
    QTest::keyClick(&prompt, Qt::Key_A, Qt::ControlModifier);
    QString typed;
    for (const QChar letter : QStringLiteral("abcdefghabcdefgh")) {
        QTest::keyClick(&prompt, letter.toLatin1());
        typed += letter;
        QTest::qWait(70); // longer than the pause after which a prompt is posted
        REQUIRE(prompt.toPlainText() == typed);
    }
}

TEST_CASE("generate: undo brings back the prompt and its branches, redo the new one", "[lab]") {
    LabWindow lab;
    type(lab, "abab");
    lab.act("step");
    const size_t nodes = lab.snapshot().branches->nodes.size();
    lab.pause(); // ends the typing's undo step
    type(lab, "cdcd");
    lab.find<QPlainTextEdit>("prompt").setFocus();
    QTest::keySequence(&lab.find<QPlainTextEdit>("prompt"), lab.action("undo").shortcut());
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->given.text == "abab");
    CHECK(lab.snapshot().branches->nodes.size() == nodes);
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "abab");
    lab.act("redo");
    CHECK(lab.snapshot().sequence->given.text == "cdcd");
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "cdcd");
}

TEST_CASE("generate: a click on a bar takes that token", "[lab]") {
    LabWindow lab;
    auto& list = lab.find<QTreeView>("candidates");
    const int token = list.model()->index(1, 0).data(CandidateModel::TokenRole).toInt();
    lab.forget();
    click(list, list.visualRect(list.model()->index(1, CandidateModel::ProbabilityColumn)).center());
    REQUIRE(lab.postedOf<TakeTokenCommand>().size() == 1);
    CHECK(lab.postedOf<TakeTokenCommand>()[0].token == token);
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->tokens.back().id == token);
    lab.act("undo");
    CHECK(lab.snapshot().sequence->tokens.back().isPrompt);
}

TEST_CASE("generate: a double click takes one token, and no row stays selected", "[lab]") {
    LabWindow lab;
    auto& list = lab.find<QTreeView>("candidates");
    const QPoint at = list.visualRect(list.model()->index(1, CandidateModel::ProbabilityColumn)).center();
    lab.forget();
    click(list, at);
    REQUIRE(lab.settle());
    QMouseEvent second(QEvent::MouseButtonDblClick, at, list.viewport()->mapToGlobal(at), Qt::LeftButton,
                       Qt::LeftButton, {});
    QCoreApplication::sendEvent(list.viewport(), &second);
    QTest::mouseRelease(list.viewport(), Qt::LeftButton, {}, at);
    REQUIRE(lab.settle());
    CHECK(lab.postedOf<TakeTokenCommand>().size() == 1);
    CHECK_FALSE(list.selectionModel()->hasSelection());
    CHECK_FALSE(list.currentIndex().isValid());
    click(list, at);
    CHECK(lab.postedOf<TakeTokenCommand>().size() == 2);
}

TEST_CASE("generate: a click on an earlier token branches from there and the tree shows both", "[lab]") {
    LabWindow lab;
    type(lab, "abcabc");
    for (int i = 0; i < 3; ++i) {
        lab.clickAndSettle("step");
    }
    auto& text = lab.find<GeneratedText>("text");
    const int last = text.count() - 1;
    click(text, text.tokenRect(last - 2).center());
    REQUIRE(lab.postedOf<GoToBranchCommand>().size() == 1);
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->tokens.size() == static_cast<size_t>(last - 1));
    auto& list = lab.find<QTreeView>("candidates");
    list.scrollTo(list.model()->index(4, 0));
    click(list, list.visualRect(list.model()->index(4, 0)).center());
    REQUIRE(lab.settle());
    auto& branches = lab.find<QTreeView>("branchTree");
    const QModelIndex trunk = branches.model()->index(0, 0);
    CHECK(branches.model()->rowCount(trunk) == 2);
}

TEST_CASE("generate: run writes live at the chosen speed and stop ends it at once", "[lab]") {
    LabWindow lab;
    lab.find<QSlider>("speed").setValue(8); // 35 tokens a second
    lab.find<QSpinBox>("amount").setValue(lab.find<QSpinBox>("amount").maximum());
    std::set<size_t> lengths;
    QObject::connect(
        &lab.window().workbench(), &Workbench::snapshotShown, &lab.window(),
        [&](const std::shared_ptr<const Snapshot>& snapshot) { lengths.insert(snapshot->sequence->tokens.size()); });
    lab.click("run");
    CHECK(lab.waitFor([&] { return lengths.size() >= 5; }));
    CHECK(lab.action("stop").isEnabled());
    lab.window().setFocus();
    lab.press(lab.action("stop"));
    CHECK(lab.waitFor([&] { return lab.snapshot().status.activity == Activity::Idle; }));
    const size_t length = lab.snapshot().sequence->tokens.size();
    CHECK(length < 100'000); // it did not run to its end
    QTest::qWait(200);
    CHECK(lab.snapshot().sequence->tokens.size() == length);
    lab.clickAndSettle("reset");
    CHECK(lab.snapshot().sequence->tokens.back().isPrompt);
}

TEST_CASE("generate: a single step has no speed", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("step");
    CHECK(lab.snapshot().sequence->tokens.size() == 7);
    CHECK(lab.snapshot().status.tokensPerSecond == 0);
}

TEST_CASE("next token: temperature changes the bars without running the model", "[lab]") {
    LabWindow lab;
    auto& list = lab.find<QTreeView>("candidates");
    const double before = list.model()->index(0, 0).data(CandidateModel::ProbabilityRole).toDouble();
    const uint64_t sequence = lab.snapshot().sequenceVersion;
    QDoubleSpinBox* temperature = nullptr;
    for (auto* box : lab.window().findChildren<QDoubleSpinBox*>())
        if (box->accessibleName() == "Temperature") temperature = box;
    REQUIRE(temperature);
    CHECK(temperature->isHidden()); // greedy choice ignores it
    auto* greedy = [&]() -> QCheckBox* {
        for (auto* box : lab.window().findChildren<QCheckBox*>())
            if (box->accessibleName() == "Greedy") return box;
        return nullptr;
    }();
    REQUIRE(greedy);
    greedy->setChecked(false);
    REQUIRE_FALSE(temperature->isHidden());
    temperature->setValue(1.9);
    CHECK(list.model()->index(0, 0).data(CandidateModel::ProbabilityRole).toDouble() < before);
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequenceVersion == sequence);
    const auto sampling = lab.postedOf<SetSamplingCommand>();
    REQUIRE_FALSE(sampling.empty());
    CHECK_FALSE(sampling.back().sampling.greedy);
    CHECK(sampling.back().sampling.temperature == Approx(1.9f));
}

TEST_CASE("generate: typing is one step of undo for each word, and after each pause", "[lab]") {
    LabWindow lab("builtin:stories", "Once");
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    const auto steps = [&] { return lab.window().workbench().undoStack().count(); };
    const auto add = [&](const QString& text) {
        prompt.setFocus();
        prompt.moveCursor(QTextCursor::End);
        QTest::keyClicks(&prompt, text);
        REQUIRE(lab.settle());
    };
    add(" up");
    add("on");
    CHECK(steps() == 1);
    add(" a");
    CHECK(steps() == 2);
    lab.pause();
    add("ll");
    CHECK(steps() == 3);
    for (const char* text : {"Once upon a", "Once upon", "Once"}) {
        lab.act("undo");
        CHECK(prompt.toPlainText() == text);
    }
}

TEST_CASE("model: choosing a parameter shows its weight", "[lab]") {
    LabWindow lab;
    lab.press(lab.action("panel.model"));
    auto& tree = lab.find<QTreeView>("parameters");
    tree.expandAll();
    const QModelIndex group = tree.model()->index(0, 0), leaf = tree.model()->index(0, 0, group);
    const QModelIndex parameter = leaf.isValid() ? leaf : group;
    click(tree, tree.visualRect(parameter).center());
    REQUIRE(lab.postedOf<ShowWeightCommand>().size() == 1);
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().weight);
    CHECK(lab.snapshot().weight->name == lab.postedOf<ShowWeightCommand>()[0].name);
    auto& canvas = lab.find<WeightCanvas>("weight");
    CHECK(canvas.isVisible());
    REQUIRE(canvas.numbers().csv);
    CHECK_FALSE(canvas.numbers().csv().isEmpty());
}

TEST_CASE("lab: the prompt shows whole lines in a small window", "[lab]") {
    LabWindow lab;
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    const int line = prompt.fontMetrics().lineSpacing();
    for (const QSize size : {QSize(1024, 700), {1024, 640}, {1280, 800}}) {
        lab.window().resize(size);
        lab.layOut();
        const int room = prompt.viewport()->height() - qCeil(2 * prompt.document()->documentMargin());
        INFO(size.height());
        CHECK(room >= 2 * line);
        CHECK(room % line == 0);
    }
}

TEST_CASE("lab: Stop passes the focus on to Run, also where no button began to write", "[lab]") {
    LabWindow lab;
    auto& stop = lab.find<QPushButton>("stop");
    lab.window().bridge().post(GenerateCommand{.maxTokens = 10'000, .tokensPerSecond = 20});
    REQUIRE(lab.waitFor([&] { return stop.isEnabled(); }));
    stop.setFocus();
    REQUIRE(lab.waitFor([&] { return stop.hasFocus(); }));
    stop.click();
    REQUIRE(lab.waitFor([&] { return !stop.isEnabled(); }));
    CHECK(lab.waitFor([&] { return lab.find<QPushButton>("run").hasFocus(); }));
}

TEST_CASE("generate: the tree of a text is typed below it, and one that is no tree is explained", "[lab]") {
    const Trainer trainer(suggestedRecipe(taskNamed("dependencies")), {.softwareThreads = 0});
    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    LabWindow lab("builtin:english");
    auto& tree = lab.find<QLineEdit>("tree");
    CHECK_FALSE(tree.isVisible());
    lab.window().files().open(QString::fromStdString(folder.path().string()));
    REQUIRE(lab.settle());
    REQUIRE(tree.isVisible());
    type(lab, "a b c d e f g h");
    CHECK(lab.snapshot().sequence->given.parents.empty());
    const auto logits = lab.snapshot().classes->logits;
    const auto write = [&](const char* text) {
        tree.setText(text);
        REQUIRE(lab.settle());
    };
    write("0 1 2 3 4 5 6 7");
    CHECK(lab.snapshot().sequence->given.parents == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(lab.snapshot().classes->logits != logits);
    const auto& hint = lab.find<QLabel>("promptCount");
    for (const auto& [text, why] : {std::pair{"0 1 x", "numbers with commas between them"},
                                    {"2, 3, 1", "This is not a tree: word 1 depends on itself through other words"},
                                    {"0, 0", "words 1 and 2 are both roots"}}) {
        lab.forget();
        write(text);
        CHECK(hint.text().contains(why));
        CHECK(lab.postedOf<SetPromptCommand>().empty());
    }
    const QByteArray saved = sessionToJson(SessionDocument::fromSnapshot(lab.snapshot()));
    CHECK(std::get<SessionDocument>(sessionFromJson(saved, "test")).given.parents ==
          lab.snapshot().sequence->given.parents);
    lab.press(lab.action("undo"));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->given.parents.empty());
    CHECK(tree.text().isEmpty());
}
