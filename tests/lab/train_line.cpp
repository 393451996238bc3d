#include "engine/training/tasks/catalogue.h"
#include "tests/lab/training_test.h"

// The first line of the Train panel: the task, and what stands beside the buttons.

using namespace attn;

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
    const auto placeOf = [&](const QWidget& widget) {
        return QRect(widget.mapTo(&lab.window(), QPoint()), widget.size());
    };
    const auto check = [&] {
        for (const QSize size : {QSize(1440, 900), QSize(1024, 700)}) {
            lab.window().resize(size);
            REQUIRE(lab.waitFor([&] { return lab.window().size() == size; }, 5'000));
            lab.layOut();
            CAPTURE(size.width(), state.text().toStdString());
            CHECK(placeOf(state).left() > placeOf(play).right());
            CHECK(placeOf(state).top() < placeOf(play).bottom());
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
