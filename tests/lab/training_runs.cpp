#include "app/figures/token_label.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/widgets/recipe_form.h"
#include "engine/io/run_folder.h"
#include "engine/training/checkpoint.h"
#include "tests/lab/training_test.h"

#include <cstdio>

// What becomes of training runs: their names, the list, their animation.

using namespace attn;
using State = TrainingSnapshot::State;

TEST_CASE("lab: the name of a run loses the step of a former moment when the views follow it again",
          "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 100'000);
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown && training(lab).step > 3; }));
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).state == State::Paused; }));
    REQUIRE(lab.settle());
    const std::string example = lab.text(); // with its answer
    const auto& state = lab.find<QLabel>("trainState");
    const QString step = QString::number(training(lab).step);
    CHECK(state.text().startsWith("Paused at step " + step));
    lab.act("undo");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction"; }));
    CHECK(state.text() == "Another model is open. The run “reverse” stands at step " + step + " of 100000.");
    lab.act("redo");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name.starts_with("reverse, step "); }));
    CHECK(state.text().startsWith("Paused at step " + step));
    CHECK(lab.waitFor([&] { return lab.snapshot().sequence && lab.text() == example; }, 10'000));
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown.has_value(); }));
    CHECK(lab.snapshot().model->name == "reverse");
}

TEST_CASE("lab: runs are ticked, renamed, duplicated, deleted and brought back", "[lab][training]") {
    LabWindow lab;
    for (int i = 0; i < 2; ++i) {
        setSmallRecipe(lab, 5);
        lab.press(lab.action("trainPlay"));
        REQUIRE(lab.waitFor([&] { return static_cast<int>(lab.window().workbench().runs().runs().size()) == i + 1; }));
        // Not the end of the run before, which is on screen until this one has begun.
        REQUIRE(lab.waitFor([&] {
            return QString::fromStdString(training(lab).folder) == lab.window().workbench().runs().runs()[0].folder;
        }));
        REQUIRE(trainsToItsEnd(lab));
    }
    RunListModel& runs = lab.window().workbench().runs();
    CHECK(runs.runs()[0].name == "reverse-2");
    CHECK(runs.runs()[0].isShown);
    runs.setShown(1, true);
    lab.showPanel("curves");
    // Training and validation of each.
    REQUIRE(lab.waitFor([&] { return lossCurves(lab).size() == 4; }));
    lab.showPanel("runs");
    auto& table = lab.find<QTreeView>("runs");
    CHECK(runs.setData(runs.index(1, 0), "first", Qt::EditRole));
    CHECK(QDir(lab.folder() + "/runs/first").exists());
    CHECK_FALSE(runs.setData(runs.index(0, 0), "other", Qt::EditRole)); // it is at hand
    table.setCurrentIndex(runs.index(1, 0));
    lab.click("deleteRun");
    CHECK(runs.runs().size() == 1);
    CHECK_FALSE(QDir(lab.folder() + "/runs/first").exists());
    lab.window().workbench().undoStack().undo();
    REQUIRE(runs.runs().size() == 2);
    CHECK(QDir(lab.folder() + "/runs/first").exists());
    CHECK(checkpoints((lab.folder() + "/runs/first").toStdString()).size() == 2);
    // The run that was trained last is held by the trainer, whichever is at hand.
    CHECK(runs.isInUse(lab.folder() + "/runs/reverse-2"));
    table.setCurrentIndex(runs.index(0, 0));
    lab.click("openRun");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown && lab.snapshot().model->name == "first"; }));
}

TEST_CASE("lab: a run that trains is not moved while another is at hand", "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 5);
    lab.press(lab.action("trainPlay"));
    REQUIRE(trainsToItsEnd(lab));
    RunListModel& runs = lab.window().workbench().runs();
    const QString first = runs.active();
    setSmallRecipe(lab, 100'000);
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).step > 2 && training(lab).state == State::Training; }));
    runs.setActive(first);
    lab.showPanel("runs");
    auto& table = lab.find<QTreeView>("runs");
    table.setCurrentIndex(runs.index(0, 0));
    CHECK(runs.runs()[0].folder != first);
    CHECK_FALSE(lab.find<QPushButton>("deleteRun").isEnabled());
    CHECK_FALSE(runs.setData(runs.index(0, 0), "moved", Qt::EditRole));
}

