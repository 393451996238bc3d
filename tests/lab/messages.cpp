#include "tests/lab/lab_window.h"

// Where messages stand.

using namespace attn;

namespace {

QRect placeOf(const QWidget& widget, const QWidget& window) {
    return {widget.mapTo(&window, QPoint(0, 0)), widget.size()};
}

} // namespace

TEST_CASE("messages: a failure and an offer have places of their own, in a narrow window too", "[lab]") {
    LabWindow lab;
    lab.window().resize(1024, 700);
    Notices& notices = lab.window().notices();
    notices.offer("Attention Lab closed unexpectedly. Restore the session?");
    notices.fail({.what = "too long for the prompt: 400,000 bytes (limit 262,144)",
                  .where = "/a/folder/with/a/long/name/and/a/file/with/a/long/name/notes.txt",
                  .hint = "use the Text tab for long texts, or the Train panel to learn from it"});
    for (const char* workspace : {"write", "inspect", "compare", "train", "build", "learn"}) {
        CAPTURE(workspace);
        lab.act((std::string("workspace.") + workspace).c_str());
        QTest::qWait(300); // it slides in
        lab.layOut();
        std::vector<QRect> places;
        for (const char* bar : {"offerBanner", "failureBanner"}) {
            REQUIRE(banner(lab, bar).isVisible());
            places.push_back(placeOf(lab.find<QWidget>(bar), lab.window()));
            CHECK(lab.window().rect().contains(places.back()));
        }
        CHECK_FALSE(places[0].intersects(places[1]));
        for (const QDockWidget* dock : lab.window().findChildren<QDockWidget*>()) {
            if (!dock->isVisible() || dock->isFloating()) continue;
            for (const QRect& place : places) CHECK_FALSE(place.intersects(placeOf(*dock, lab.window())));
        }
    }
    for (const char* bar : {"offerBanner", "failureBanner"}) banner(lab, bar).dismiss();
    lab.act("workspace.write");
    lab.layOut();
    CHECK(lab.window().statusBar()->contentsMargins().top() == 0); // the room is given back
}
