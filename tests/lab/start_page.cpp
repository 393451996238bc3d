#include "tests/lab/lab_window.h"

using namespace attn;

TEST_CASE("start page: is offered at the very first start, and once", "[lab][lessons]") {
    LabWindow lab; // its settings are empty
    for (const bool isFirst : {true, false}) {
        MainWindow window({.preferences = Preferences{}, .device = {}, .greets = true});
        window.show();
        CHECK(window.findChild<QWidget*>("offerBanner")->isVisible() == isFirst);
    }
}

TEST_CASE("start page: opens by its keys, shows each bundled model, and opens what is clicked", "[lab][lessons]") {
    LabWindow lab;
    lab.press(lab.action("start"));
    auto* page = lab.window().findChild<QDialog*>("startPage");
    REQUIRE(page);
    int pictures = 0;
    for (auto* button : page->findChildren<QToolButton*>()) {
        if (!button->objectName().startsWith("startModel.")) continue;
        INFO(button->objectName().toStdString());
        CHECK_FALSE(button->icon().pixmap(120, 90).isNull());
        CHECK(QFileInfo(":/start/" + button->objectName().mid(11) + ".png").size() < 15'000);
        ++pictures;
    }
    CHECK(pictures == 9);
    QTest::mouseClick(page->findChild<QToolButton*>("startModel.sort"), Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "sort"; }));
    lab.press(lab.action("start"));
    QTest::mouseClick(lab.window().findChild<QToolButton*>("startPlay"), Qt::LeftButton);
    CHECK(lab.waitFor([&] { return !lab.find<QWidget>("playground").visibleRegion().isEmpty(); }));
    lab.layOut();
    lab.press(lab.action("start"));
    QTest::mouseClick(lab.window().findChild<QToolButton*>("startLearn"), Qt::LeftButton);
    CHECK(lab.waitFor([&] { return lab.find<QListWidget>("lessonList").hasFocus(); }));
}
