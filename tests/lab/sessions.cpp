#include "tests/lab/lab_window.h"
#include "tests/lab/small_session.h"
#include "tests/support/answers.h"

#include "app/lab/models/branch_tree_model.h"
#include "app/lab/shell/launch_options.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/prompt_editor.h"

using namespace attn;

namespace {

SessionDocument sample() {
    SessionDocument document = smallSession();
    document.modelPath = "/models/gpt2";
    document.given.text = "naïve 世界 🙂 שלום\n\"quoted\"";
    document.sampling.minP = 0.05f;
    document.sampling.repetitionPenalty = 1.1f;
    document.sampling.seed = 0xFFFFFFFFFFFFFFFF;
    document.locks["heads"] = ControlState::Hidden;
    return document;
}

std::string sentenceFor(const QByteArray& json) { return refusal(sessionFromJson(json, "lesson.attnlab")); }

} // namespace

TEST_CASE("session file: comes back as it was written", "[lab]") {
    const auto result = sessionFromJson(sessionToJson(sample()), "x");
    const auto* document = std::get_if<SessionDocument>(&result);
    REQUIRE(document);
    CHECK(*document == sample());
}

TEST_CASE("session file: a model beside the file travels with it", "[lab]") {
    QTemporaryDir folder, other;
    SessionDocument document = sample();
    document.modelPath = folder.path() + "/model";
    REQUIRE_FALSE(saveSession(document, folder.path() + "/lesson.attnlab"));
    REQUIRE(QFile::copy(folder.path() + "/lesson.attnlab", other.path() + "/lesson.attnlab"));
    const auto moved = loadSession(other.path() + "/lesson.attnlab");
    CHECK(std::get<SessionDocument>(moved).modelPath == other.path() + "/model");
}

TEST_CASE("session file: a broken one is refused with a sentence that names it and the fault", "[lab]") {
    test::checkAnswers("lab/broken_sessions.json", "texts",
                       [](const std::string& text) { return sentenceFor(QByteArray::fromStdString(text)); });
    test::checkAnswers("lab/broken_sessions.json", "fields", [](const std::string& fields) {
        return sentenceFor(withFields(QJsonDocument::fromJson(sessionToJson(sample())).object(), fields));
    });
    QByteArray truncated = sessionToJson(sample());
    truncated.chop(truncated.size() / 2);
    for (const QByteArray& json : {truncated, QByteArray("\xff\xfe\x00garbage")})
        CHECK_THAT(sentenceFor(json), CONTAINS("lesson.attnlab") && CONTAINS("not JSON"));
}

TEST_CASE("session file: no cut of a good file crashes or is taken for whole", "[lab]") {
    const QByteArray good = sessionToJson(sample()).trimmed();
    for (qsizetype length = 0; length < good.size(); ++length) REQUIRE_FALSE(sentenceFor(good.left(length)).empty());
}

TEST_CASE("session file: writing where one may not says so", "[lab]") {
    const auto failure = saveSession(sample(), "/proc/nowhere/lesson.attnlab");
    REQUIRE(failure);
    CHECK_THAT(failure->sentence(), CONTAINS("/proc/nowhere/lesson.attnlab"));
}

TEST_CASE("lab: a saved session opens with prompt, branch, sampling and locks", "[lab]") {
    const QTemporaryDir folder; // outlives the windows
    const QString path = folder.filePath("lesson.attnlab");
    std::string text;
    {
        LabWindow lab("builtin:induction", "abcabc");
        for (int i = 0; i < 2; ++i) {
            lab.act("step");
        }
        lab.window().locks().setOwn({{"sampling", ControlState::Locked}, {"branches", ControlState::Hidden}});
        text = lab.text();
        lab.saveSession(path);
    }
    LabWindow lab;
    lab.window().files().open(path);
    REQUIRE(lab.settle());
    CHECK(lab.text() == text);
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "abcabc");
    CHECK(lab.window().session().document().locks.value("sampling") == ControlState::Locked);
    CHECK(lab.find<QWidget>("branchTree").isHidden());
}

