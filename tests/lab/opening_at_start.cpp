#include "tests/lab/dropping.h"
#include "tests/lab/small_session.h"
#include "tests/lab/vision_test.h"

// What becomes of the files that are named on the command line, or dropped: each has its effect, or a sentence says why
// not.

using namespace attn;

namespace {

/// A folder with a file of each kind.
struct Files {
    QTemporaryDir folder;
    QString path(const char* name) const { return folder.filePath(QLatin1String(name)); }

    Files() {
        writeText(path("notes.txt"), "the quick fox");
        writeText(path("empty.txt"), "");
        writeText(path("broken.png"), "not a picture, whatever its name says\x01");
        writeText(path("data"), QByteArray("\x7f\x00\x01", 3));
        writeText(path("no lesson.json"), "{}");
        writeText(path("damaged.attnlab"), "{");
        REQUIRE_FALSE(saveSession(smallSession(), path("one.attnlab")));
        QImage white(16, 16, QImage::Format_RGB32);
        white.fill(Qt::white);
        REQUIRE(white.save(path("white.png")));
    }
};

/// Waits for the model that the window opens first, and for what else it shows.
void waitForModel(LabWindow& lab) {
    REQUIRE(lab.waitFor([&] { return lab.window().workbench().hasModel(); }));
    REQUIRE(lab.settle());
}

} // namespace

TEST_CASE("opening at the start: a text, a picture and a session have their effect", "[lab]") {
    const Files files;
    {
        LabWindow lab("builtin:induction", {}, {files.path("notes.txt")});
        waitForModel(lab);
        CHECK(lab.snapshot().path() == "builtin:induction");
        CHECK(lab.snapshot().sequence->given.text == "the quick fox");
        CHECK_FALSE(banner(lab, "failureBanner").isVisible());
    }
    {
        LabWindow lab("builtin:induction", {}, {files.path("white.png")});
        waitForModel(lab);
        CHECK(lab.waitFor([&] { return lab.snapshot().answer && setup(lab).name == files.path("white.png"); }));
        CHECK_FALSE(banner(lab, "failureBanner").isVisible());
    }
    LabWindow lab("builtin:sort", {}, {files.path("one.attnlab")});
    waitForModel(lab);
    CHECK(lab.snapshot().path() == smallSession().modelPath.toStdString());
    CHECK(lab.window().session().file() == files.path("one.attnlab"));
}

TEST_CASE("opening at the start: a sentence says what cannot be opened, beside the example", "[lab]") {
    const Files files;
    for (const char* name :
         {"nowhere.txt", "nowhere.attnlab", "empty.txt", "broken.png", "data", "no lesson.json", "damaged.attnlab"}) {
        CAPTURE(name);
        LabWindow lab("builtin:induction", {}, {files.path(name)});
        waitForModel(lab);
        CHECK(lab.snapshot().path() == "builtin:induction");
        REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }, 10'000));
        CHECK(banner(lab, "failureBanner").text().contains(QLatin1String(name)));
    }
}

TEST_CASE("opening at the start: a folder or a session without a model is refused beside the example", "[lab]") {
    const Files files;
    REQUIRE(QDir().mkpath(files.path("no model")));
    SessionDocument session = smallSession();
    session.modelPath = files.path("no model");
    REQUIRE_FALSE(saveSession(session, files.path("orphan.attnlab")));
    for (const char* name : {"no model", "orphan.attnlab"}) {
        CAPTURE(name);
        LabWindow lab("builtin:induction", {}, {files.path(name)});
        waitForModel(lab);
        CHECK(lab.snapshot().path() == "builtin:induction");
        CHECK_FALSE(lab.text().empty());
        CHECK(banner(lab, "failureBanner").isVisible());
        CHECK(banner(lab, "failureBanner").text().contains("no model"));
    }
}

TEST_CASE("opening: the first of several files opens, and the others are named", "[lab]") {
    const Files files;
    const QStringList both{files.path("notes.txt"), files.path("one.attnlab")};
    const auto check = [](LabWindow& lab) {
        waitForModel(lab);
        REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->given.text == "the quick fox"; }));
        CHECK(banner(lab, "offerBanner").isVisible());
        CHECK(banner(lab, "offerBanner").text().contains("one file at a time. It has not opened: one.attnlab."));
    };
    LabWindow started("builtin:induction", {}, both);
    check(started);
    LabWindow lab("builtin:induction", "abcabc");
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(both[0]), QUrl::fromLocalFile(both[1])});
    QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&lab.window(), &enter);
    CHECK(enter.isAccepted());
    QDropEvent event(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&lab.window(), &event);
    check(lab);
}
