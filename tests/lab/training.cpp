#include "app/figures/plot_figure.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/widgets/figure_view.h"
#include "app/lab/widgets/status_strip.h"
#include "engine/io/run_folder.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/lens_test.h"
#include "tests/lab/training_test.h"

#include <QCheckBox>
#include <QLineEdit>

using namespace attn;
using State = TrainingSnapshot::State;

TEST_CASE("training: the curves that come with a model appear beside its variants and runs of its task", "[lab]") {
    LabWindow lab("builtin:numbers-de");
    lab.showPanel("curves");
    const auto names = [&] {
        QStringList found;
        for (const PlotFigure::Line& line : lossCurves(lab)) found << line.label;
        return found;
    };
    REQUIRE(lab.waitFor([&] { return names().size() == 8; })); // training and validation of four
    for (const char* name :
         {"numbers-de, training", "source reversed, training", "one head, validation", "without positions, validation"})
        CHECK(names().contains(name));
    lab.find<QCheckBox>("bundledCurves").setChecked(false);
    CHECK_FALSE(lab.find<QWidget>("lossChart").isVisible());
    lab.window().files().open("builtin:induction"); // which no training made
    REQUIRE(lab.waitFor([&] { return !lab.find<QCheckBox>("bundledCurves").isVisible(); }));
}

TEST_CASE("lab: the Train panel says where a task comes from", "[lab][training]") {
    LabWindow lab;
    for (const char* id : {"add", "sort"}) {
        const Task& task = taskNamed(id);
        lab.window().workbench().requestRecipe(suggestedRecipe(task));
        REQUIRE(lab.settle());
        const auto citation = QString::fromStdString(std::string(task.citation));
        const QString hint = lab.find<QLabel>("trainHint").text();
        CHECK(hint.contains("Source: ") != citation.isEmpty());
        CHECK(hint.contains(citation));
    }
}

TEST_CASE("lab: Train trains, every view follows, and the curves and samples fill", "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 40);
    lab.showPanel("train");
    lab.click("train.play");
    REQUIRE(trainsToItsEnd(lab));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown && lab.snapshot().shown->title == "step 40"; }));
    CHECK(lab.snapshot().model->name == "reverse");
    CHECK(lab.snapshot().model->layers == 2);
    CHECK(lab.window().windowTitle().contains("step 40"));
    CHECK(lab.snapshot().grid->heads == 2);

    REQUIRE(lab.window().workbench().runs().runs().size() == 1);
    CHECK(lab.window().workbench().runs().runs().front().points.size() == 40);
    lab.showPanel("curves");
    REQUIRE(lab.waitFor([&] { return lossCurves(lab).size() == 2; }));
    REQUIRE(lab.waitFor([&] { return lossCurves(lab)[0].points.size() == 40; }));
    CHECK(lossCurves(lab)[0].points[39].y() < lossCurves(lab)[0].points[0].y());
    CHECK(lossCurves(lab)[0].isDashed != lossCurves(lab)[1].isDashed); // training and validation
    CHECK(std::abs(lossCurves(lab)[0].colour.hslHue() - lossCurves(lab)[1].colour.hslHue()) > 30);
    auto& chart = lab.find<QWidget>("lossChart"); // who clicks a chart and exports means the curves
    QTest::mouseClick(&chart, Qt::LeftButton, {}, chart.rect().center());
    const QString path = lab.folder() + "/curves.csv";
    lab.window().exports().exportFigure(path);
    REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
    CHECK(banner(lab, "offerBanner").text().startsWith("Saved Curves: "));
    lab.showPanel("samples");
    CHECK(lab.find<QTreeView>("samples").model()->rowCount() == 12);
}

