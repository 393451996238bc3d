#include "engine/training/tasks/catalogue.h"
#include "tests/lab/lab_window.h"

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTest>
#include <QTreeView>

#include <algorithm>

using namespace attn;

namespace {

using State = TrainingSnapshot::State;

void choose(LabWindow& lab, const char* name, const QString& item) {
    auto& box = lab.find<QComboBox>(name);
    box.setCurrentIndex(box.findText(item));
    emit box.activated(box.currentIndex());
}

} // namespace

TEST_CASE("training: numbers ask for two languages, and for a family that reads a source", "[lab][translation]") {
    LabWindow lab;
    lab.showPanel("train");
    choose(lab, "task", "Translate numbers");
    CHECK(lab.find<QComboBox>("fromLanguage").currentText() == "English");
    CHECK(lab.find<QComboBox>("toLanguage").currentText() == "German");
    auto& family = lab.find<QComboBox>("family");
    CHECK(family.findData("t5") >= 0);
    CHECK(family.findData("gpt2") < 0);
    choose(lab, "task", "Sort");
    CHECK(family.findData("gpt2") >= 0);
    CHECK(family.findData("t5") < 0);
}

TEST_CASE("training: while a translation trains, the views show source and target, and samples show the source",
          "[lab][translation]") {
    LabWindow lab;
    Recipe recipe = suggestedRecipe(taskNamed("numbers"));
    recipe.settings.values = {{"digits", 3}};
    recipe.architecture.layers = 1;
    recipe.architecture.heads = 2;
    recipe.architecture.width = 16;
    recipe.batch = 8;
    recipe.schedule.steps = 20;
    recipe.evaluateEvery = recipe.checkpointEvery = 10;
    lab.window().workbench().requestRecipe(recipe);
    lab.showPanel("train");
    lab.click("train.play");
    const auto& training = lab.window().workbench().training();
    REQUIRE(lab.waitFor([&] { return training.snapshot()->state == State::Finished; }));
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown && lab.snapshot().shown->title == "step 20"; }));
    REQUIRE(lab.settle());
    const Snapshot& snapshot = lab.snapshot();
    REQUIRE(snapshot.model->readsSource);
    const GivenText& example = training.snapshot()->example;
    CHECK(snapshot.sequence->source.size() == example.tokens.size());
    CHECK(snapshot.sequence->tokens.size() == example.target.size() + 1); // and the token that begins it
    const auto& samples = *training.snapshot()->answers.samples;
    REQUIRE_FALSE(samples.empty());
    CHECK(samples.front().question.text.find("hundred") != std::string::npos);

    // A click on an answer shows the model while it gives it.
    lab.showPanel("samples");
    const auto& table = lab.find<QTreeView>("samples");
    const QModelIndex row = table.model()->index(1, 0);
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(row).center());
    REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->given.text == samples[1].question.text; }));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->source.size() == samples[1].question.tokens.size());
    REQUIRE(lab.snapshot().sequence->tokens.size() == samples[1].question.target.size() + 1);
    for (size_t i = 0; i < samples[1].question.target.size(); ++i)
        CHECK(lab.snapshot().sequence->tokens[i + 1].id == samples[1].question.target[i]);
}

TEST_CASE("training: the form lists the installed catalogues by language, and takes the chosen one",
          "[lab][translation]") {
    const QByteArray before = qgetenv("XDG_DATA_DIRS");
    LabWindow lab;
    const QString folder = lab.folder() + "/locale/sv/LC_MESSAGES";
    REQUIRE(QDir().mkpath(folder));
    QFile file(folder + "/a-test-catalogue.mo");
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(5'000'000, 'x')); // the largest: it comes first
    file.close();
    qputenv("XDG_DATA_DIRS", lab.folder().toUtf8());
    lab.showPanel("train");
    choose(lab, "task", "Translation");
    QMenu* menu = lab.find<QPushButton>("installedCatalogues").menu();
    emit menu->aboutToShow();
    const auto languages = menu->actions();
    const auto swedish = std::ranges::find(languages, "Swedish", &QAction::text);
    REQUIRE(swedish != languages.end());
    QAction* first = (*swedish)->menu()->actions().front();
    CHECK(first->text().startsWith("a-test-catalogue ("));
    first->trigger();
    CHECK(lab.find<QLineEdit>("textPath").text() == file.fileName());
    CHECK(QString::fromStdString(lab.window().lessons().recipe()->settings.data.text.string()) == file.fileName());
    qputenv("XDG_DATA_DIRS", before);
}