TEST_CASE("lab: written tokens keep their probabilities in a session, and old files claim none", "[lab]") {
    const auto probabilities = [](LabWindow& lab) {
        std::vector<std::optional<float>> found;
        for (const TokenInfo& token : lab.snapshot().sequence->tokens) found.push_back(token.probability);
        return found;
    };
    const auto mean = [](LabWindow& lab) { // of the first row of Branches
        lab.layOut();
        const auto& tree = lab.find<QTreeView>("branchTree");
        return tree.model()->index(0, BranchTreeModel::ProbabilityColumn).data().toString();
    };
    const auto tip = [](LabWindow& lab, int token) { // of the text
        auto& text = lab.find<GeneratedText>("text");
        const QPoint at = text.tokenRect(token).center();
        QHelpEvent help(QEvent::ToolTip, at, text.viewport()->mapToGlobal(at));
        QCoreApplication::sendEvent(text.viewport(), &help);
        return QToolTip::text();
    };
    const auto shade = [](LabWindow& lab, int token) {
        QTextCursor cursor(lab.find<GeneratedText>("text").document());
        cursor.setPosition(token + 1); // of letters: the format is that of the letter before
        return cursor.charFormat().background().color().alphaF();
    };
    LabWindow lab("builtin:induction", "abcabc");
    CHECK(mean(lab) == "–"); // the model wrote nothing yet
    lab.window().workbench().setSampling({.greedy = false, .temperature = 2.3f});
    for (int i = 0; i < 3; ++i) lab.act("step");
    const auto written = probabilities(lab);
    REQUIRE(written.size() == 9);
    CHECK_FALSE(written[5]);
    REQUIRE((written[6] && written[7] && written[8]));
    CHECK(*written[6] < 0.99f);
    const double expected = 100.0 * static_cast<double>(*written[6] + *written[7] + *written[8]) / 3;
    CHECK(mean(lab) == QString("%1 %").arg(expected, 0, 'f', 0));

    const QString path = lab.folder() + "/mine.attnlab";
    lab.saveSession(path);
    LabWindow again;
    again.window().files().open(path);
    REQUIRE(again.settle());
    CHECK(probabilities(again) == written);
    CHECK(mean(again) == mean(lab));
    for (int token = 6; token < 9; ++token) {
        const float probability = *written[static_cast<size_t>(token)];
        CHECK(tip(again, token)
                  .contains(QString("probability %1 %").arg(100 * static_cast<double>(probability), 0, 'f', 1)));
        for (int other = 6; other < token; ++other)
            CHECK((shade(again, token) == shade(again, other)) ==
                  (probability == *written[static_cast<size_t>(other)]));
    }

    QFile file(path);
    REQUIRE(file.open(QIODevice::ReadOnly));
    QJsonObject old = QJsonDocument::fromJson(file.readAll()).object(), branches = old["branches"].toObject();
    branches.remove("probabilities");
    old["branches"] = branches;
    file.close();
    writeText(path, QJsonDocument(old).toJson());
    again.window().files().open(path);
    REQUIRE(again.settle());
    CHECK(probabilities(again) == std::vector<std::optional<float>>(9));
    CHECK(mean(again) == "–");
    CHECK(tip(again, 6).contains("probability not known"));
}

TEST_CASE("session file: gates are kept with the other changes, and old files have them apart", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    Workbench& bench = lab.window().workbench();
    const Changes changes{.valueChanges = {{.hook = "blocks.1.attn.hook_z", .head = 0, .amount = 0.5f}},
                          .patterns = {},
                          .gates = {{{0, 1}, 0.25f}, {{1, 0}, 0}}};
    bench.setChanges(changes);
    QJsonObject view = lab.window().panels().view("interventions");
    CHECK_FALSE(view.contains("gates"));
    bench.setChanges({});
    lab.window().panels().setView("interventions", view);
    CHECK(bench.changes() == changes);

    QJsonObject edits = view["edits"].toObject();
    edits.remove("gates");
    view["edits"] = edits;
    view["gates"] = QJsonArray{1, 0.25, 0, 1}; // of version 0.2: layer by layer
    bench.setChanges({});
    lab.window().panels().setView("interventions", view);
    CHECK(bench.changes() == changes);
    view["gates"] = QJsonArray{1, 0.25, 0}; // of another model
    lab.window().panels().setView("interventions", view);
    CHECK(bench.changes() == Changes{.valueChanges = changes.valueChanges});
    REQUIRE(lab.settle());
    CHECK(*lab.snapshot().changes == bench.changes());
}

