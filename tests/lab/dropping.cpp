#include "tests/lab/dropping.h"
#include "app/lab/panels/train_panel.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/small_session.h"
#include "tests/lab/vision_test.h"

using namespace attn;

TEST_CASE("opening: a picture that is dropped over a text is one step of undo", "[lab][vision]") {
    LabWindow lab("builtin:induction", "abcabc");
    const QString picture = lab.folder() + "/white.png";
    QImage white(16, 16, QImage::Format_RGB32);
    white.fill(Qt::white);
    REQUIRE(white.save(picture));
    QUndoStack& steps = lab.window().workbench().undoStack();
    const int before = steps.index();
    const auto isShown = [&] {
        return lab.snapshot().answer && setup(lab).name == picture &&
               lab.snapshot().picture->image == setup(lab).given.image;
    };
    drop(lab.window(), picture);
    REQUIRE(lab.waitFor(isShown));
    REQUIRE(lab.settle());
    CHECK(steps.index() == before + 1);
    steps.undo();
    REQUIRE(lab.waitFor([&] { return lab.snapshot().path() == "builtin:induction"; }));
    REQUIRE(lab.settle());
    CHECK(lab.text() == "abcabc");
    steps.redo();
    CHECK(lab.waitFor(isShown));
}

TEST_CASE("opening: a text in UTF-16 is read, as Notepad writes it", "[lab]") {
    LabWindow lab("builtin:induction", "abab");
    const QString path = lab.folder() + "/notes.txt";
    for (const auto encoding : {QStringConverter::Utf16LE, QStringConverter::Utf16BE, QStringConverter::Utf8}) {
        const QString text = QStringLiteral("abc").repeated(2 + static_cast<int>(encoding));
        QStringEncoder encoder(encoding, QStringConverter::Flag::WriteBom);
        writeText(path, encoder.encode(text + '\n'));
        lab.window().files().open(path);
        REQUIRE(lab.settle());
        CHECK(lab.snapshot().sequence->given.text == text.toStdString());
    }
    writeText(path, QByteArray("\xff\xfe\x00\xd8", 4)); // half of a character
    lab.window().files().open(path);
    REQUIRE(lab.settle());
    CHECK(banner(lab, "failureBanner").isVisible());
}

TEST_CASE("opening: a text that is dropped on Train is what the task learns from", "[lab][training]") {
    LabWindow lab("builtin:induction", "abab");
    lab.action("workspace.train").trigger();
    const QString text = lab.folder() + "/book.txt", session = lab.folder() + "/one.attnlab";
    writeText(text, QByteArray("the dog ran home\n").repeated(200));
    REQUIRE_FALSE(saveSession(smallSession(), session));
    auto& panel = lab.window().panels().the<TrainPanel>();
    lab.window().workbench().requestRecipe(suggestedRecipe(taskNamed("text")));
    REQUIRE_FALSE(panel.recipe());
    drop(panel, text);
    REQUIRE(lab.settle());
    CHECK(lab.find<QLineEdit>("textPath").text() == text);
    CHECK(panel.recipe());
    CHECK(lab.find<QToolButton>("workspace.train").isChecked());
    CHECK(lab.snapshot().sequence->given.text == "abab");
    CHECK_FALSE(lab.find<QLineEdit>("textPath").acceptDrops()); // it would show the address of the file
    drop(panel, session);                                       // the window opens it
    CHECK(lab.waitFor([&] { return lab.window().session().file() == session; }));
}