TEST_CASE("lab: the Train panel says in which stage windows grow", "[lab][training]") {
    LabWindow lab;
    lab.showPanel("train");
    setSmallRecipe(lab, 20);
    Recipe recipe = *lab.find<TrainPanel>("train").recipe();
    recipe.architecture.attention = "position=learned, mask=causal & window(4)";
    recipe.schedule.stages = 2;
    lab.window().workbench().requestRecipe(recipe);
    lab.click("train.play");
    REQUIRE(trainsToItsEnd(lab));
    CHECK_THAT(lab.find<QLabel>("trainState").text().toStdString(), CONTAINS("Step 20 of 20 · stage 2 of 2"));
    const auto& points = lab.window().workbench().runs().runs().front().points;
    REQUIRE(points.size() == 20);
    CHECK(points[10]["learning_rate"] == Approx(recipe.schedule.at(10)));
    CHECK(points[10]["learning_rate"] < 0.6 * points[9]["learning_rate"]);
}

TEST_CASE("lab: hidden segments are drawn while they train, and samples say which were taken for them",
          "[lab][training]") {
    LabWindow lab;
    Recipe recipe = suggestedRecipe(taskNamed("cpc"));
    recipe.settings.data.text = "builtin:stories";
    recipe.settings.values = {{"segments", 3}, {"length", 7}, {"vocabulary", 150}};
    recipe.architecture.attention = "position=etc(3, 7, 3), mask=etc_hard(3, 3, 5)"; // segments of another length
    recipe.architecture.layers = recipe.architecture.heads = 2;
    recipe.architecture.width = 16;
    recipe.batch = 8;
    recipe.schedule.steps = recipe.checkpointEvery = recipe.evaluateEvery = 10;
    lab.window().workbench().requestRecipe(recipe);
    lab.showPanel("train");
    auto& line = lab.find<QLineEdit>("recipeAttentionText");
    REQUIRE(lab.waitFor([&] { return line.isVisible(); }));
    auto& play = lab.find<QPushButton>("train.play");
    CHECK_FALSE(play.isEnabled());
    CHECK(lab.find<QLabel>("recipeProblem").text().contains("sees token 8 in no layer"));
    line.setFocus();
    line.selectAll();
    QTest::keyClicks(&line, "position=etc(3, 7, 3), mask=etc_hard(3, 3, 7)");
    QTest::keyClick(&line, Qt::Key_Return);
    REQUIRE(lab.waitFor([&] { return play.isEnabled(); }));
    lab.click("train.play");
    REQUIRE(trainsToItsEnd(lab));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown && lab.snapshot().shown->title == "step 10"; }));
    CHECK(lab.snapshot().grid->heads == 2);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().queries(0).size() == 24; })); // global tokens and segments
    lab.showPanel("samples");
    const auto& samples = *lab.find<QTreeView>("samples").model();
    REQUIRE(samples.rowCount() == 12);
    for (const int column : {1, 2}) // the words of the hidden segment, and of the one that was taken for it
        CHECK(samples.index(0, column).data().toString().size() >= 7);
}

TEST_CASE("lab: the timeline restores weights, not pictures", "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 20);
    lab.press(lab.action("trainPlay"));
    REQUIRE(trainsToItsEnd(lab));
    lab.showPanel("train");
    auto& timeline = lab.find<QSlider>("timeline");
    REQUIRE(lab.waitFor([&] { return timeline.maximum() == 4; })); // 0, 5, 10, 15, 20
    const auto end = lab.snapshot().next->logits;
    timeline.setFocus();
    QTest::keyClick(&timeline, Qt::Key_Home);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown && lab.snapshot().shown->title == "step 0"; }));
    CHECK(lab.snapshot().next->logits != end);
    CHECK_FALSE(lab.find<QToolButton>("live").isChecked());
    // A click goes to its place: the middle is step 10.
    QTest::mouseClick(&timeline, Qt::LeftButton, {}, timeline.rect().center());
    CHECK(timeline.value() == 2);
    QTest::keyClick(&timeline, Qt::Key_Home);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown->title == "step 0"; }));
    REQUIRE(lab.settle());
    // The model of that moment writes.
    const size_t before = lab.snapshot().sequence->tokens.size();
    lab.window().bridge().post(GenerateCommand{.maxTokens = 1, .tokensPerSecond = 0});
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->tokens.size() == before + 1);
    lab.window().bridge().post(ResetCommand{});
    QTest::keyClick(&timeline, Qt::Key_End);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown->title == "step 20"; }));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().next->logits == end);
}