TEST_CASE("lab: another run opens with an example of its own beside the one that trains", "[lab][training]") {
    LabWindow lab;
    RunListModel& runs = lab.window().workbench().runs();
    setSmallRecipe(lab, 5);
    lab.press(lab.action("trainPlay"));
    REQUIRE(trainsToItsEnd(lab));
    const QString reverse = runs.active();
    Recipe add = *lab.window().lessons().recipe();
    add.task = "add"; // which has other tokens
    add.settings.values = {};
    add.schedule.steps = 100'000;
    lab.window().workbench().requestRecipe(add);
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).step > 3 && lab.snapshot().model->name == "add"; }));
    const int row = runs.rowOf(reverse);
    lab.showPanel("runs");
    lab.find<QTreeView>("runs").setCurrentIndex(runs.index(row, 0));
    lab.click("openRun");
    REQUIRE(lab.waitFor(
        [&] { return lab.snapshot().model && lab.snapshot().model->name == "reverse" && lab.snapshot().sequence; }));
    REQUIRE(lab.settle());
    CHECK_FALSE(banner(lab, "failureBanner").isVisible());
    QFile config(QString::fromStdString((checkpoints(reverse.toStdString()).back() / "config.json").string()));
    REQUIRE(config.open(QFile::ReadOnly));
    CHECK(lab.text() == QJsonDocument::fromJson(config.readAll())["example_prompt"].toString().toStdString());
    CHECK((lab.snapshot().next && lab.snapshot().grid));
    lab.window().workbench().training().session().pause();
}

TEST_CASE("lab: a run whose table cannot be read leaves the figures of the run before, and says why",
          "[lab][training]") {
    LabWindow lab;
    RunListModel& runs = lab.window().workbench().runs();
    setSmallRecipe(lab, 10);
    lab.press(lab.action("trainPlay"));
    REQUIRE(trainsToItsEnd(lab));
    const QString good = runs.active();
    lab.showPanel("curves");
    REQUIRE(lab.waitFor([&] { return !lossCurves(lab).empty(); }));
    const auto answers = lab.window().workbench().training().answers();
    REQUIRE(answers);
    const QString table = lab.folder() + "/broken.csv";
    writeText(table, "text,marks\nno column of numbers,\n");
    Recipe recipe = suggestedRecipe(taskNamed("text-numbers"));
    recipe.settings.data.text = table.toStdString();
    auto* form = lab.window().findChild<RecipeForm*>();
    REQUIRE(form);
    form->setRecipe(recipe);
    emit form->changed();
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return !training(lab).refused.empty(); }));
    CHECK(lab.find<QLabel>("trainState").text() ==
          "This training run cannot begin: " + shownText(training(lab).failure->sentence()));
    CHECK(banner(lab, "failureBanner").isVisible());
    CHECK(form->recipe() == recipe);
    REQUIRE(runs.runs().size() == 1);
    CHECK(runs.active() == good);
    CHECK(runs.runs()[0].isShown);
    CHECK(lab.waitFor([&] { return lab.find<QWidget>("lossChart").isVisible(); }));
    REQUIRE(lab.window().workbench().training().answers());
    CHECK(lab.window().workbench().training().answers()->samples == answers->samples);
    form->setRecipe(runs.runs()[0].recipe);
    emit form->changed();
    CHECK(lab.find<QLabel>("trainState").text() == "This run is finished.");
}

TEST_CASE("lab: to continue a run is never to pause it, nor another one", "[lab][training]") {
    LabWindow lab;
    auto& panel = lab.window().panels().the<TrainPanel>();
    RunListModel& runs = lab.window().workbench().runs();
    const auto trains = [&](const QString& run) {
        return training(lab).state == State::Training && training(lab).folder == run.toStdString();
    };
    QStringList folders;
    for (int i = 0; i < 2; ++i) {
        setSmallRecipe(lab, 100'000);
        lab.press(lab.action("trainPlay"));
        folders << runs.active();
        REQUIRE(lab.waitFor([&] { return trains(folders.back()) && training(lab).step > 2; }));
    }
    for (int i = 0; i < 2; ++i) { // the second one trains
        panel.continueRun(folders[1]);
        lab.settle();
        CHECK(trains(folders[1]));
    }
    runs.setActive(folders[0]);
    CHECK(lab.find<QPushButton>("train.play").text() == "Continue");
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return trains(folders[0]); }));
    panel.continueRun(folders[1]);
    REQUIRE(lab.waitFor([&] { return trains(folders[1]); }));
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).state == State::Paused; }));
    panel.continueRun("/nowhere");
    lab.settle();
    CHECK(training(lab).state == State::Paused);
}

