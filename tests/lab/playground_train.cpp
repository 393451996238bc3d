#include "tests/lab/playground_test.h"

using namespace attn;

TEST_CASE("lab: Train this attention opens the Train panel with the spec, its heads and a task that suits it",
          "[lab]") {
    PlaygroundWindow lab;
    lab.click("trainSpec");
    auto& line = lab.find<QLineEdit>("recipeAttentionText");
    REQUIRE(lab.waitFor([&] { return line.isVisible(); }));
    CHECK(line.text() == "position=alibi, mask=causal");
    CHECK(lab.find<QComboBox>("task").currentText() == "Copy");
    CHECK(lab.find<QPushButton>("train.play").isEnabled());

    // A card: its part among defaults, and positions. Its queries see later tokens, so an encoder learns with it.
    lab.showPanel("playground");
    lab.find<QTabWidget>("playViews").setCurrentIndex(3);
    auto& list = lab.find<QTreeWidget>("partList");
    const auto found = list.findItems("Local window", Qt::MatchContains | Qt::MatchRecursive);
    REQUIRE_FALSE(found.empty());
    list.setCurrentItem(found.front());
    lab.click("trainPart");
    REQUIRE(lab.waitFor([&] { return line.isVisible(); }));
    CHECK(line.text().startsWith("position=learned, mask=window("));
    CHECK(lab.find<QComboBox>("task").currentText().startsWith("Masked"));
    CHECK(lab.find<QPushButton>("train.play").isEnabled());

    // A piece of ETC, which alone leaves the text nothing to see, is trained in its whole.
    lab.showPanel("playground");
    list.setCurrentItem(list.findItems("ETC, global to global", Qt::MatchContains | Qt::MatchRecursive).front());
    const QString details = lab.find<QLabel>("partDetails").text();
    CHECK(details.contains("in the composition to which it belongs"));
    CHECK(details.contains("--task masked-text"));
    lab.click("trainPart");
    REQUIRE(lab.waitFor([&] { return line.isVisible(); }));
    CHECK(line.text() == "position=learned, mask=etc(2, 3)");
    CHECK(lab.find<QPushButton>("train.play").isEnabled());

    // ETC's labels learn with ETC's segments, from hidden ones.
    lab.showPanel("playground");
    list.setCurrentItem(list.findItems("ETC labels", Qt::MatchContains | Qt::MatchRecursive).front());
    lab.click("trainPart");
    REQUIRE(lab.waitFor([&] { return line.isVisible(); }));
    CHECK(line.text() == "position=etc, mask=etc_hard(4, 8, 15)");
    CHECK(lab.find<QComboBox>("task").currentText().startsWith("Hidden segments"));
    CHECK(lab.find<QPushButton>("train.play").isEnabled());

    // Where nothing is masked, the task of the slot shows the part.
    lab.showPanel("playground");
    list.setCurrentItem(list.findItems("Rotary", Qt::MatchContains | Qt::MatchRecursive).front());
    lab.click("trainPart");
    REQUIRE(lab.waitFor([&] { return line.isVisible(); }));
    CHECK(line.text() == "position=rope, mask=causal");
    CHECK(lab.find<QComboBox>("task").currentText() == "Copy");
}

TEST_CASE("lab: the attention line of a recipe explains what cannot be trained, mends it, and trains", "[lab]") {
    LabWindow lab;
    lab.showPanel("train");
    auto& line = lab.find<QLineEdit>("recipeAttentionText");
    auto& problem = lab.find<QLabel>("recipeAttentionProblem");
    auto& play = lab.find<QPushButton>("train.play");
    CHECK_FALSE(problem.isVisible());
    type(line, "position=alibi, mask=causal; position=rop");
    CHECK(problem.text().contains("rope"));
    CHECK_FALSE(play.isEnabled());
    CHECK_FALSE(lab.find<QPushButton>("recipeAttentionNearest").isVisible());
    type(line, "position=alibi, mask=causal; position=rope, mask=window(4)");
    CHECK(problem.text().contains("the mask window(4) shows it"));
    CHECK_FALSE(play.isEnabled());
    lab.click("recipeAttentionNearest");
    CHECK(line.text() == "position=alibi, mask=causal; position=rope, mask=causal & window(4)");
    CHECK_FALSE(problem.isVisible());
    REQUIRE(play.isEnabled());
    lab.click("trainStep");
    const auto& training = lab.window().workbench().training();
    REQUIRE(lab.waitFor([&] { return training.snapshot()->step == 1; }));
    CHECK(training.snapshot()->recipe->architecture.attention == line.text().toStdString());
    // Emptied, the model is the family's own again.
    line.selectAll();
    QTest::keyClick(&line, Qt::Key_Delete);
    CHECK_FALSE(problem.isVisible());
    CHECK(play.isEnabled());
}
