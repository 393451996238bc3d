#include "app/lab/models/run_list_model.h"
#include "app/lab/shell/quit_on_signals.h"
#include "app/lab/workbench/session_file.h"
#include "engine/training/checkpoint.h"
#include "tests/lab/training_test.h"
#include "tests/support/file_size_limit.h"

#include <sys/stat.h>

using namespace attn;

namespace fs = std::filesystem;

TEST_CASE("lab: metrics that cannot be written are reported while training continues", "[lab][training]") {
    LabWindow lab;
    lab.window().workbench().requestRecipe(smallRecipe(1'000'000, 1'000'000, 1'000'000));
    lab.showPanel("train");
    auto& play = lab.find<QPushButton>("train.play");
    auto& state = lab.find<QLabel>("trainState");
    const auto& training = [&]() -> const TrainingSnapshot& { return *lab.window().workbench().training().snapshot(); };
    QTest::mouseClick(&play, Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return training().step > 3; }));
    CHECK_FALSE(state.text().contains("⚠"));
    {
        const test::FileSizeLimit limit(100);
        REQUIRE(lab.waitFor([&] { return state.text().contains("the metrics cannot be written: File too large"); }));
        const int64_t step = training().step;
        REQUIRE(lab.waitFor([&] { return training().step > step + 3; })); // it continues
    }
    REQUIRE(lab.waitFor([&] { return !state.text().contains("⚠"); }));
    QTest::mouseClick(&play, Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return training().state == TrainingSnapshot::State::Paused; }));
    CHECK(readMetrics(training().folder).points.size() == static_cast<size_t>(training().step));
}

TEST_CASE("lab: a training run that cannot be read is left out, or a line of one, and the list says so",
          "[lab][training]") {
    LabWindow lab;
    const QDir folder(lab.folder());
    const Recipe recipe = suggestedRecipe(*taskCatalogue().front());
    for (const char* name : {"mine/good", "mine/loop", "mine/damaged", "mine/other"})
        REQUIRE(folder.mkpath(QString::fromLatin1(name)));
    const fs::path runs = (lab.folder() + "/mine").toStdString();
    startRun(runs / "good", recipe);
    fs::create_symlink("recipe.json", runs / "loop" / "recipe.json"); // leads to itself
    writeText(folder.filePath("mine/damaged/recipe.json"), "{");
    writeText(folder.filePath("mine/good/metrics.jsonl"), "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"lo\n");

    const RunListModel model(folder.filePath("mine"));
    REQUIRE(lab.waitFor([&] { return !model.isListing(); }));
    REQUIRE(model.runs().size() == 1);
    CHECK(model.runs().front().name == "good");
    CHECK(model.runs().front().points.size() == 1);
    REQUIRE(model.problems().size() == 3);
    CHECK(model.problems().join('\n').contains("good/metrics.jsonl: line 2 of 2 is damaged and left out"));
    CHECK(model.problems().join('\n').contains("loop/recipe.json: cannot be opened: "));
    CHECK(model.problems().join('\n').contains("damaged/recipe.json"));
}

TEST_CASE("lab: a pipe in the place of a session is refused, not waited for", "[lab]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("pipe.attnlab");
    REQUIRE(mkfifo(path.toLocal8Bit().constData(), 0600) == 0);
    const auto loaded = loadSession(path);
    REQUIRE(std::holds_alternative<Failure>(loaded));
    CHECK(std::get<Failure>(loaded).what == "this is not a file");
    REQUIRE(saveSession({.modelPath = "builtin:stories"}, path));
    CHECK(fs::is_fifo(path.toStdString()));
}

TEST_CASE("lab: a session that a full disk refuses leaves the older one and gives the reason", "[lab]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("a.attnlab");
    REQUIRE_FALSE(saveSession({.modelPath = "builtin:stories", .given = {.text = "old"}}, path));
    {
        const test::FileSizeLimit limit(100);
        const auto failure = saveSession({.modelPath = "builtin:stories", .given = {.text = "new"}}, path);
        REQUIRE(failure);
        CHECK(failure->what == "cannot be written: File too large");
    }
    CHECK(std::get<SessionDocument>(loadSession(path)).given.text == "old");
    CHECK(QDir(folder.path()).entryList(QDir::Files).size() == 1);
}

TEST_CASE("lab: signals that end a program are heard on the window's thread", "[lab]") {
    LabWindow lab;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        std::signal(number, SIG_DFL); // nohup and shells ignore some of them, which a program then does too
        QObject context;
        bool isAsked = false;
        onQuitSignal(&context, [&] { isAsked = true; });
        std::raise(number);
        CHECK(lab.waitFor([&] { return isAsked; }));
    }
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGXFSZ}) std::signal(number, SIG_DFL);
}