TEST_CASE("lab: timeline, samples and curves show one moment, and forget it when another model opens",
          "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 40);
    lab.press(lab.action("trainPlay"));
    REQUIRE(trainsToItsEnd(lab));
    lab.showPanel("train");
    lab.showPanel("samples");
    lab.showPanel("curves");
    auto& timeline = lab.find<QSlider>("timeline");
    const auto text = [&](const char* name) { return lab.find<QLabel>(name).text().toStdString(); };
    const auto& chart = static_cast<const FigureView<PlotFigure>&>(lab.find<QWidget>("lossChart"));
    const auto answers = [&] {
        const auto& model = *lab.find<QTreeView>("samples").model();
        QStringList given;
        for (int row = 0; row < model.rowCount(); ++row) given << model.index(row, 2).data().toString();
        return given;
    };
    REQUIRE(lab.waitFor([&] { return timeline.maximum() == 8 && chart.figure().marked == 40; }));
    CHECK_THAT(text("samplesHint"), CONTAINS("Step 40:"));
    const QStringList last = answers();
    REQUIRE(last.size() == 12);
    // One run needs no name, and both plots have room, in the smallest window too.
    auto& second = static_cast<const FigureView<PlotFigure>&>(lab.find<QWidget>("secondChart"));
    for (int quantity = 0; quantity < 4; ++quantity) {
        lab.find<QComboBox>("quantity").setCurrentIndex(quantity);
        for (const QSize size : {QSize(1440, 900), QSize(1024, 700)}) {
            lab.window().resize(size);
            REQUIRE(lab.waitFor([&] { return lab.window().size() == size; }, 5'000));
            lab.layOut();
            for (const FigureView<PlotFigure>* view : {&chart, &second}) {
                CAPTURE(quantity, size.width(), view->figure().title.toStdString());
                REQUIRE_FALSE(view->figure().lines.empty());
                for (const PlotFigure::Line& line : view->figure().lines) CHECK_FALSE(line.label.contains("reverse"));
                CHECK(view->figure().plotArea(view->rect(), view->theme()).height() >= 90);
            }
        }
    }
    lab.find<QComboBox>("quantity").setCurrentIndex(0);

    timeline.setValue(3); // step 15, where nothing else is measured
    REQUIRE(lab.waitFor([&] { return text("moment").find("step 15") != std::string::npos; }));
    CHECK(chart.figure().marked == 15); // with the views, not a moment later
    CHECK_THAT(text("samplesHint"), CONTAINS("Step 15:") && !CONTAINS("were not checked"));
    CHECK_THAT(text("curvesMoment"), CONTAINS("step 15 of reverse"));
    timeline.setValue(0);
    REQUIRE(lab.waitFor([&] { return text("curvesMoment").find("step 0 of reverse") != std::string::npos; }));
    CHECK_THAT(text("samplesHint"), CONTAINS("Step 0: 0 of 12 right"));
    CHECK(answers() != last);

    lab.window().files().open("builtin:induction");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction"; }));
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("curvesMoment").isHidden(); }));
    CHECK(answers().isEmpty());
    CHECK_THAT(text("samplesHint"), CONTAINS("another model"));
    CHECK_THAT(text("moment"), CONTAINS("Drag to replay the run."));

    lab.find<QToolButton>("live").click();
    REQUIRE(lab.waitFor([&] { return text("samplesHint").find("Step 40:") == 0 && chart.figure().marked == 40; }));
    CHECK(answers() == last);
}

