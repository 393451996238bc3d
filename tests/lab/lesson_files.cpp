#include "app/lab/lessons/lesson_calls.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/shell/launch_options.h"
#include "tests/lab/playground_test.h"
#include "tests/support/answers.h"

using namespace attn;

namespace {

QJsonObject sampleStep() {
    return {{"title", "t"},
            {"text", "x"},
            {"task", "do it"},
            {"pointAt", "gate"},
            {"allow", QJsonArray{"heads"}},
            {"enter", QJsonArray{QJsonObject{{"prompt", "abc"}}}},
            {"doneWhen", QJsonObject{{"head", QJsonArray{1, 0}}}}};
}

QByteArray lessonOf(const QJsonObject& step) {
    return QJsonDocument(QJsonObject{{"title", "l"}, {"summary", "s"}, {"minutes", 1}, {"steps", QJsonArray{step}}})
        .toJson();
}

QByteArray lessonPointingAt(const char* control) {
    QJsonObject step = sampleStep();
    step["pointAt"] = control;
    return lessonOf(step);
}

std::string sentenceFor(const QByteArray& json) { return refusal(lessonFromJson(json, "mine.json")); }

} // namespace

TEST_CASE("lessons: a file that means nothing is refused with its name, the step and the thing", "[lab][lessons]") {
    REQUIRE(sentenceFor(lessonOf(sampleStep())).empty());
    test::checkAnswers("lab/broken_lessons.json", "texts",
                       [](const std::string& text) { return sentenceFor(QByteArray::fromStdString(text)); });
    test::checkAnswers("lab/broken_lessons.json", "fields", [](const std::string& fields) {
        return sentenceFor(lessonOf(QJsonDocument::fromJson(withFields(sampleStep(), fields)).object()));
    });
    CHECK(std::holds_alternative<Failure>(loadLesson("/nowhere/at-all.json")));
}