TEST_CASE("session file: what a menu stands at is kept by its key, and old files' numbers are read", "[lab]") {
    LabWindow lab;
    struct Menu {
        const char *box, *panel, *field;
        QStringList keys;
        const char* inside = nullptr; ///< an object of the panel's
    };
    const Menu menus[]{
        {"compareWith", "compare", "with", {"nothing", "unedited", "text", "model"}},
        {"textShade", "text", "shade", {"loss", "entropy", "rank", "attention"}},
        {"attentionView", "attention", "view", {"attention", "rollout"}, "picture"},
        {"attentionFusion", "attention", "fusion", {"mean", "maximum", "minimum"}, "picture"},
        {"modelFilterKind", "model", "filters", {"components", "all"}},
    };
    for (const Menu& menu : menus) {
        INFO(menu.box);
        auto& box = lab.find<QComboBox>(menu.box);
        const auto saved = [&] {
            const QJsonObject view = lab.window().panels().view(menu.panel);
            return menu.inside ? view[QLatin1String(menu.inside)].toObject() : view;
        };
        const auto restore = [&](const QJsonValue& value) {
            QJsonObject view = lab.window().panels().view(menu.panel), part = saved();
            part[QLatin1String(menu.field)] = value;
            if (menu.inside) view[QLatin1String(menu.inside)] = part;
            lab.window().panels().setView(menu.panel, menu.inside ? view : part);
        };
        REQUIRE(box.count() == menu.keys.size());
        for (int item = box.count() - 1; item >= 0; --item) {
            box.setCurrentIndex(item);
            CHECK(saved()[QLatin1String(menu.field)] == QJsonValue(menu.keys[item]));
            box.setCurrentIndex((item + 1) % box.count());
            restore(menu.keys[item]);
            CHECK(box.currentIndex() == item);
            box.setCurrentIndex((item + 1) % box.count());
            restore(item); // as files had it before they had keys
            CHECK(box.currentIndex() == item);
        }
        restore("no such key");
        CHECK(box.currentIndex() == 0); // as it was
        restore(99);
        CHECK(box.currentIndex() == box.count() - 1);
        restore(0);
    }
}

TEST_CASE("lab: a broken session leaves the present one as it is", "[lab]") {
    LabWindow lab;
    const QString path = lab.folder() + "/broken.attnlab";
    writeText(path, "{");
    const auto before = lab.snapshot().sequenceVersion;
    lab.window().files().open(path);
    REQUIRE(lab.settle());
    CHECK(banner(lab, "failureBanner").isVisible());
    CHECK(banner(lab, "failureBanner").text().contains("broken.attnlab"));
    CHECK(lab.snapshot().sequenceVersion == before);
}

TEST_CASE("lab: a model that is not there is named in a banner that can be dismissed", "[lab]") {
    LabWindow lab;
    lab.window().files().open("/no/such/model");
    REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }));
    CHECK(banner(lab, "failureBanner").text().contains("/no/such/model"));
    for (auto* button : banner(lab, "failureBanner").findChildren<QToolButton*>())
        if (button->accessibleName() == "Dismiss this message") button->click();
    CHECK_FALSE(banner(lab, "failureBanner").isVisible());
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().grid);
}

TEST_CASE("lab: a model that fails as the very first one is named too, and the example still opens", "[lab]") {
    LabWindow lab("/no/such/model");
    REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }));
    CHECK(banner(lab, "failureBanner").text().contains("/no/such/model"));
    lab.act("openExample");
    CHECK(lab.snapshot().grid);
    CHECK_FALSE(banner(lab, "failureBanner").isVisible());
}

TEST_CASE("lock for class: locked controls stay visible and off, hidden ones go, and both come back", "[lab]") {
    LabWindow lab;
    lab.window().locks().setOwn(
        {{"generation", ControlState::Locked}, {"candidates", ControlState::Hidden}, {"model", ControlState::Hidden}});
    CHECK(lab.find<QPushButton>("run").isVisible());
    CHECK_FALSE(lab.find<QPushButton>("run").isEnabled());
    CHECK_FALSE(lab.action("run").isEnabled());
    CHECK(lab.find<QWidget>("candidates").isHidden());
    CHECK(lab.find<QDockWidget>("dock.model").isHidden());
    CHECK_FALSE(lab.action("panel.model").isVisible());
    lab.window().locks().setOwn({});
    CHECK_FALSE(lab.find<QComboBox>("pictureChoice").isVisible()); // the model reads text
    CHECK(lab.find<QPushButton>("run").isEnabled());
    CHECK(lab.action("run").isEnabled());
    CHECK_FALSE(lab.find<QWidget>("candidates").isHidden());
    CHECK(lab.action("panel.model").isVisible());
}