TEST_CASE("lab: training that starts while the model writes leaves the text, and says that it trains",
          "[lab][training]") {
    LabWindow lab("builtin:stories", "Once upon a time");
    setSmallRecipe(lab, 100'000);
    // Slowly: the story must not end while the kernels of training are compiled.
    lab.window().bridge().post(GenerateCommand{.maxTokens = 100'000, .tokensPerSecond = 2});
    const auto written = [&] { return lab.snapshot().sequence->tokens.size(); };
    const size_t prompt = written();
    REQUIRE(lab.waitFor([&] { return written() > prompt + 2; }));
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).step > 3; }));
    CHECK(lab.find<QPushButton>("train.play").isVisible());
    const size_t before = written();
    REQUIRE(lab.waitFor([&] { return written() > before + 3; })); // it continues
    CHECK(lab.snapshot().model->name == "stories");
    const auto* activity = lab.window().findChild<StatusStrip*>()->findChild<QLabel*>();
    CHECK_THAT(activity->text().toStdString(), CONTAINS("Generating") && CONTAINS("Training reverse"));
    CHECK_THAT(banner(lab, "offerBanner").text().toStdString(), CONTAINS("You still see your text"));
    lab.window().bridge().post(StopCommand{});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().status.activity == Activity::Idle; }));
    CHECK(written() > before + 3);
    CHECK_THAT(activity->text().toStdString(), CONTAINS("Training reverse: step"));
    for (auto* button : banner(lab, "offerBanner").findChildren<QToolButton*>())
        if (button->text() == "Show the run") button->click();
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "reverse"; }));
}

TEST_CASE("lab: the message about a run beside a text goes when writing and training have ended", "[lab][training]") {
    LabWindow lab("builtin:stories", "Once upon a time");
    setSmallRecipe(lab, 100'000);
    lab.window().bridge().post(GenerateCommand{.maxTokens = 100'000, .tokensPerSecond = 30});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().status.activity == Activity::Generating; }));
    lab.press(lab.action("trainPlay"));
    CHECK(lab.find<QLabel>("trainState").text() == "Starting…");
    REQUIRE(lab.waitFor([&] { return training(lab).step > 3; }));
    lab.window().bridge().post(StopCommand{});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().status.activity == Activity::Idle; }));
    auto& offer = lab.find<QWidget>("offerBanner");
    CHECK(offer.isVisible());
    lab.press(lab.action("trainPlay")); // pause
    CHECK(lab.waitFor([&] { return !offer.isVisible(); }));
}

