#include "app/figures/plot_figure.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/panels/compare_panel.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/widgets/figure_view.h"
#include "app/lab/widgets/recipe_form.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/training_test.h"

using namespace attn;

namespace {

/// Six small steps of the recipe in the form.
Recipe shortened(Recipe recipe) {
    recipe.schedule.steps = 6;
    recipe.batch = 4;
    recipe.evaluateEvery = recipe.checkpointEvery = 3;
    return recipe;
}

QDoubleSpinBox& numberTitled(QWidget& within, const QString& title) {
    for (auto* number : within.findChildren<QDoubleSpinBox*>())
        if (number->accessibleName() == title) return *number;
    throw std::runtime_error("no number has this title");
}

} // namespace

TEST_CASE("lab: Train from here trains the open model further", "[lab][training]") {
    LabWindow lab("builtin:reverse");
    REQUIRE(lab.settle());
    lab.act("trainWithModel");
    REQUIRE(lab.settle());
    auto* train = lab.window().findChild<TrainPanel*>();
    REQUIRE(train->recipe().has_value());
    CHECK(train->recipe()->task == "reverse"); // its own task
    CHECK(train->recipe()->start.model == "builtin:reverse");
    CHECK(lab.find<QLineEdit>("fromPath").text() == "builtin:reverse");
    CHECK_FALSE(lab.find<QWidget>("modelSection").isVisibleTo(train));
    Recipe recipe = shortened(*train->recipe());
    recipe.start.trained = "norms and readout";
    lab.window().workbench().requestRecipe(recipe);
    REQUIRE(lab.settle());
    lab.click("train.play");
    REQUIRE(trainsToItsEnd(lab));
    CHECK(training(lab).recipe->start.hash.size() == 64);
    CHECK(train->recipe() == *training(lab).recipe); // so that the run can be continued
    CHECK(training(lab).recipe->architecture.layers == 2);
    lab.find<QLineEdit>("fromPath").setText("");
    emit lab.find<QLineEdit>("fromPath").editingFinished();
    CHECK(train->recipe()->start.model.empty());
    CHECK(lab.find<QWidget>("modelSection").isVisibleTo(train));
}

TEST_CASE("lab: low-rank adapters are chosen in the form, and the runs say what they changed", "[lab][training]") {
    LabWindow lab("builtin:reverse");
    REQUIRE(lab.settle());
    lab.act("trainWithModel");
    REQUIRE(lab.settle());
    auto* train = lab.window().findChild<TrainPanel*>();
    auto& rank = numberTitled(*train, "Low-rank adapters (LoRA)");
    auto& trained = lab.find<QComboBox>("trained");
    CHECK(rank.isVisibleTo(train));
    CHECK(trained.isEnabled());
    trained.setCurrentIndex(1);
    emit trained.activated(1);
    CHECK(train->recipe()->start.trained == "norms and readout");
    rank.setValue(2);
    REQUIRE(train->recipe().has_value());
    CHECK(train->recipe()->start.adapters.rank == 2);
    CHECK(train->recipe()->start.trained == "all");
    CHECK_FALSE(trained.isEnabled());
    lab.window().workbench().requestRecipe(shortened(*train->recipe()));
    lab.click("train.play");
    REQUIRE(trainsToItsEnd(lab));
    CHECK(training(lab).parameterCount < training(lab).modelParameterCount / 10);
    CHECK_THAT(lab.find<QLabel>("trainState").toolTip().toStdString(), CONTAINS("trained parameters ("));

    lab.showPanel("runs");
    const RunListModel& runs = lab.window().workbench().runs();
    CHECK(runs.index(0, RunListModel::StartColumn).data() == "builtin:reverse");
    auto& table = lab.find<QTreeWidget>("startChanges");
    const auto cell = [&](int column) { return table.topLevelItem(0)->text(column); };
    REQUIRE(lab.waitFor([&] { return table.topLevelItemCount() == 2 && cell(1).endsWith("% · 2"); }));
    CHECK(table.isVisible());
    CHECK(cell(0) == "L0");
    CHECK(cell(2) == "0.0 % · 0"); // keys have no adapters
    CHECK(cell(3).endsWith("% · 2"));
    CHECK(table.topLevelItem(0)->toolTip(1).contains("singular values"));

    lab.click("compareStart");
    auto& panel = lab.find<ComparePanel>("compare");
    REQUIRE(lab.waitFor([&] {
        return panel.second().waitIdle(1) && panel.second().isComparable() && lab.snapshot().shown.has_value();
    }));
    CHECK(panel.second().with() == SecondRun::OtherModel);
    CHECK(panel.second().snapshot()->path() == "builtin:reverse");

    // A run from new parameters has nothing to compare with.
    Recipe fresh = shortened(suggestedRecipe(taskNamed("reverse")));
    fresh.architecture = {.layers = 1, .heads = 2, .width = 16};
    lab.window().workbench().requestRecipe(fresh);
    lab.showPanel("train");
    lab.click("train.play");
    REQUIRE(lab.waitFor([&] { return training(lab).recipe && training(lab).recipe->start.model.empty(); }));
    REQUIRE(trainsToItsEnd(lab));
    lab.showPanel("runs");
    CHECK(runs.index(0, RunListModel::StartColumn).data() == "new parameters");
    CHECK(lab.waitFor([&] { return !table.isVisible(); }));
}