TEST_CASE("lab: saving a session leaves the window free, and a second save waits its turn", "[lab]") {
    LabWindow lab;
    const QString first = lab.folder() + "/first.attnlab", second = lab.folder() + "/second.attnlab";
    lab.window().files().saveSessionAs(first);
    CHECK(lab.window().files().isSaving());
    lab.window().files().saveSessionAs(second);
    CHECK(banner(lab, "failureBanner").text().contains("the session is still being saved"));
    REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(first); }));
    CHECK(QFile::exists(first));
    CHECK_FALSE(QFile::exists(second));
}

TEST_CASE("recent: an opened session is listed and its keys open it", "[lab]") {
    LabWindow lab;
    const QString path = lab.folder() + "/mine.attnlab";
    lab.saveSession(path);
    QAction& recent = lab.action("recent1");
    REQUIRE(recent.isVisible());
    CHECK(recent.toolTip().contains(path));
    lab.forget();
    lab.press(recent);
    REQUIRE(lab.settle());
    CHECK(lab.postedOf<RestoreBranchesCommand>().size() == 1);
}

TEST_CASE("launch options: good lines are read, mistakes are named", "[lab]") {
    const auto good = parseLaunchOptions({"attention-lab", "model", "--prompt", "hi", "--size", "1024x640", "--theme",
                                          "dark", "--session", "a.attnlab"});
    const auto& options = std::get<LaunchOptions>(good);
    CHECK(options.files == QStringList{"model"});
    CHECK(options.prompt == "hi");
    CHECK(options.size == QSize(1024, 640));
    CHECK(options.theme == ThemeId::Dark);
    CHECK(std::get<LaunchOptions>(parseLaunchOptions({"attention-lab", "a.attnlab", "b"})).files ==
          QStringList{"a.attnlab", "b"});
    for (const QStringList& line :
         {QStringList{"--size", "big"}, QStringList{"--theme", "pink"}, QStringList{"--nonsense"}}) {
        const auto result = parseLaunchOptions(QStringList{"attention-lab"} + line);
        REQUIRE(std::holds_alternative<LaunchMessage>(result));
        CHECK(std::get<LaunchMessage>(result).exitCode == 2);
    }
}

TEST_CASE("sessions: undo leads back from another model, with its text and its changes", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("step");
    lab.window().workbench().setGate(1, 1, 0.25f);
    REQUIRE(lab.settle());
    const std::string text = lab.text();
    lab.window().files().open("builtin:sort");
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().model->name == "sort");
    CHECK(lab.action("undo").isEnabled());
    lab.act("undo");
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().path() == "builtin:induction");
    CHECK(lab.text() == text);
    CHECK(lab.snapshot().changes->gate(1, 1) == Approx(0.25f));
    lab.act("undo"); // the change to the head
    CHECK(lab.window().workbench().changes().gate(1, 1) == Approx(1.0f));
    CHECK(lab.text() == text);
    lab.act("redo");
    lab.act("redo");
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().model->name == "sort");
}

TEST_CASE("sessions: a fresh start can be undone", "[lab]") {
    LabWindow lab("builtin:induction");
    lab.find<PromptEditor>("prompt").setPlainText("bcdbcd");
    REQUIRE(lab.settle());
    lab.act("panel.lenses");
    lab.act("new");
    CHECK(lab.find<QToolButton>("workspace.write").isChecked());
    CHECK(lab.snapshot().sequence->given.text != "bcdbcd");
    lab.act("undo");
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->given.text == "bcdbcd");
    CHECK(lab.find<QToolButton>("workspace.inspect").isChecked());
}

