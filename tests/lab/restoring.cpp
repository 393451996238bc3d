#include "app/lab/common/focus_ring.h"
#include "app/lab/panels/start_panel.h"
#include "engine/training/objective.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer.h"
#include "tests/lab/lab_window.h"

#include <random>

// What is restored equals what was saved: random work is kept and comes back in each of the four ways, and is then the
// same document, field for field.

using namespace attn;

namespace {

/// A window whose settings and copies lie in a folder that outlives it.
class Window {
public:
    Window(const QString& folder, const QString& path)
        : window_({.preferences = Preferences{}, .device = {}, .path = path, .autosaveFolder = folder + "/autosave"}) {
        window_.resize(1280, 800);
        window_.show();
        window_.activateWindow();
        (void)QTest::qWaitForWindowActive(&window_);
        settle();
    }
    MainWindow& get() { return window_; }
    Workbench& bench() { return window_.workbench(); }
    const Snapshot& snapshot() { return *bench().snapshot(); }

    void settle() {
        const auto isDone = [&] {
            const auto timers = window_.findChildren<QTimer*>("typingPause");
            return std::ranges::none_of(timers, &QTimer::isActive) && !window_.files().isOpening() &&
                   !window_.session().isRestoring() && window_.bridge().waitIdle(0) &&
                   bench().snapshot() == window_.bridge().latest() && bench().hasModel();
        };
        int quiet = 0; // a snapshot may lead to another command
        REQUIRE(QTest::qWaitFor([&] { return (quiet = isDone() ? quiet + 1 : 0) > 3; }, 120'000));
    }
    void post(Command command) {
        bench().post(std::move(command));
        settle();
    }
    void open(const QString& path) {
        window_.files().open(path);
        settle();
    }
    void trigger(const char* action) {
        window_.findChild<QAction*>(action)->trigger();
        settle();
    }

private:
    MainWindow window_;
};

/// Untrained, but it reads the tree of a text.
QString modelThatReadsTrees() {
    static const QTemporaryDir folder;
    static const bool isWritten = [] {
        const Trainer trainer(suggestedRecipe(taskNamed("dependencies")), {.softwareThreads = 0});
        trainer.objective().writeModel(folder.path().toStdString(),
                                       [&](const std::string& name) { return trainer.read(name); });
        return true;
    }();
    REQUIRE(isWritten);
    return folder.path();
}

/// What a document does not hold, but what comes of it.
struct Shown {
    std::vector<std::string> branches;
    std::vector<bool> isPrompt;
    std::vector<int> source;
    std::string text;
    bool operator==(const Shown&) const = default;
    explicit Shown(const Snapshot& snapshot) {
        if (!snapshot.sequence) return;
        for (const BranchNode& node : snapshot.branches->nodes) branches.push_back(node.text);
        for (const TokenInfo& token : snapshot.sequence->tokens) isPrompt.push_back(token.isPrompt);
        for (const TokenInfo& token : snapshot.sequence->source) source.push_back(token.id);
        text = snapshot.sequence->text;
    }
};

/// A field of a document, without the middle of a long one.
std::string brief(const QJsonValue& value) {
    const std::string text = QJsonDocument(QJsonArray{value}).toJson(QJsonDocument::Compact).toStdString();
    return text.size() < 600 ? text : text.substr(0, 300) + " ... " + text.substr(text.size() - 300);
}

void checkEqual(const SessionDocument& before, const SessionDocument& after) {
    const QJsonObject a = QJsonDocument::fromJson(sessionToJson(before)).object(),
                      b = QJsonDocument::fromJson(sessionToJson(after)).object();
    const auto compare = [](const QString& name, const QJsonValue& one, const QJsonValue& other) {
        CAPTURE(name.toStdString(), brief(one), brief(other));
        CHECK((one == other));
    };
    for (const QString& field : a.keys()) {
        // Qt's state of the docks holds widths that follow the text: places() compares what a person sees. What has no
        // name, or is out of sight, is not kept as the focus.
        if (field == "view" || field == "layout" || (field == "focus" && before.focus.isEmpty())) continue;
        compare(field, a[field], b[field]);
    }
    for (const QString& panel : a["view"].toObject().keys()) compare(panel, a["view"][panel], b["view"][panel]);
}

/// Each dock on screen: its area, whether it floats or is in front, and the docks that share its place.
QStringList places(MainWindow& window) {
    QStringList all;
    for (QDockWidget* dock : window.findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly)) {
        if (dock->isHidden()) continue;
        QStringList others;
        for (const QDockWidget* other : window.tabifiedDockWidgets(dock))
            if (!other->isHidden()) others << other->objectName();
        all << QStringList{dock->objectName(), QString::number(window.dockWidgetArea(dock)),
                           dock->isFloating() ? "floats" : "", isInSight(*dock) ? "in front" : "", others.join(' ')}
                   .join(", ");
    }
    all.sort(); // as children, the docks stand in any order
    return all;
}

/// Random work with the open model.
class Work {
public:
    Work(Window& window, unsigned seed) : window_(window), chance_(seed) {}