TEST_CASE("lab: the form warns of a text that the model's tokens cannot write", "[lab][training]") {
    LabWindow lab;
    const QString path = lab.folder() + "/text.txt";
    QFile file(path);
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write(QString("жжжж there was a dog\n").repeated(40).toUtf8());
    file.close();
    Recipe recipe = suggestedRecipe(taskNamed("text"), "builtin:stories");
    recipe.settings.data.text = path.toStdString();
    lab.window().workbench().requestRecipe(recipe);
    const auto& warning = lab.find<QLabel>("recipeWarning");
    REQUIRE(lab.waitFor([&] { return warning.text().contains("cannot write 25 % of the characters"); })); // 4 of 16
    recipe.settings.data.tokens = "chars";
    lab.window().workbench().requestRecipe(recipe);
    CHECK(lab.waitFor([&] { return warning.isHidden(); }));
}

TEST_CASE("lab: a chart shows the exact matches of each task of a text", "[lab][training]") {
    LabWindow lab;
    RunListModel& runs = lab.window().workbench().runs();
    const QString folder = lab.folder() + "/runs/tasks";
    runs.add(folder, suggestedRecipe(taskNamed("text-to-text")));
    runs.append(folder, {{1, {{"loss", 2}, {"metric", 0.4}, {"subtasks.plural", 0.2}, {"subtasks.repeat", 0.5}}},
                         {2, {{"loss", 1}, {"metric", 0.6}, {"subtasks.plural", 0.7}, {"subtasks.repeat", 1}}}});
    runs.setActive(folder);
    lab.showPanel("curves");
    auto& quantity = lab.find<QComboBox>("quantity");
    REQUIRE(lab.waitFor([&] { return quantity.findText("Exact match of each task") >= 0; }));
    quantity.setCurrentIndex(quantity.findText("Exact match of each task"));
    const auto& chart = static_cast<const FigureView<PlotFigure>&>(lab.find<QWidget>("secondChart"));
    REQUIRE(lab.waitFor([&] { return chart.figure().lines.size() == 2; }));
    CHECK(chart.figure().lines[0].label == "plural");
    CHECK(chart.figure().lines[1].label == "repeat");
    CHECK(chart.figure().lines[0].points[1].y() == 0.7);
    CHECK(chart.figure().maximum == 1);
}

TEST_CASE("lab: the chart of the metric shows only runs that measure the same", "[lab][training]") {
    LabWindow lab;
    RunListModel& runs = lab.window().workbench().runs();
    const auto add = [&](const char* task, double metric) {
        const QString folder = lab.folder() + "/runs/" + task;
        runs.add(folder, suggestedRecipe(taskNamed(task)));
        runs.append(folder, {{1, {{"loss", 2}, {"metric", metric}}}, {2, {{"loss", 1}, {"metric", metric}}}});
        return folder;
    };
    const QString sort = add("sort", 0.5);
    add("text", 3.5); // its metric is a loss
    runs.setActive(sort);
    lab.showPanel("curves");
    const auto& chart = static_cast<const FigureView<PlotFigure>&>(lab.find<QWidget>("secondChart"));
    REQUIRE(lab.waitFor([&] { return chart.figure().lines.size() == 1; }));
    CHECK(chart.figure().title == "Exact match");
    CHECK(chart.figure().maximum == 1);
    CHECK_THAT(lab.find<QLabel>("curvesMoment").text().toStdString(), CONTAINS("leaves out") && CONTAINS("text ("));
    runs.setShown(runs.rowOf(sort), false);
    REQUIRE(lab.waitFor([&] { return chart.figure().maximum > 3; }));
    CHECK(lab.find<QLabel>("curvesMoment").isHidden());
    runs.setActive(add("text-numbers", 0.02));
    REQUIRE(lab.waitFor([&] { return chart.figure().title == "Mean squared error (lower is better)"; }));
    CHECK(chart.figure().maximum == Approx(0.021)); // fits the errors
}