TEST_CASE("lab: a run that another program writes is listed, with the steps that follow", "[lab][training]") {
    LabWindow lab;
    RunListModel runs(lab.folder() + "/mine");
    REQUIRE(lab.waitFor([&] { return !runs.isListing(); }));
    REQUIRE_FALSE(QFileInfo::exists(runs.folder())); // its parent is watched
    const QString folder = runs.folder() + "/other";
    const QByteArray first = "{\"step\": 1, \"loss\": 2}\n", second = "{\"step\": 2, \"loss\": 1}\n";
    startRun(folder.toStdString(), smallRecipe(10));
    REQUIRE(lab.waitFor([&] { return runs.rowOf(folder) == 0; }));
    CHECK(runs.runs()[0].points.empty());
    writeText(folder + "/metrics.jsonl", first);
    REQUIRE(lab.waitFor([&] { return runs.runs()[0].points.size() == 1; }));
    QFile metrics(folder + "/metrics.jsonl");
    REQUIRE(metrics.open(QFile::Append));
    metrics.write(second);
    metrics.close();
    REQUIRE(lab.waitFor([&] { return runs.runs()[0].points.size() == 2; }));
    CHECK(runs.rowCount() == 1);
    CHECK_FALSE(runs.runs()[0].isShown); // the curves of a person's choice stay alone

    runs.setWritten(folder); // as while this window trains it
    REQUIRE(metrics.open(QFile::Append));
    metrics.write("{\"step\": 3, \"loss\": 1}\n");
    metrics.close();
    startRun((runs.folder() + "/third").toStdString(), smallRecipe(10));
    REQUIRE(lab.waitFor([&] { return runs.rowCount() == 2; }));
    CHECK(runs.runs()[static_cast<size_t>(runs.rowOf(folder))].points.size() == 2);
}

TEST_CASE("lab: a run becomes an animation", "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 10);
    lab.press(lab.action("trainPlay"));
    REQUIRE(trainsToItsEnd(lab));
    const QString gif = lab.folder() + "/run.gif";
    lab.window().exports().exportRun(gif);
    REQUIRE(lab.waitFor([&] { return QFile::exists(gif) && QImageReader(gif).imageCount() == 3; })); // 0, 5, 10
    QImageReader reader(gif);
    const QImage first = reader.read(), second = reader.read();
    CHECK(first.width() > 200);
    CHECK(first != second);
    auto& cancel = lab.find<QToolButton>("cancel");
    REQUIRE(lab.waitFor([&] { return !cancel.isVisible(); }));
    // Cancelled at once: no file is left.
    lab.window().exports().exportRun(lab.folder() + "/none.gif");
    REQUIRE(lab.waitFor([&] { return cancel.isVisible(); }));
    QTest::mouseClick(&cancel, Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return !cancel.isVisible(); }));
    CHECK_FALSE(QFile::exists(lab.folder() + "/none.gif"));
    lab.window().exports().exportRun(lab.folder() + "/run.png");
    REQUIRE(lab.waitFor([&] { return QFile::exists(lab.folder() + "/run-000010.png"); }));
}

// Not a test: what following costs a run, and how long the window is deaf meanwhile. Run by name on a quiet machine.
TEST_CASE("lab: measure the cost of views while training", "[.measure]") {
    LabWindow lab;
    lab.showPanel("train");
    lab.showPanel("curves");
    Recipe recipe = suggestedRecipe(taskNamed("sort"));
    recipe.checkpointEvery = 25;
    recipe.evaluateEvery = recipe.schedule.steps = 100'000;
    lab.window().workbench().requestRecipe(recipe);
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).step > 20; }));
    for (int round = 0; round < 8; ++round) {
        const bool follows = round % 2 == 0;
        lab.window().workbench().training().follow(follows);
        const int64_t first = training(lab).step;
        QElapsedTimer time, sinceBeat;
        time.start();
        sinceBeat.start();
        qint64 longest = 0;
        while (time.elapsed() < 8000) {
            QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
            longest = std::max(longest, sinceBeat.restart());
            QThread::msleep(1);
        }
        std::printf("%s: %.1f ms a step, longest turn of the event loop %lld ms\n", follows ? "followed" : "alone",
                    static_cast<double>(time.elapsed()) / static_cast<double>(training(lab).step - first),
                    static_cast<long long>(longest));
    }
}