    void doSome(int count) {
        prompt();
        for (int i = 0; i < count; ++i) one();
        choosePlace();
    }

private:
    int below(int count) { return std::uniform_int_distribution(0, count - 1)(chance_); }

    void prompt() {
        const ModelInfo& model = *window_.snapshot().model;
        if (model.inputAxis() != AxisKind::Tokens) return;
        if (!model.hasTokenizer) {
            std::vector<int> ids;
            const int length = below(2) ? 3 + below(6) : model.contextLength + below(40);
            const int vocabulary = std::min(model.vocabulary, 40);
            for (int i = 0; i < (model.readsSource ? std::min(length, 9) : length); ++i)
                ids.push_back(1 + below(vocabulary - 1));
            return window_.post(SetPromptCommand{{.tokens = ids}});
        }
        if (model.readsTrees) {
            const std::vector<std::vector<int>> trees{{1, 1, 1, 2}, {0, 0, 1, 2}, {}};
            return window_.post(SetPromptCommand{{.text = "a b c d", .parents = trees[static_cast<size_t>(below(3))]}});
        }
        const std::string texts[] = {"abcabc", "  two  spaces ", "naïve 世界 🙂 שלום\n\"quoted\"\t\x01",
                                     std::string(3000, 'q') + "abcabcab"};
        window_.post(SetPromptCommand{{.text = texts[below(4)]}});
    }

    void one() {
        const ModelInfo& model = *window_.snapshot().model;
        Workbench& bench = window_.bench();
        const auto& branches = window_.snapshot().branches;
        const int site = below(model.siteCount()), head = below(model.site(site).heads);
        switch (below(12)) {
        case 0:
            if (model.writesText()) window_.post(GenerateCommand{.maxTokens = 1 + below(9)});
            break;
        case 1:
            if (model.writesText()) window_.post(TakeTokenCommand{.token = below(std::min(model.vocabulary, 30))});
            break;
        case 2:
            if (model.writesText())
                window_.post(GoToBranchCommand{1 + below(std::max(1, int(branches->nodes.size()) - 1))});
            break;
        case 3:
            bench.setGate(site, head, static_cast<float>(below(4)) / 4);
            break;
        case 4:
            bench.addChanges({{.hook = model.site(site).hook("z"), .head = head, .amount = 0.5f}});
            break;
        case 5:
            bench.select({.site = site,
                          .head = head,
                          .row = below(2) ? std::optional(below(std::max(1, bench.tokenCount()))) : std::nullopt});
            break;
        case 6:
            bench.setSampling({.greedy = below(2) == 0,
                               .temperature = 0.5f + 0.1f * static_cast<float>(below(9)),
                               .topK = below(40),
                               .seed = chance_()});
            break;
        case 7:
            bench.showRun(static_cast<ShownRun>(below(3)));
            break;
        case 8:
        case 9:
        case 10:
            setControl();
            break;
        default:
            if (below(2)) window_.get().findChild<QAction*>("attentionHead")->trigger();
            break;
        }
        window_.settle();
    }

