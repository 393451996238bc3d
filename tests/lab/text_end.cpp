#include "tests/lab/lab_window.h"

using namespace attn;

TEST_CASE("next token: the end of a text is said, and one continues or starts afresh", "[lab]") {
    LabWindow lab("builtin:sort", "3 1 2 =");
    lab.showPanel("next");
    auto& list = lab.find<QTreeView>("candidates");
    auto& said = lab.find<QLabel>("textEnded");
    REQUIRE(list.isVisible());
    const auto runToEnd = [&] {
        lab.click("run");
        REQUIRE(lab.waitFor([&] { return lab.snapshot().hasEnded; }));
        REQUIRE(lab.settle());
        CHECK_FALSE(list.isVisible());
        REQUIRE(said.isVisible());
        CHECK(said.text().startsWith("The text has ended: its last token, "));
    };
    runToEnd();
    lab.click("textEnded.2"); // Start afresh
    REQUIRE(lab.settle());
    CHECK(std::ranges::all_of(lab.snapshot().sequence->tokens, &TokenInfo::isPrompt));
    CHECK_FALSE(lab.snapshot().hasEnded);
    CHECK(list.isVisible());
    runToEnd();
    const size_t length = lab.snapshot().sequence->tokens.size();
    lab.click("textEnded.1"); // Continue
    CHECK(list.isVisible());
    CHECK_FALSE(said.isVisible());
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualRect(list.model()->index(0, 0)).center());
    CHECK(lab.waitFor([&] { return lab.snapshot().sequence->tokens.size() == length + 1; }));
}
