#include "app/lab/widgets/matrix_view.h"
#include "engine/training/attention_recipe.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/training_test.h"

using namespace attn;

TEST_CASE("lab: two LSTM layers train in the Train panel and are drawn by their states", "[lab][training]") {
    LabWindow lab;
    Recipe recipe = suggestedRecipe(taskNamed("copy"));
    recipe.settings.values = {{"length", 3}};
    recipe.architecture.layers = 2;
    recipe.architecture.heads = 1;
    recipe.architecture.width = 16;
    recipe.batch = 8;
    recipe.schedule.steps = recipe.checkpointEvery = recipe.evaluateEvery = 20;
    recipe.architecture.attention = "mixer=lstm";
    lab.window().workbench().requestRecipe(recipe);
    lab.showPanel("train");
    auto& line = lab.find<QLineEdit>("recipeAttentionText");
    REQUIRE(lab.waitFor([&] { return line.isVisible(); }));
    auto& play = lab.find<QPushButton>("train.play");
    CHECK_FALSE(play.isEnabled());
    CHECK(lab.find<QLabel>("recipeAttentionProblem").text().contains("needs the mask causal instead of full"));
    line.setFocus();
    line.selectAll();
    QTest::keyClicks(&line, "mixer=lstm, mask=causal");
    QTest::keyClick(&line, Qt::Key_Return);
    REQUIRE(lab.waitFor([&] { return play.isEnabled(); }));
    lab.click("train.play");
    REQUIRE(trainsToItsEnd(lab));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown && lab.snapshot().shown->title == "step 20"; }));

    lab.showPanel("attention"); // there is no pattern to draw
    CHECK(lab.find<QWidget>("attentionPatternless").isVisible());
    lab.showPanel("lenses");
    auto& page = lab.find<QComboBox>("lensPage");
    page.setCurrentIndex(page.findData("values"));
    auto& matrix = lab.find<MatrixView>("lensMatrix");
    const auto shows = [&](const QString& hook) {
        return lab.waitFor([&] { return matrix.isVisible() && matrix.figure().title.contains(hook); });
    };
    REQUIRE(shows("blocks.0.attn.hook_state"));
    const int tokens = lab.window().workbench().tokenCount();
    CHECK(tokens > 3);
    CHECK(matrix.figure().rows() == tokens);
    CHECK(matrix.figure().columns() == 16);
    CHECK(matrix.figure().rowTitle == "token");
    auto& hooks = lab.find<QComboBox>("lensHook");
    REQUIRE(hooks.isVisible());
    for (const char* name : {"State", "Cell", "Candidate", "Input gate", "Forget gate", "Output gate", "Output",
                             "Residual stream after the layer"})
        CHECK(hooks.findText(name) >= 0);
    const int forget = hooks.findText("Forget gate");
    hooks.setCurrentIndex(forget);
    emit hooks.activated(forget);
    REQUIRE(shows("blocks.0.attn.hook_forget_gate"));
    for (int row = 0; row < tokens; ++row)
        for (int unit = 0; unit < 16; ++unit) {
            CHECK(matrix.figure().valueAt({row, unit}) > 0);
            CHECK(matrix.figure().valueAt({row, unit}) < 1);
        }
    lab.window().workbench().select({.site = 1}); // the same value of the other layer
    REQUIRE(shows("blocks.1.attn.hook_forget_gate"));
    CHECK_FALSE(lab.snapshot().failure);
}
