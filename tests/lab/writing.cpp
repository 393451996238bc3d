#include "app/lab/widgets/generated_text.h"
#include "tests/lab/lab_window.h"

#include <QLabel>

// What is shown belongs to what stands in the prompt, and the model's folder says how the window writes.

using namespace attn;

namespace {

void emptyPrompt(LabWindow& lab) {
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    prompt.setFocus();
    QTest::keyClick(&prompt, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(&prompt, Qt::Key_Delete);
    REQUIRE(lab.settle());
}

void click(QTreeView& list, int row) {
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualRect(list.model()->index(row, 0)).center());
}

} // namespace

TEST_CASE("writing: an emptied prompt leaves no view and no candidate, and Undo brings them back", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.showPanel("next");
    auto& list = lab.find<QTreeView>("candidates");
    REQUIRE(list.isVisible());
    lab.pause();
    emptyPrompt(lab);
    CHECK(lab.snapshot().sequence->tokens.empty());
    CHECK_FALSE(lab.snapshot().grid);
    CHECK(list.model()->rowCount() == 0);
    CHECK_FALSE(list.isVisible());
    CHECK(lab.find<QLabel>("nextEmpty").isVisible());
    CHECK(lab.find<GeneratedText>("text").toPlainText().isEmpty());
    CHECK(lab.find<QLabel>("promptCount").text().contains("prompt is empty"));
    lab.forget();
    lab.clickAndSettle("run");
    CHECK(lab.postedOf<GenerateCommand>().empty());
    lab.act("undo");
    CHECK(lab.text() == "abcabc");
    CHECK(list.isVisible());
    CHECK_FALSE(lab.find<QLabel>("nextEmpty").isVisible());
    lab.act("redo");
    CHECK(lab.snapshot().sequence->tokens.empty());
    lab.act("undo");
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "abcabc");
}

TEST_CASE("writing: an empty prompt of a model with a first token is that token, and Run writes from it", "[lab]") {
    LabWindow lab("builtin:stories");
    emptyPrompt(lab);
    REQUIRE(lab.snapshot().sequence->tokens.size() == 1);
    CHECK(lab.snapshot().grid);
    lab.find<QSpinBox>("amount").setValue(3);
    lab.clickAndSettle("run");
    CHECK(lab.snapshot().sequence->tokens.size() == 4);
}

TEST_CASE("writing: a click on what belongs to another text does nothing", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.showPanel("next");
    lab.act("step");
    auto& list = lab.find<QTreeView>("candidates");
    auto& text = lab.find<GeneratedText>("text");
    const auto clickBoth = [&] {
        lab.forget();
        click(list, 1);
        QTest::mouseClick(text.viewport(), Qt::LeftButton, {}, text.tokenRect(1).center());
        CHECK(lab.postedOf<TakeTokenCommand>().empty());
        CHECK(lab.postedOf<GoToBranchCommand>().empty());
    };
    lab.window().bridge().post(SetPromptCommand{{.text = "xyzxyz"}}); // on its way
    clickBoth();
    REQUIRE(lab.settle());
    CHECK(lab.text() == "xyzxyz");
    lab.window().bridge().post(RestoreBranchesCommand{.given = {.text = "qrqr"}});
    clickBoth();
    REQUIRE(lab.settle());
    CHECK(lab.text() == "qrqr");
    lab.window().files().open("builtin:sort");
    clickBoth();
    lab.window().files().open("builtin:induction");
    REQUIRE(lab.settle());
    lab.window().bridge().post(SetPromptCommand{{.text = "ABC"}}); // which the model cannot read
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().unread);
    CHECK_FALSE(list.isEnabled());
    CHECK_FALSE(text.isEnabled());
    clickBoth();
    lab.window().bridge().post(SetPromptCommand{{.text = "abab"}});
    REQUIRE(lab.settle());
    CHECK(list.isEnabled());
    click(list, 1);
    CHECK(lab.postedOf<TakeTokenCommand>().size() == 1);
}

TEST_CASE("writing: a sentence says why the text ended, and goes when it continues", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    const auto& ended = lab.find<QLabel>("textEnd");
    CHECK_FALSE(ended.isVisible());
    lab.find<QSpinBox>("amount").setValue(4);
    lab.clickAndSettle("run");
    CHECK(ended.isVisible());
    CHECK(ended.text() == "The model wrote 4 tokens, as many as it was asked for.");
    lab.act("step");
    CHECK_FALSE(ended.isVisible());
}
