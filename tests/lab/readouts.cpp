#include "app/figures/plot_figure.h"
#include "app/lab/models/sample_model.h"
#include "app/lab/widgets/figure_view.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/starting_model.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/lens_test.h"

#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QTreeWidget>

#include <fstream>

using namespace attn;

namespace {

using State = TrainingSnapshot::State;

void choose(LabWindow& lab, const char* name, const QString& item) {
    auto& box = lab.find<QComboBox>(name);
    box.setCurrentIndex(box.findText(item));
    emit box.activated(box.currentIndex());
}

/// The first label whose text contains a piece; null: there is none.
QLabel* labelWith(LabWindow& lab, const char* piece) {
    for (QLabel* label : lab.window().findChildren<QLabel*>())
        if (label->text().contains(piece)) return label;
    return nullptr;
}

/// Trains a small model to the end, and shows its last step.
void train(LabWindow& lab, Recipe recipe) {
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
}

} // namespace

TEST_CASE("training: classes of texts train from a file, and samples name the classes", "[lab][training]") {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "opinions.tsv", wrong = folder / "wrong.tsv";
    {
        std::ofstream file(path);
        for (int i = 0; i < 200; ++i)
            file << (i % 2 == 0 ? "good\ta fine day number " : "bad\ta dull day number ") << i << '\n';
        std::ofstream(wrong) << "good\tnice\nbad\n";
    }
    LabWindow lab;
    lab.showPanel("train");
    choose(lab, "task", "Classes of texts");
    CHECK(lab.find<QLabel>("recipeProblem").text() == "Choose a text file, then press Train.");
    CHECK(lab.find<QLabel>("trainState").text() == "Choose a text file, then press Train."); // at the greyed button
    auto& family = lab.find<QComboBox>("family");
    for (const char* id : {"bert", "gpt2", "llama"}) CHECK(family.findData(id) >= 0);

    Recipe recipe = suggestedRecipe(taskNamed("classify"));
    recipe.settings.data.text = path;
    train(lab, recipe);
    const auto& training = lab.window().workbench().training();
    const auto& samples = *training.snapshot()->answers.samples;
    REQUIRE_FALSE(samples.empty());
    for (const SampleAnswer& sample : samples) {
        CHECK(sample.expected.size() == 1);
        CHECK(sample.expected.front() == (sample.question.text.find("fine") != std::string::npos ? "good" : "bad"));
        CHECK((sample.given.front() == "good" || sample.given.front() == "bad"));
    }
    CHECK(lab.snapshot().sequence->tokens.size() == training.snapshot()->example.tokens.size());
    CHECK(lab.snapshot().readoutRows->queries == std::vector<int>{0}); // [CLS]

    // The window says what the model says of the text, and offers no controls of sampling.
    lab.act("workspace.inspect");
    lab.showPanel("next");
    auto& list = lab.find<QTreeView>("candidates");
    REQUIRE(list.model()->rowCount() == 2);
    CHECK(list.model()->headerData(0, Qt::Horizontal).toString() == "Class");
    const auto at = [&](int row, int column) { return list.model()->index(row, column).data().toString(); };
    CHECK(QStringList{at(0, 0), at(1, 0)}.contains("good"));
    CHECK(QStringList{at(0, 0), at(1, 0)}.contains("bad"));
    // The difference that a change makes stands beside them.
    CHECK(list.isColumnHidden(3));
    lab.closeGate(0, 0, 0);
    lab.window().workbench().showRun(ShownRun::Difference);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return !list.isColumnHidden(3); }));
    CHECK(at(0, 3).endsWith('%'));
    lab.window().workbench().showRun(ShownRun::Changed);
    lab.act("resetEdits");
    REQUIRE(lab.settle());
    CHECK(at(0, 1).chopped(2).toDouble() + at(1, 1).chopped(2).toDouble() == Approx(100).margin(0.11));
    CHECK(at(0, 1).chopped(2).toDouble() >= 50);
    for (const QDoubleSpinBox* box : lab.find<QWidget>("next").findChildren<QDoubleSpinBox*>())
        if (box->accessibleName() == "Temperature") CHECK_FALSE(box->isVisible());
    const size_t tokens = lab.snapshot().sequence->tokens.size();
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualRect(list.model()->index(0, 0)).center());
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->tokens.size() == tokens); // a class is no token to add
    CHECK(labelWith(lab, "Class lists what it says of this one."));

    // Lenses measure the logit of a class, or say why they cannot.
    lab.showPanel("lenses");
    auto& pages = lab.find<QComboBox>("lensPage");
    const auto run = [&](const char* lens) {
        REQUIRE(pages.findData(lens) >= 0);
        pages.setCurrentIndex(pages.findData(lens));
        runLens(lab);
        REQUIRE(lab.settle());
    };
    const auto says = [&](const char* lens, const QString& text) {
        INFO(lens);
        run(lens);
        CHECK(lab.waitFor([&] { return labelWith(lab, text.toUtf8().constData()); }, 60'000));
    };
    CHECK(lab.find<QComboBox>("lensTargets").findText("good") >= 0);
    says("ablation", "logit of “" + at(0, 0) + "”");
    says("formed", "“" + at(0, 0) + "”");
    CHECK(lab.find<QTreeWidget>("lensTable").headerItem()->text(0) == "class");
    CHECK(lab.find<LinesView>("lensBars").figure().placeTitle == "class");
    run("weighted");
    CHECK_FALSE(lab.find<MatrixView>("lensMatrix").figure().isEmpty());
    says("gradients", "logit of “" + at(0, 0) + "”");
    CHECK_FALSE(lab.find<QComboBox>("lensPosition").isVisible()); // the answer is of the whole text
    run("flow");
    CHECK(lab.find<QComboBox>("lensPosition").isVisible());
    says("logit", "Probability that the classifier gives to each class");
    CHECK_FALSE(lab.find<MatrixView>("lensMatrix").figure().isEmpty());
    lab.showPanel("curves");
    const auto& chart = static_cast<const FigureView<PlotFigure>&>(lab.find<QWidget>("lossChart"));
    CHECK(chart.figure().title == "Loss (lower is better)");

    recipe.settings.data.text = wrong;
    lab.window().workbench().requestRecipe(recipe);
    lab.click("train.play");
    REQUIRE(lab.waitFor([&] { return training.snapshot()->failure.has_value(); }));
    CHECK(training.snapshot()->failure->sentence().find("line 2 is not a label, a tab and a text") !=
          std::string::npos);
}

TEST_CASE("training: samples of numbers tell how far they are from the right ones", "[lab][training]") {
    LabWindow lab;
    const std::filesystem::path path = (lab.folder() + "/prices.csv").toStdString();
    {
        std::ofstream file(path);
        file << "text,price\n";
        for (int i = 0; i < 200; ++i) file << "day " << i << ',' << (i % 2 == 0 ? 17500 : -0.5) << '\n';
    }
    Recipe recipe = suggestedRecipe(taskNamed("text-numbers"));
    recipe.settings.data.text = path;
    CHECK_THAT(dataWarning(recipe), CONTAINS("the numbers of the table reach 17500"));
    train(lab, recipe);
    lab.showPanel("samples");
    CHECK(labelWith(lab, "the numbers are wrong by"));
    const QAbstractItemModel& table = *lab.find<QTreeView>("samples").model();
    REQUIRE(table.rowCount() > 0);
    for (int row = 0; row < table.rowCount(); ++row) {
        const QString right = table.index(row, SampleModel::ExpectedColumn).data().toString();
        CHECK((right == "17500" || right == "-0.5"));
        for (const QVariant& wrong : table.index(row, SampleModel::GivenColumn).data(SampleModel::WrongRole).toList())
            CHECK_FALSE(wrong.toBool());
    }
}

TEST_CASE("training: BERT's pretraining shows both of its measures and both of its readouts", "[lab][training]") {
    LabWindow lab;
    Recipe recipe = suggestedRecipe(taskNamed("next-sentence"));
    const QString path = lab.folder() + "/days.txt";
    QFile file(path);
    REQUIRE(file.open(QIODevice::WriteOnly));
    for (int week = 0; week < 60; ++week)
        file.write(QString("monday was wet %1\ntuesday was dry\nfriday was cold\n\n").arg(week % 7).toUtf8());
    file.close();
    recipe.settings.data.text = path.toStdString();
    recipe.settings.values = {{"context", 24}, {"vocabulary", 200}, {"hidden", 0.3}};
    train(lab, recipe);
    const auto& training = lab.window().workbench().training();
    CHECK_THAT(lab.find<QLabel>("trainState").text().toStdString(),
               CONTAINS(" · accuracy ") && CONTAINS(" · accuracy of hidden tokens "));
    const auto& samples = *training.snapshot()->answers.samples;
    REQUIRE_FALSE(samples.empty());
    for (const SampleAnswer& sample : samples) {
        CHECK((sample.expected.front() == "follows" || sample.expected.front() == "random"));
        CHECK(sample.expected.size() > 1);
        CHECK(sample.given.size() == sample.expected.size());
    }
    lab.showPanel("curves");
    const auto& chart = static_cast<const FigureView<PlotFigure>&>(lab.find<QWidget>("secondChart"));
    REQUIRE(lab.waitFor([&] { return chart.figure().lines.size() == 2; }));
    CHECK(chart.figure().lines[1].label == "accuracy of hidden tokens");

    lab.act("workspace.inspect");
    lab.showPanel("next");
    const auto says = [&](const char* prompt) {
        lab.window().bridge().post(SetPromptCommand{{.text = prompt}});
        REQUIRE(lab.settle());
        return lab.find<QTreeView>("candidates").model()->headerData(0, Qt::Horizontal).toString();
    };
    CHECK(says("the [MASK] ran") == "Hidden word");
    CHECK(says("the dog ran") == "Class");
    CHECK(lab.find<QTreeView>("candidates").model()->rowCount() == 2);
}

TEST_CASE("training: while text after a prefix trains, the views show the prefix and what follows", "[lab][training]") {
    LabWindow lab;
    Recipe recipe = suggestedRecipe(taskNamed("prefix-lm"));
    recipe.settings.data.text = "builtin:stories";
    recipe.settings.values = {{"context", 24}};
    train(lab, recipe);
    const GivenText& example = lab.window().workbench().training().snapshot()->example;
    REQUIRE(example.tokens.size() > 1);
    REQUIRE(example.target.size() > 1);
    CHECK(lab.snapshot().sequence->tokens.size() == example.tokens.size() + example.target.size());
}
