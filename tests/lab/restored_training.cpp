#include "app/lab/models/run_list_model.h"
#include "app/lab/shell/autosave.h"
#include "app/lab/widgets/recipe_form.h"
#include "engine/io/run_folder.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/small_session.h"
#include "tests/lab/training_test.h"

// What a session says of training comes back, and what it asks for in vain is said.

using namespace attn;

TEST_CASE("restored training: a finished run, its recipe and its curves come back with the session",
          "[lab][training][restoring]") {
    LabWindow lab;
    RunListModel& runs = lab.window().workbench().runs();
    lab.window().workbench().requestRecipe(smallRecipe(10));
    lab.act("trainPlay");
    REQUIRE(trainsToItsEnd(lab));
    const QString run = runs.active();
    const SessionDocument saved = lab.window().session().document();
    CHECK(saved.view["train"].toObject()["run"] == run);

    lab.window().workbench().requestRecipe(suggestedRecipe(taskNamed("shapes"))); // of another task, without a run
    runs.setShown(runs.rowOf(run), false);
    REQUIRE(lab.window().session().document().view["train"] != saved.view["train"]);
    lab.window().session().restore(saved);
    REQUIRE(lab.settle());
    CHECK(lab.window().session().document().view["train"] == saved.view["train"]);
    CHECK(runs.active() == run);
    CHECK(runs.runs()[static_cast<size_t>(runs.rowOf(run))].isShown);
    CHECK(*lab.window().lessons().recipe() == smallRecipe(10));
    CHECK_FALSE(lab.find<QLabel>("trainState").text().contains("Press Train"));

    // Another model leaves the recipe as it is, also when its step is undone.
    lab.window().workbench().requestRecipe(suggestedRecipe(taskNamed("add")));
    lab.window().files().open("builtin:sort");
    REQUIRE(lab.settle());
    lab.window().workbench().requestRecipe(suggestedRecipe(taskNamed("copy")));
    lab.act("undo");
    CHECK(lab.window().lessons().recipe()->task == "copy");
}