TEST_CASE("lessons: one that points at no control of the window is not begun", "[lab][lessons]") {
    LabWindow lab;
    const QString path = lab.folder() + "/mine.json";
    writeText(path, lessonPointingAt("next/Temprature"));
    lab.window().lessons().open(path);
    CHECK_FALSE(lab.window().lessons().player().isPlaying());
    const auto lesson = std::get<Lesson>(loadLesson(path));
    const auto failure = checkControls(lesson, lab.window());
    REQUIRE(failure);
    CHECK(failure->sentence().find("mine, step 1: there is no control \"next/Temprature\"") != std::string::npos);
    writeText(path, lessonPointingAt("next/Temperature"));
    lab.window().lessons().open(path);
    CHECK(lab.window().lessons().player().isPlaying());
    // A message that comes meanwhile leaves the buttons of the lesson free. Only a failure is worth copying.
    REQUIRE(lab.settle());
    lab.window().lessons().open(lab.folder() + "/none.json");
    lab.layOut();
    auto& bar = lab.find<QWidget>("failureBanner");
    REQUIRE(bar.isVisible());
    const auto& next = lab.find<QPushButton>("lessonNext");
    const QRect button(next.mapTo(&lab.window(), QPoint()), next.size());
    CHECK(lab.waitFor([&] { return !bar.geometry().intersects(button); }, 5'000)); // it slides there
    const auto hasCopy = [&](const char* name) {
        const auto buttons = banner(lab, name).findChildren<QToolButton*>();
        return std::ranges::any_of(buttons, [](auto* each) { return each->isVisible() && each->text() == "Copy"; });
    };
    CHECK(hasCopy("failureBanner"));
    lab.press(lab.action("workspace.write"));
    REQUIRE(lab.find<QWidget>("offerBanner").isVisible());
    CHECK_FALSE(hasCopy("offerBanner"));
}

TEST_CASE("lessons: those of a folder of one's own follow, and what is none is told", "[lab][lessons]") {
    QTemporaryDir folder;
    for (const auto& [name, json] :
         {std::pair("zz-mine.json", lessonOf(sampleStep())), {"broken.json", QByteArray("{")}}) {
        writeText(folder.filePath(name), json);
    }
    const LessonLibrary library = lessonLibrary(folder.path());
    REQUIRE(library.lessons.size() == 10);
    CHECK(library.lessons.back().id == "zz-mine");
    REQUIRE(library.failures.size() == 1);
    CHECK(library.failures[0].sentence().find("broken.json") != std::string::npos);
    const auto options = parseLaunchOptions({"attention-lab", "--lesson", "3"});
    CHECK(std::get<LaunchOptions>(options).lesson == "3");
}

TEST_CASE("lessons: attention is drawn as a heatmap, unless the lesson says otherwise", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abcabc");
    const auto drawnAs = [&] { return lab.window().panels().view("attention")["drawnAs"].toString(); };
    for (const char* picture : {"arcs", "heatmap"}) {
        run(lab.window().lessons(), {"attention", QJsonObject{{"level", "head"}, {"drawnAs", picture}}});
        CHECK(drawnAs() == picture);
    }
    run(lab.window().lessons(), {"attention", QJsonObject{{"drawnAs", "text"}}});
    run(lab.window().lessons(), {"attention", QJsonObject{{"level", "head"}}});
    CHECK(drawnAs() == "heatmap");
}

TEST_CASE("lessons: conditions hold when what they name is so, and not before", "[lab][lessons]") {
    LabWindow lab("builtin:induction", "abcabc");
    const auto isSo = [&](const char* name, const QJsonValue& argument) {
        return holds(lab.window().lessons(), {name, argument});
    };
    const auto becomes = [&](const char* name, const QJsonValue& argument) {
        return lab.waitFor([&] { return isSo(name, argument); });
    };
    CHECK(isSo("gatesOn", true));
    run(lab.window().lessons(), {"gate", QJsonArray{"blocks.1.attn", 0, 0.5}});
    CHECK(becomes("gateBelow", QJsonArray{"blocks.1.attn", 0, 0.6}));
    CHECK_FALSE(isSo("gatesOn", true));
    run(lab.window().lessons(), {"gatesOn", true});
    CHECK(becomes("gatesOn", true));
    CHECK_FALSE(isSo("cell", QJsonArray{5, 3}));
    run(lab.window().lessons(),
        {"attention",
         QJsonObject{{"level", "cell"}, {"site", "blocks.1.attn"}, {"head", 0}, {"cell", QJsonArray{5, 3}}}});
    CHECK(becomes("cell", QJsonArray{5, 3}));
    CHECK(isSo("head", QJsonArray{"blocks.1.attn", 0}));
    CHECK_FALSE(isSo("head", QJsonArray{"blocks.0.attn", 0}));
    CHECK(isSo("head", QJsonArray{1, 0})); // a lesson from before version 0.3
    CHECK_FALSE(isSo("panel", "playground"));
    REQUIRE(opens(lab));
    CHECK(becomes("panel", "playground"));
    CHECK_FALSE(isSo("seedIsNot", 1));
    run(lab.window().lessons(), {"playground", QJsonObject{{"spec", "mask=window(4)"}, {"seed", 2}}});
    CHECK(becomes("seedIsNot", 1));
    CHECK(isSo("spec", "mask=window(4)"));
    CHECK(isSo("maskShows", QJsonArray{8, 6}));
    CHECK_FALSE(isSo("maskShows", QJsonArray{8, 1}));
}

TEST_CASE("lessons: the author's guide names every action and condition", "[lab][lessons]") {
    QFile guide(QStringLiteral(ATTN_SOURCE_DIR "/assets/lessons/README.md"));
    REQUIRE(guide.open(QIODevice::ReadOnly));
    const QString text = QString::fromUtf8(guide.readAll());
    for (const LessonAction& action : lessonActions()) CHECK(text.contains(QStringLiteral("| `%1`").arg(action.name)));
    for (const LessonCondition& condition : lessonConditions())
        CHECK(text.contains(QStringLiteral("| `%1`").arg(condition.name)));
}
