#include "app/lab/workbench/session_file.h"
#include "tests/lab/lab_window.h"

// The document that is open: its file, and the steps of undo that lead from one to another.

using namespace attn;

TEST_CASE("sessions: Save never writes another document over a session's file", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    const QString path = lab.folder() + "/s2.attnlab";
    lab.saveSession(path);
    const auto content = [&] {
        QFile file(path);
        REQUIRE(file.open(QFile::ReadOnly));
        return file.readAll();
    };
    const QByteArray kept = content();
    auto& window = lab.window();
    const auto isNamed = [&] { return window.windowTitle().contains("s2.attnlab"); };
    const auto isRestored = [&](bool hasName) {
        return lab.waitFor([&] { return !window.session().isRestoring() && isNamed() == hasName; });
    };
    REQUIRE(isNamed());
    const std::pair<const char*, std::function<void()>> ways[] = {
        {"a fresh start", [&] { window.session().openFresh(); }},
        {"another model", [&] { window.files().open("builtin:sort"); }},
        {"a model that reads pictures", [&] { window.files().open("builtin:vit-shapes"); }}};
    for (const auto& [way, begin] : ways) {
        CAPTURE(way);
        begin();
        REQUIRE(lab.settle());
        CHECK_FALSE(isNamed());
        lab.action("saveSession").trigger();
        auto* dialog = window.findChild<QFileDialog*>("fileDialog"); // it asks for a name
        REQUIRE(dialog);
        dialog->reject();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        CHECK_FALSE(window.files().isSaving());
        CHECK(content() == kept);
        lab.action("undo").trigger();
        REQUIRE(lab.settle());
        CHECK(isRestored(true));
        lab.action("redo").trigger();
        REQUIRE(lab.settle());
        CHECK(isRestored(false));
        lab.action("undo").trigger();
        REQUIRE(lab.settle());
        CHECK(isRestored(true));
    }
    window.files().open("builtin:induction"); // the same model once more
    REQUIRE(lab.settle());
    CHECK_FALSE(isNamed());
    window.files().openSession(path);
    CHECK(isRestored(true));
    CHECK(window.session().file() == path);
    CHECK(std::get<SessionDocument>(loadSession(path)).file.isEmpty()); // a file may be moved
}

TEST_CASE("sessions: undo of a model leaves the workspace that was chosen since", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.window().files().open("builtin:sort");
    REQUIRE(lab.settle());
    lab.action("workspace.compare").trigger();
    const auto leadsTo = [&](const char* step, const char* model) {
        lab.action(step).trigger();
        return lab.waitFor([&] { return lab.snapshot().path() == model && !lab.window().session().isRestoring(); });
    };
    REQUIRE(leadsTo("undo", "builtin:induction"));
    CHECK(lab.find<QToolButton>("workspace.compare").isChecked());
    CHECK(lab.text() == "abcabc");
    REQUIRE(leadsTo("redo", "builtin:sort"));
    CHECK(lab.find<QToolButton>("workspace.compare").isChecked());
}