TEST_CASE("restored training: what was typed while a run trained comes back after a kill, with the last checkpoint",
          "[lab][training][restoring]") {
    const QTemporaryDir folder;
    makeApplication(folder.path());
    const auto setup = [&] {
        return MainWindow::Setup{.preferences = Preferences{},
                                 .device = {},
                                 .path = "builtin:induction",
                                 .autosaveFolder = folder.path() + "/autosave",
                                 .runsFolder = folder.path() + "/runs"};
    };
    const auto wait = [](const std::function<bool()>& condition) { return QTest::qWaitFor(condition, 300'000); };
    std::string run, text;
    int64_t step = 0;
    {
        MainWindow window(setup());
        window.show();
        const auto snapshot = [&] { return window.workbench().snapshot(); };
        REQUIRE(wait([&] { return snapshot() && snapshot()->sequence; }));
        window.workbench().requestRecipe(smallRecipe(100'000));
        window.findChild<QAction*>("trainPlay")->trigger();
        REQUIRE(wait([&] { return snapshot()->shown && !checkpoints(snapshot()->path()).empty(); }));
        REQUIRE(wait([&] { return snapshot()->sequence && !snapshot()->sequence->tokens.empty(); }));
        auto& prompt = *window.findChild<QPlainTextEdit*>("prompt");
        const QString whole = prompt.toPlainText();
        prompt.setPlainText(whole.left(whole.size() / 2).trimmed());
        run = snapshot()->path();
        text = prompt.toPlainText().toStdString();
        REQUIRE_FALSE(text.empty());
        REQUIRE(wait([&] { return snapshot()->sequence->given.text == text; }));
        window.saveForNextStart(); // as a save in between; then the program ends without being closed
    }
    step = *checkpointStep(checkpoints(run).back());
    MainWindow window(setup());
    window.show();
    auto& offer = *window.findChild<QWidget*>("offerBanner")->findChild<Banner*>();
    REQUIRE(wait([&] { return offer.text().contains("closed unexpectedly"); }));
    CHECK(offer.text().contains(QString("the last checkpoint of the training run, of step %1?").arg(step)));
    const auto buttons = offer.findChildren<QToolButton*>();
    const auto restore = std::ranges::find(buttons, QString("Restore"), &QToolButton::text);
    REQUIRE(restore != buttons.end());
    (*restore)->click();
    const auto isBack = [&] {
        const auto& snapshot = window.workbench().snapshot();
        return snapshot && snapshot->model && snapshot->path() == run && !window.session().isRestoring() &&
               snapshot->sequence && snapshot->sequence->given.text == text;
    };
    CHECK(wait(isBack));
    CHECK(wait([&] { return offer.text().contains("was paused at step"); }));
}

TEST_CASE("restored training: fields that contradict each other come back too", "[lab][restoring]") {
    RecipeForm form, other;
    Recipe recipe = smallRecipe(10);
    recipe.architecture.heads = 5; // of width 16
    form.setRecipe(recipe);
    REQUIRE_FALSE(form.recipe());
    other.restore(form.save());
    CHECK(other.save() == form.save());
    for (const char* damaged : {"", "{", "[]", R"({"task": "none"})"}) {
        other.restore(damaged);
        CHECK(other.save() == form.save());
    }
}

TEST_CASE("autosave: every change is saved, also one that no run of the model goes with", "[lab]") {
    QTemporaryDir folder;
    makeApplication(folder.path());
    SessionDocument document = smallSession();
    Autosave autosave(folder.path(), [&] { return document; });
    const auto savedAs = [&](const char* workspace, Autosave& by) {
        document.workspace = workspace;
        by.saveNow();
        BackgroundTask::queue().waitIdle();
        QCoreApplication::processEvents();
        return std::get<SessionDocument>(loadSession(folder.path() + "/autosave.attnlab")).workspace;
    };
    for (const char* workspace : {"write", "train", "play"}) CHECK(savedAs(workspace, autosave) == workspace);

    // What is left over stays until the session beside the offer changes.
    REQUIRE(autosave.takeLeftover());
    CHECK(savedAs("learn", autosave) == "play");
    CHECK(savedAs("learn", autosave) == "play");
    CHECK(savedAs("write", autosave) == "write");
}

TEST_CASE("lab: what a session asks for and cannot have is said, whatever it is", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    const QString path = lab.folder() + "/own.attnlab";
    lab.saveSession(path);
    const QJsonObject good = [&] {
        QFile file(path);
        REQUIRE(file.open(QFile::ReadOnly));
        return QJsonDocument::fromJson(file.readAll()).object();
    }();
    const auto saidOf = [&](const QJsonObject& session) {
        writeText(path, QJsonDocument(session).toJson());
        banner(lab, "offerBanner").dismiss();
        lab.window().files().open(path);
        REQUIRE(lab.settle());
        return banner(lab, "offerBanner").isVisible() ? banner(lab, "offerBanner").text() : QString();
    };
    const auto withView = [&](const char* panel, const QString& field, const QJsonValue& value) {
        QJsonObject session = good, view = session["view"].toObject(), own = view[panel].toObject();
        own[field] = value;
        view[panel] = own;
        session["view"] = view;
        return session;
    };
    CHECK(saidOf(good).isEmpty());
    CHECK(saidOf(withView("attention", "head", 1)).isEmpty());
    CHECK(saidOf(withView("attention", "head", 99)).contains("attention head “99” (“1” is shown)"));
    CHECK(saidOf(withView("attention", "head", -3)).contains("“-3” (“0” is shown)"));
    CHECK(saidOf(withView("attention", "level", "zzz")).contains("level “zzz”"));
    CHECK(saidOf(withView("attention", "site", "blocks.9.attn"))
              .contains("site “blocks.9.attn” (“blocks.1.attn” is shown)"));
    CHECK(saidOf(withView("attention", "scale", "none")).contains("scale “none”"));
    CHECK(saidOf(withView("text", "shade", "zzz")).contains("text shade “zzz”"));
    QJsonObject locked = good;
    locked["locks"] = QJsonObject{{"prompt", "locked"}, {"coffee", "locked"}, {"files", "ajar"}};
    const QString said = saidOf(locked);
    CHECK(said.contains("locks coffee “locked”"));
    CHECK(said.contains("locks files “ajar”"));
    CHECK(lab.window().session().document().locks == ControlLocks{{"prompt", ControlState::Locked}});
    lab.window().locks().setOwn({});
}

TEST_CASE("lab: the example of a bundled model is shown with the head that tells most", "[lab]") {
    LabWindow lab("builtin:sort", "5 2 9 2 7 4 =");
    lab.act("openExample");
    CHECK(lab.text() == "playground playground playg"); // the list cannot be spelled in letters
    CHECK_FALSE(banner(lab, "failureBanner").isVisible());
    const auto selected = [&] {
        const Selection& selection = lab.window().workbench().selection();
        return std::pair(selection.site, selection.head);
    };
    CHECK(selected() == std::pair(1, 0));
    lab.window().workbench().selectHead(0, 1);
    lab.window().files().open("builtin:stories");
    REQUIRE(lab.settle());
    CHECK(selected() == std::pair(1, 1));
    lab.act("undo"); // what was restored keeps its own
    CHECK(selected() == std::pair(0, 1));
}