    /// Sets one of the controls of a panel to a value of its own.
    void setControl() {
        const char* const panels[] = {"attention", "lenses", "text", "beams", "compare", "generate", "playground"};
        const QString panel = panels[below(static_cast<int>(std::size(panels)))];
        window_.bench().showPanel(panel);
        window_.settle();
        auto* dock = window_.get().findChild<QDockWidget*>("dock." + panel);
        QList<QWidget*> controls;
        for (QWidget* control : dock->findChildren<QWidget*>())
            if (control->isVisible() && control->isEnabled() && !control->objectName().startsWith("qt_"))
                controls << control;
        if (controls.isEmpty()) return;
        for (int attempt = 0; attempt < 20; ++attempt) {
            QWidget* control = controls[below(static_cast<int>(controls.size()))];
            if (auto* box = qobject_cast<QComboBox*>(control); box && box->count() > 1) {
                box->setCurrentIndex(below(box->count()));
                emit box->activated(box->currentIndex());
            } else if (auto* tick = qobject_cast<QCheckBox*>(control)) {
                tick->click();
            } else if (auto* number = qobject_cast<QSpinBox*>(control)) {
                number->setValue(number->minimum() + below(std::min(number->maximum() - number->minimum() + 1, 9)));
            } else if (auto* slider = qobject_cast<QSlider*>(control)) {
                slider->setValue(slider->minimum() + below(slider->maximum() - slider->minimum() + 1));
            } else if (auto* tabs = qobject_cast<QTabBar*>(control); tabs && tabs->parentWidget() != &window_.get()) {
                tabs->setCurrentIndex(below(tabs->count()));
            } else {
                continue;
            }
            INFO(panel.toStdString() << ": " << control->metaObject()->className() << ' '
                                     << control->objectName().toStdString());
            return window_.settle();
        }
    }

    void choosePlace() {
        const char* const places[] = {"write", "inspect", "train", "build", "compare"};
        window_.trigger((std::string("workspace.") + places[below(5)]).c_str());
        for (int i = 0; i < 3; ++i) {
            const auto docks = window_.get().findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly);
            QDockWidget* dock = docks[below(static_cast<int>(docks.size()))];
            if (dock->isHidden()) continue;
            if (below(4) == 0) dock->close();
            dock->raise();
        }
        for (const char* control : {"prompt", "aggregate", "candidates", "attentionHeatmap"})
            if (auto* found = window_.get().findChild<QWidget*>(control); found && below(3) == 0) found->setFocus();
        window_.settle();
    }

    Window& window_;
    std::mt19937 chance_;
};

} // namespace