TEST_CASE("lab: quitting pauses the training run, and the next start offers to continue it", "[lab][training]") {
    QTemporaryDir folder;
    makeApplication(folder.path());
    const auto open = [&] {
        auto window = std::make_unique<MainWindow>(
            MainWindow::Setup{.preferences = {}, .device = {}, .runsFolder = folder.path() + "/runs"});
        window->show();
        return window;
    };
    const auto state = [](MainWindow& window) { return window.workbench().training().snapshot(); };
    int64_t step = 0;
    {
        const auto window = open();
        window->workbench().requestRecipe(smallRecipe(100'000, 100'000, 100'000));
        window->findChild<QAction*>("trainPlay")->trigger();
        REQUIRE(QTest::qWaitFor([&] { return state(*window)->step > 3; }, 120'000));
        step = state(*window)->step;
        window->close();
    }
    auto window = open();
    const auto isOffered = [&] {
        return QTest::qWaitFor(
            [&] {
                return window->findChild<QWidget*>("offerBanner")
                    ->findChild<Banner*>()
                    ->text()
                    .contains("was paused at");
            },
            120'000);
    };
    REQUIRE(isOffered());
    auto& offer = *window->findChild<QWidget*>("offerBanner")->findChild<Banner*>();
    for (auto* button : offer.findChildren<QToolButton*>())
        if (button->text() == "Continue training") button->click();
    REQUIRE(QTest::qWaitFor([&] { return state(*window)->state == State::Training; }, 120'000));
    CHECK(window->workbench().runs().runs().front().isShown); // among the curves
    CHECK(state(*window)->step >= step);                      // from the checkpoint that quitting wrote
    window->findChild<QAction*>("trainPlay")->trigger();
    REQUIRE(QTest::qWaitFor([&] { return state(*window)->state == State::Paused; }, 120'000));
    window->files().open("builtin:sort"); // a run that a person has paused is offered too, beside any model
    REQUIRE(QTest::qWaitFor([&] { return window->workbench().snapshot()->path() == "builtin:sort"; }, 300'000));
    window->close();
    window = open();
    REQUIRE(isOffered());
    window->workbench().runs().setActive(window->workbench().runs().runs().front().folder);
    window->findChild<QAction*>("trainPlay")->trigger(); // the offer goes once the run is at hand
    CHECK(QTest::qWaitFor([&] { return !window->findChild<QWidget*>("offerBanner")->isVisible(); }, 120'000));
}

TEST_CASE("lab: pause holds, step makes one, reset begins a run of its own", "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 100'000);
    const auto play = [&] { return lab.find<QPushButton>("train.play").text(); };
    const auto state = [&] { return lab.find<QLabel>("trainState").text(); };
    CHECK(play() == "Train");
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).step > 3; }));
    CHECK(play() == "Pause");
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).state == State::Paused; }));
    const int64_t step = training(lab).step;
    CHECK(play() == "Continue");
    CHECK(state().startsWith(QString("Paused at step %1 of 100000").arg(step)));
    lab.press(lab.action("trainOneStep"));
    REQUIRE(lab.waitFor([&] { return training(lab).step == step + 1 && training(lab).state == State::Paused; }));
    lab.press(lab.action("trainAgain"));
    REQUIRE(lab.waitFor([&] { return training(lab).state == State::Paused && training(lab).step == 0; }));
    CHECK(lab.window().workbench().runs().runs().size() == 2);
    CHECK(play() == "Train");
    CHECK(state().startsWith("Step 0 of"));
}

TEST_CASE("lab: a lens stays current while training is paused, and the views follow again after it",
          "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 100'000);
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).step > 3 && lab.snapshot().shown; }));
    lab.press(lab.action("trainPlay"));
    const auto showsNewest = [&] {
        return training(lab).state == State::Paused && lab.snapshot().shown->step == training(lab).step;
    };
    REQUIRE(lab.waitFor(showsNewest));
    lab.showPanel("lenses");
    auto& pages = lab.find<QComboBox>("lensPage");
    pages.setCurrentIndex(pages.findData("ablation"));
    REQUIRE(lab.settle()); // until then, a view of the newest step may take the answer away
    REQUIRE(lab.waitFor([&] { return lab.find<QAbstractButton>("lensRun").isEnabled(); }));
    runLens(lab);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("lensSummary").isVisible(); }));
    const uint64_t version = lab.snapshot().sequenceVersion;
    CHECK_FALSE(lab.waitFor([&] { return lab.snapshot().sequenceVersion != version; }, 3'000));
    CHECK_FALSE(lab.find<QLabel>("lensExplanation").text().contains("previous text or model"));
    lab.press(lab.action("trainOneStep"));
    const int64_t step = training(lab).step;
    REQUIRE(lab.waitFor([&] { return training(lab).step == step + 1 && showsNewest(); }));
    CHECK(lab.find<QLabel>("lensExplanation").text().contains("previous text or model"));
}

TEST_CASE("lab: the loss beside Play is that of the step that is named", "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 60);
    const auto& state = lab.find<QLabel>("trainState");
    int wrong = 0, seen = 0, moved = 0;
    lab.showPanel("train");
    lab.layOut();
    const auto& below = lab.find<QSlider>("trainPace");
    const int place = below.mapTo(&lab.window(), QPoint()).y();
    QObject::connect(&lab.window().workbench().training(), &TrainingBridge::changed, &state, [&] {
        const int64_t step = training(lab).step;
        if (step == 0 || !state.text().contains("loss")) return;
        ++seen;
        for (const MetricPoint& point : lab.window().workbench().runs().runs().front().points)
            if (point.step == step && !state.text().contains(QString("loss %1").arg(point["loss"], 0, 'f', 3))) ++wrong;
        if (!state.text().contains(QString("Step %1 of 60").arg(step))) ++wrong;
        if (below.mapTo(&lab.window(), QPoint()).y() != place) ++moved;
    });
    lab.press(lab.action("trainPlay"));
    REQUIRE(trainsToItsEnd(lab));
    CHECK(seen > 0);
    CHECK(wrong == 0);
    CHECK(moved == 0); // the controls below
}

TEST_CASE("lab: the Train panel shows small rates with their digits, and greys what changes nothing",
          "[lab][training]") {
    LabWindow lab;
    lab.showPanel("train");
    auto& rate = lab.find<QDoubleSpinBox>("rate");
    Recipe recipe = suggestedRecipe(taskNamed("sort"));
    recipe.schedule = {.kind = Schedule::Kind::Cosine, .rate = 3e-7, .finalRate = 1e-9, .warmUp = 3, .steps = 10};
    lab.window().workbench().requestRecipe(recipe);
    REQUIRE(lab.settle());
    CHECK(rate.text() == "7.5e-08"); // a quarter, in warm-up; 0.000000 with six decimals
    const auto number = [&](const char* title) {
        for (auto* box : lab.find<QWidget>("train").findChildren<QDoubleSpinBox*>())
            if (box->accessibleName() == title) return box;
        throw std::runtime_error(title);
    };
    CHECK(number("Learning rate")->text() == "3e-07");
    CHECK(number("Final learning rate")->value() == 1e-9);
    const auto toggle = [&](const char* title) {
        for (auto* box : lab.find<QWidget>("train").findChildren<QCheckBox*>())
            if (box->accessibleName() == title) return box;
        throw std::runtime_error(title);
    };
    const auto choose = [&](const char* name, const char* id) {
        auto& box = lab.find<QComboBox>(name);
        REQUIRE(box.findData(id) >= 0);
        box.setCurrentIndex(box.findData(id));
        emit box.activated(box.currentIndex());
    };
    CHECK(number("Beta1")->isEnabled());
    CHECK_FALSE(number("Momentum")->isEnabled());
    choose("optimiser", "sgd");
    CHECK_FALSE(number("Beta1")->isEnabled());
    CHECK(number("Momentum")->isEnabled());
    choose("schedule", "constant");
    CHECK_FALSE(number("Final learning rate")->isEnabled());
    CHECK_FALSE(number("Key/value heads")->isEnabled());
    CHECK(toggle("Biases")->isEnabled());
    CHECK(lab.find<QComboBox>("activation").isEnabled());
    choose("family", "llama");
    CHECK(number("Key/value heads")->isEnabled());
    CHECK_FALSE(toggle("Biases")->isEnabled());
    CHECK_FALSE(lab.find<QComboBox>("activation").isEnabled());
    CHECK(lab.find<QComboBox>("optimiser").currentText() == "Optimiser: SGD with momentum");
}

TEST_CASE("lab: a learning rate set by hand takes hold while it trains", "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 100'000);
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return training(lab).step > 3; }));
    lab.find<QAbstractButton>("ownRate").setChecked(true);
    lab.find<QDoubleSpinBox>("rate").setValue(0.000125);
    REQUIRE(lab.waitFor([&] {
        const auto& points = lab.window().workbench().runs().runs().front().points;
        return !points.empty() && points.back()["learning_rate"] == 0.000125;
    }));
    lab.find<QAbstractButton>("ownRate").setChecked(false);
    REQUIRE(lab.waitFor(
        [&] { return lab.window().workbench().runs().runs().front().points.back()["learning_rate"] != 0.000125; }));
}
