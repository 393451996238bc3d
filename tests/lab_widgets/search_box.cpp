#include "app/lab/widgets/search_box.h"
#include "tests/lab_widgets/windows.h"

using namespace attn;

namespace {

/// A box with two titles and three entries, the first of which is chosen.
void fill(SearchBox& box) {
    box.setObjectName("plant");
    box.setAccessibleName("Plant");
    const auto addTitle = [&](const char* text) {
        box.addItem(text);
        static_cast<QStandardItemModel*>(box.model())->item(box.count() - 1)->setFlags(Qt::NoItemFlags);
    };
    const auto add = [&](const char* text, const char* sentence) {
        box.addItem(text);
        box.setItemData(box.count() - 1, sentence, Qt::AccessibleDescriptionRole);
    };
    addTitle("Fruit");
    add("Apple", "Round, and often red");
    add("Pear", "Green or yellow");
    addTitle("Tree");
    add("Oak", "Lives for hundreds of years");
    box.setCurrentIndex(1);
}

QLineEdit& wordsOf(SearchBox& box) { return *box.findChild<QLineEdit*>("plantWords"); }
QListWidget& listOf(SearchBox& box) { return *box.findChild<QListWidget*>("plantList"); }

QStringList rows(SearchBox& box) {
    QStringList found;
    for (int row = 0; row < listOf(box).count(); ++row) found << listOf(box).item(row)->text();
    return found;
}

QString current(SearchBox& box) {
    const QListWidgetItem* item = listOf(box).currentItem();
    return item ? item->text() : QString();
}

} // namespace

TEST_CASE("search box: words are found in entries, in their titles and in the sentences about them", "[lab]") {
    SearchBox box;
    fill(box);
    present(box, {200, 30});
    QTest::keyClick(&box, Qt::Key_Space);
    CHECK(rows(box) == QStringList{"Fruit", "Apple", "Pear", "Tree", "Oak"});
    CHECK(current(box) == "Apple");
    const auto found = [&](const char* words) {
        wordsOf(box).setText(words);
        return rows(box);
    };
    CHECK(found("ear") == QStringList{"Fruit", "Pear"});
    CHECK(found("tree") == QStringList{"Tree", "Oak"});
    CHECK(found("often RED") == QStringList{"Fruit", "Apple"});
    CHECK(found("red yellow").front().startsWith("Nothing found for “red yellow”"));
    CHECK(found("").size() == 5);
}

TEST_CASE("search box: keys choose what is found, skip titles, and leave the choice as it is", "[lab]") {
    SearchBox box;
    fill(box);
    present(box, {200, 30});
    QSignalSpy chosen(&box, &QComboBox::activated);
    QTest::keyClick(&box, Qt::Key_O); // opens the list and is the first letter of the words
    REQUIRE(listOf(box).isVisible());
    QTest::keyClicks(&wordsOf(box), "a");
    CHECK(wordsOf(box).text() == "oa");
    QTest::keyClick(&wordsOf(box), Qt::Key_Return);
    CHECK(box.currentText() == "Oak");
    CHECK(chosen.count() == 1);
    CHECK_FALSE(listOf(box).isVisible());

    QTest::keyClick(&box, Qt::Key_Space);
    CHECK(wordsOf(box).text().isEmpty());
    CHECK(current(box) == "Oak");
    QTest::keyClick(&wordsOf(box), Qt::Key_Up);
    CHECK(current(box) == "Pear");
    QTest::keyClick(&wordsOf(box), Qt::Key_PageUp);
    CHECK(current(box) == "Apple");
    QTest::keyClick(&wordsOf(box), Qt::Key_Escape);
    CHECK_FALSE(listOf(box).isVisible());

    QTest::keyClick(&box, Qt::Key_Z);
    QTest::keyClick(&wordsOf(box), Qt::Key_Return); // there is nothing to choose
    CHECK(listOf(box).isVisible());
    box.hidePopup();
    CHECK(box.currentText() == "Oak");
    CHECK(chosen.count() == 1);
}

TEST_CASE("search box: a click opens the list, and a click on an entry chooses it", "[lab]") {
    SearchBox box;
    fill(box);
    present(box, {200, 30});
    QSignalSpy chosen(&box, &QComboBox::activated);
    QTest::mouseClick(&box, Qt::LeftButton);
    REQUIRE(listOf(box).isVisible());
    const auto click = [&](int row) {
        QTest::mouseClick(listOf(box).viewport(), Qt::LeftButton, {},
                          listOf(box).visualItemRect(listOf(box).item(row)).center());
    };
    click(3); // a title
    CHECK(listOf(box).isVisible());
    click(2);
    CHECK_FALSE(listOf(box).isVisible());
    CHECK(box.currentText() == "Pear");
    REQUIRE(chosen.count() == 1);
    CHECK(chosen.front().front() == 2);
}