TEST_CASE("sessions: the window opens where it was closed", "[lab]") {
    const QTemporaryDir folder;
    makeApplication(folder.path());
    const auto setup = [&] {
        return MainWindow::Setup{
            .preferences = Preferences{}, .device = {}, .autosaveFolder = folder.path() + "/autosave"};
    };
    const auto isOpen = [](MainWindow& window, const char* model, const char* text) {
        return QTest::qWaitFor(
            [&] {
                const auto& snapshot = window.workbench().snapshot();
                return snapshot && snapshot->model && snapshot->path() == model && snapshot->sequence &&
                       snapshot->sequence->text == text && !window.session().isRestoring();
            },
            300'000);
    };
    {
        MainWindow window(setup());
        window.show();
        window.files().open("builtin:sort", "3 1 2");
        REQUIRE(isOpen(window, "builtin:sort", "3 1 2"));
        window.findChild<QAction*>("workspace.inspect")->trigger();
        window.findChild<QAction*>("attentionAll")->trigger(); // where this workspace begins with one head
        window.close();
    }
    {
        MainWindow window(setup());
        window.show();
        CHECK(isOpen(window, "builtin:sort", "3 1 2"));
        CHECK(window.findChild<QToolButton*>("workspace.inspect")->isChecked());
        CHECK(window.findChild<QWidget*>("attentionGrid")->isVisible());
        CHECK_FALSE(window.findChild<QWidget*>("offerBanner")->isVisible());
        window.close();
    }
    QFile::rename(folder.path() + "/autosave/last.attnlab", folder.path() + "/kept");
    QFile kept(folder.path() + "/kept");
    REQUIRE(kept.open(QFile::ReadOnly));
    writeText(folder.path() + "/autosave/last.attnlab", kept.readAll().replace("builtin:sort", "/no/such/model"));
    MainWindow window(setup()); // the model is gone: the default one opens instead
    window.show();
    CHECK(QTest::qWaitFor([&] { return window.workbench().hasModel(); }, 300'000));
    CHECK(window.findChild<QWidget*>("failureBanner")->isVisible());
}

TEST_CASE("sessions: a text that the user has removed stays away at the next start", "[lab]") {
    const QTemporaryDir folder;
    makeApplication(folder.path());
    const auto setup = [&] {
        return MainWindow::Setup{
            .preferences = Preferences{}, .device = {}, .path = "builtin:induction", .autosaveFolder = folder.path()};
    };
    {
        MainWindow window(setup());
        window.show();
        REQUIRE(QTest::qWaitFor([&] { return window.workbench().hasModel(); }, 300'000));
        window.bridge().post(SetPromptCommand{});
        const auto isEmpty = [&] { return window.workbench().snapshot()->sequence->text.empty(); };
        REQUIRE(QTest::qWaitFor(isEmpty, 300'000));
        window.close();
    }
    MainWindow window(setup());
    window.show();
    REQUIRE(QTest::qWaitFor([&] { return window.workbench().hasModel() && !window.session().isRestoring(); }, 300'000));
    REQUIRE(window.bridge().waitIdle());
    REQUIRE(QTest::qWaitFor([&] { return window.workbench().snapshot() == window.bridge().latest(); }, 300'000));
    CHECK(window.workbench().snapshot()->sequence->tokens.empty());
    CHECK(window.findChild<QPlainTextEdit*>("prompt")->toPlainText().isEmpty());
}

TEST_CASE("sessions: undo leads back from a run that trains, and the step can be done again", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().shown.has_value() && lab.snapshot().shown->step > 0; }));
    lab.press(lab.action("undo"));
    REQUIRE(lab.waitFor(
        [&] { return lab.snapshot().path() == "builtin:induction" && !lab.window().session().isRestoring(); }));
    QTest::qWait(1'000); // weights of the run continue arriving
    CHECK(lab.snapshot().path() == "builtin:induction");
    CHECK(lab.text() == "abcabc");
    CHECK(lab.action("redo").isEnabled());
    lab.press(lab.action("trainPlay")); // pause
}

TEST_CASE("sessions: a run that trains when the window closes leaves the text for the next start", "[lab]") {
    const QTemporaryDir folder;
    makeApplication(folder.path());
    const auto setup = [&] {
        return MainWindow::Setup{.preferences = Preferences{},
                                 .device = {},
                                 .autosaveFolder = folder.path() + "/autosave",
                                 .runsFolder = folder.path() + "/runs"};
    };
    {
        MainWindow window(setup());
        window.show();
        window.files().open("builtin:induction", "abcabc");
        const auto snapshot = [&] { return window.workbench().snapshot(); };
        REQUIRE(QTest::qWaitFor([&] { return snapshot() && snapshot()->sequence; }, 300'000));
        window.findChild<QAction*>("trainPlay")->trigger();
        REQUIRE(QTest::qWaitFor([&] { return snapshot()->shown && snapshot()->shown->step > 0; }, 120'000));
        window.close();
    }
    MainWindow window(setup());
    window.show();
    CHECK(QTest::qWaitFor(
        [&] {
            const auto& snapshot = window.workbench().snapshot();
            return snapshot && snapshot->model && snapshot->path() == "builtin:induction" && snapshot->sequence &&
                   snapshot->sequence->text == "abcabc";
        },
        300'000));
    auto& offer = *window.findChild<QWidget*>("offerBanner")->findChild<Banner*>();
    CHECK(QTest::qWaitFor([&] { return offer.text().contains("was paused at step"); }, 300'000));
}
