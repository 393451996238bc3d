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