TEST_CASE("restoring: a session, undo, a new start and a crash bring back the document that was kept",
          "[lab][restoring]") {
    const QString golden = QString(ATTN_TEST_DIR) + "/golden/";
    const QString models[] = {"builtin:induction",  "builtin:masked",     golden + "llama",     golden + "t5_gated",
                              "builtin:numbers-de", "builtin:vit-shapes", modelThatReadsTrees()};
    for (unsigned seed = 1; const QString& model : models) {
        for (int round = 0; round < 2; ++round, ++seed) {
            CAPTURE(model.toStdString(), seed);
            const QTemporaryDir folder;
            makeApplication(folder.path());
            auto window = std::make_unique<Window>(folder.path(), model);
            Work(*window, seed).doSome(8);
            const SessionDocument kept = window->get().session().document();
            const Shown shown(window->snapshot());
            const QStringList docks = places(window->get());
            const QString path = folder.path() + "/kept.attnlab";
            const auto check = [&](const char* way) {
                CAPTURE(way);
                window->settle();
                checkEqual(kept, window->get().session().document());
                CHECK(window->get().session().file() == path);
                CHECK(Shown(window->snapshot()) == shown);
                CHECK(places(window->get()).join('\n').toStdString() == docks.join('\n').toStdString());
            };
            window->get().files().saveSessionAs(path);
            REQUIRE(QTest::qWaitFor([&] { return !window->get().files().isSaving(); }, 300'000));
            // A model of another kind has nothing for some panels, whose tabs go meanwhile.
            const bool readsPictures = window->bench().reads(AxisKind::Patches);
            for (const char* other : {readsPictures ? "builtin:masked" : "builtin:vit-shapes", "builtin:sort"}) {
                window->open(other);
                window->trigger("undo");
                check(other);
            }
            window->open("builtin:vit-fashion");
            window->open(path);
            check("session");
            window->get().close();
            window.reset(); // it holds the lock of the folder
            window = std::make_unique<Window>(folder.path(), "builtin:induction");
            check("a new start");
            window->get().saveForNextStart();
            window.reset(); // as if it had crashed
            window = std::make_unique<Window>(folder.path(), "builtin:induction");
            auto* bar = window->get().findChild<QWidget*>("offerBanner");
            for (auto* button : bar->findChildren<QAbstractButton*>())
                if (button->text() == "Restore") button->click();
            check("a crash");
        }
    }
}

TEST_CASE("restoring: undo brings back the tab that was in front, and the workspace", "[lab][restoring]") {
    LabWindow lab("builtin:induction", "abcabc");
    const QString picture = lab.folder() + "/white.png";
    QImage white(16, 16, QImage::Format_RGB32);
    white.fill(Qt::white);
    REQUIRE(white.save(picture));
    const auto undone = [&](const std::function<void()>& open, const char* way) {
        CAPTURE(way);
        for (const auto& [workspace, panel] :
             {std::pair{"write", "text"}, {"write", "branches"}, {"inspect", "interventions"}, {"learn", "start"}}) {
            CAPTURE(workspace, panel);
            lab.act((std::string("workspace.") + workspace).c_str());
            lab.showPanel(panel);
            REQUIRE(lab.settle());
            const QStringList before = places(lab.window());
            open();
            REQUIRE(lab.settle());
            CHECK(lab.snapshot().path() != "builtin:induction");
            for (int steps = 0; steps < 2 && lab.snapshot().path() != "builtin:induction"; ++steps) {
                lab.press(lab.action("undo")); // the choice of a picture may be a step of its own
                REQUIRE(lab.settle());
            }
            CHECK(lab.snapshot().path() == "builtin:induction");
            CHECK(places(lab.window()).join('\n').toStdString() == before.join('\n').toStdString());
        }
    };
    undone([&] { lab.window().files().open(picture); }, "a picture");
    undone([&] { lab.window().files().open("builtin:vit-shapes"); }, "a model of pictures");
    undone([&] { lab.window().files().open("builtin:masked"); }, "a model that fills words in");
    undone([&] { emit lab.find<StartPanel>("start").tourChosen(StartPanel::Tour::Look); }, "a tour");

    lab.act("workspace.inspect"); // the other tour opens the same model
    REQUIRE(lab.settle());
    const QStringList before = places(lab.window());
    emit lab.find<StartPanel>("start").tourChosen(StartPanel::Tour::Write);
    REQUIRE(lab.settle());
    lab.press(lab.action("undo"));
    REQUIRE(lab.settle());
    CHECK(places(lab.window()).join('\n').toStdString() == before.join('\n').toStdString());
}

TEST_CASE("restoring: branches have their texts, and a long text its prompt, before anybody clicks",
          "[lab][restoring]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("step");
    lab.window().bridge().post(ResetCommand{});
    lab.window().bridge().post(TakeTokenCommand{.token = 3});
    REQUIRE(lab.settle());
    const auto texts = [&] {
        QStringList rows;
        const auto* tree = lab.find<QTreeView>("branchTree").model();
        const QModelIndex prompt = tree->index(0, 0);
        for (int row = 0; row < tree->rowCount(prompt); ++row) rows << tree->index(row, 0, prompt).data().toString();
        return rows;
    };
    const QStringList before = texts();
    REQUIRE(before.size() == 2);
    CHECK_FALSE(before.contains(QString()));
    lab.window().files().open("builtin:sort");
    REQUIRE(lab.settle());
    lab.act("undo");
    CHECK(texts() == before);

    const int context = lab.snapshot().model->contextLength;
    lab.window().bridge().post(SetPromptCommand{{.text = std::string(static_cast<size_t>(3 * context), 'a')}});
    lab.window().bridge().post(GenerateCommand{.maxTokens = 5});
    REQUIRE(lab.settle());
    const QString count = lab.find<QLabel>("promptCount").text();
    CHECK_THAT(count.toStdString(), CONTAINS("+ 5 generated"));
    lab.window().files().open("builtin:sort");
    REQUIRE(lab.settle());
    lab.act("undo");
    CHECK(lab.find<QLabel>("promptCount").text() == count);
}

TEST_CASE("restoring: a window that was made on a larger screen fits this one", "[lab][restoring]") {
    const QTemporaryDir folder;
    makeApplication(folder.path());
    const QRect room = QGuiApplication::primaryScreen()->availableGeometry();
    MainWindow window({.preferences = Preferences{}, .device = {}, .size = room.size() * 2});
    window.show();
    REQUIRE(QTest::qWaitForWindowExposed(&window, 300'000));
    CHECK(window.width() <= room.width());
    CHECK(window.height() <= room.height());
}
