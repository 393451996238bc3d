#include "engine/training/tasks/catalogue.h"
#include "tests/lab/training_test.h"

// The first lines of the Train panel, the task and what stands beside the buttons; and the timeline below the figure.

using namespace attn;

namespace {

QRect placeOf(LabWindow& lab, const QWidget& widget) { return {widget.mapTo(&lab.window(), QPoint()), widget.size()}; }

void resizeTo(LabWindow& lab, const QSize& size) {
    lab.window().resize(size);
    REQUIRE(lab.waitFor([&] { return lab.window().size() == size; }, 5'000));
    lab.layOut();
}

} // namespace

TEST_CASE("lab: a task is found by words of its title, its group or its summary", "[lab][training]") {
    LabWindow lab;
    lab.showPanel("train");
    auto& task = lab.find<QComboBox>("task");
    task.setFocus();
    QTest::keyClick(&task, Qt::Key_Space);
    auto& words = lab.find<QLineEdit>("taskWords");
    const auto& list = lab.find<QListWidget>("taskList");
    const auto found = [&](const char* typed) {
        words.setText(typed);
        QStringList tasks;
        for (int row = 0; row < list.count(); ++row)
            if (list.item(row)->flags().testFlag(Qt::ItemIsEnabled)) tasks << list.item(row)->text();
        return tasks;
    };
    CHECK(found("").size() == static_cast<qsizetype>(taskCatalogue().size()));
    CHECK(list.currentItem()->text() == "Sort");
    CHECK(found("innermost") == QStringList{"Balanced brackets"}); // a word of its summary
    CHECK(found("photos").contains("Pictures in a folder"));
    CHECK(found("puzzles").contains("Sort"));
    CHECK_FALSE(found("puzzles").contains("Translation"));
    CHECK(found("translation").size() >= 3);
    words.setText("text"); // the task of this name is chosen, and not the first one with the word
    CHECK(list.currentItem()->text() == "Text");
    words.setText("innermost");
    QTest::keyClick(&words, Qt::Key_Return);
    CHECK_FALSE(words.isVisible());
    CHECK(task.currentText() == "Balanced brackets");
    CHECK(lab.window().lessons().recipe()->task == "brackets");
}

TEST_CASE("lab: what training says stands beside its button, in the smallest window too", "[lab][training]") {
    LabWindow lab;
    setSmallRecipe(lab, 20);
    lab.showPanel("train");
    const auto& play = lab.find<QPushButton>("train.play");
    const auto& state = lab.find<QLabel>("trainState");
    const auto check = [&] {
        for (const QSize size : {QSize(1440, 900), QSize(1024, 700)}) {
            resizeTo(lab, size);
            CAPTURE(size.width(), state.text().toStdString());
            CHECK(placeOf(lab, state).left() > placeOf(lab, play).right());
            CHECK(placeOf(lab, state).top() < placeOf(lab, play).bottom());
            CHECK(state.visibleRegion().boundingRect() == state.rect());
            CHECK(state.height() >= state.heightForWidth(state.width())); // no line is cut off
        }
    };
    check();
    lab.click("train.play");
    REQUIRE(trainsToItsEnd(lab));
    CHECK_THAT(state.text().toStdString(), CONTAINS("Step 20 of 20") && CONTAINS("loss ") && CONTAINS("exact match"));
    check();
}

TEST_CASE("lab: data that are not there are named at the greyed button, until they are", "[lab][training]") {
    LabWindow lab;
    lab.showPanel("train");
    const QString path = lab.folder() + "/book.txt";
    Recipe recipe = suggestedRecipe(taskNamed("text"));
    recipe.settings.data.text = path.toStdString();
    lab.window().workbench().requestRecipe(recipe);
    const auto& play = lab.find<QPushButton>("train.play");
    const auto& state = lab.find<QLabel>("trainState");
    CHECK_FALSE(play.isEnabled());
    CHECK_FALSE(lab.find<QPushButton>("trainStep").isEnabled());
    CHECK(state.text() == "“book.txt” cannot be found. Choose it again, then press Train.");
    writeText(path, QByteArray("the dog ran home\n").repeated(200));
    REQUIRE(lab.waitFor([&] { return play.isEnabled(); }));
    CHECK(state.text().startsWith("Press Train"));
    REQUIRE(QFile::remove(path));
    REQUIRE(lab.waitFor([&] { return !play.isEnabled(); }));
    CHECK(state.text().startsWith("“book.txt” cannot be found."));
    lab.window().workbench().requestRecipe(suggestedRecipe(taskNamed("sort"))); // which reads no text
    CHECK(play.isEnabled());
}

TEST_CASE("lab: the timeline lies below the figure, across the window, while the Train panel is shown",
          "[lab][training]") {
    LabWindow lab;
    const auto& timeline = lab.find<QSlider>("timeline");
    const auto& figure = lab.find<QDockWidget>("dock.attention");
    lab.act("workspace.write");
    lab.layOut();
    CHECK_FALSE(timeline.isVisible());
    lab.act("workspace.train");
    const auto checkPlace = [&] {
        REQUIRE(timeline.isVisible());
        CHECK(placeOf(lab, timeline).top() > placeOf(lab, figure).bottom());
    };
    for (const QSize size : {QSize(1440, 900), QSize(1024, 700)}) {
        resizeTo(lab, size);
        CAPTURE(size.width());
        checkPlace();
        CHECK(timeline.width() > size.width() / 2);
        CHECK(timeline.visibleRegion().boundingRect() == timeline.rect());
    }
    lab.act("present");
    CHECK_FALSE(timeline.isVisible());
    lab.act("present");
    lab.layOut();
    checkPlace();
    lab.act("workspace.inspect");
    lab.layOut();
    CHECK_FALSE(timeline.isVisible());
    lab.act("present"); // which hides the other bars, and shows again only those
    lab.act("present");
    lab.layOut();
    CHECK_FALSE(timeline.isVisible());
    CHECK(lab.find<QWidget>("workspaces").isVisible());
}

TEST_CASE("lab: an arrangement from before the timeline had a place of its own is restored with it",
          "[lab][training]") {
    LabWindow lab;
    lab.act("workspace.train");
    lab.layOut();
    auto& strip = lab.find<QToolBar>("timelineStrip");
    strip.setObjectName("other"); // so that what is saved does not know it
    const QByteArray saved = lab.window().session().document().layout;
    strip.setObjectName("timelineStrip");
    REQUIRE(saved != lab.window().session().document().layout);
    lab.act("workspace.write");
    SessionDocument document = lab.window().session().document();
    document.layout = saved;
    lab.window().session().restore(document);
    REQUIRE(lab.settle());
    lab.layOut();
    CHECK(lab.find<QToolButton>("workspace.train").isChecked());
    CHECK(strip.isVisible());
    CHECK(placeOf(lab, strip).top() > placeOf(lab, lab.find<QDockWidget>("dock.attention")).bottom());
}
