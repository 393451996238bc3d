#include "app/figures/read_image.h"
#include "app/lab/widgets/drawing_pad.h"
#include "app/lab/workbench/session_link.h"
#include "tests/lab/vision_test.h"
#include "tests/support/hover.h"

// The user's own pictures: opened, drawn, and kept in session files.

using namespace attn;

namespace {

/// A picture file of noise, which no PNG makes small.
QString writeNoise(const QString& path, int side) {
    QImage image(side, side, QImage::Format_RGB32);
    uint32_t state = 1;
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) image.setPixel(x, y, state = state * 1664525 + 1013904223);
    REQUIRE(image.save(path));
    return path;
}

bool opens(LabWindow& lab, const QString& path) {
    input(lab).openPicture(path);
    return lab.waitFor([&] { return setup(lab).name == path; });
}

/// The "picture" of a session that a panel saved.
QJsonObject savedPicture(LabWindow& lab) { return lab.window().panels().view("generate")["picture"].toObject(); }

DrawingCanvas& canvasOf(LabWindow& lab) {
    lab.click("pictureDraw");
    return lab.find<DrawingCanvas>("drawing");
}

} // namespace

TEST_CASE("own pictures: a session opens them where their files are gone", "[lab][vision]") {
    GoldenWindow lab("vit");
    const QString first = writeNoise(lab.folder() + "/mine.png", 40), other = writeNoise(lab.folder() + "/b.png", 9);
    REQUIRE(opens(lab, first));
    input(lab).openOther(other);
    REQUIRE(lab.waitFor([&] { return setup(lab).otherName == other; }));
    lab.window().workbench().selectRow(2); // a patch
    const PictureSetup shown = setup(lab);
    const QString session = lab.folder() + "/own.attnlab";
    lab.saveSession(session);
    const QString link = sessionLink(lab.window().session().document());
    REQUIRE((QFile::remove(first) && QFile::remove(other)));
    const auto comesBack = [&](const std::function<void(LabWindow&)>& open) {
        LabWindow again;
        REQUIRE(again.settle());
        open(again);
        REQUIRE(again.waitFor(
            [&] { return again.window().workbench().reads(AxisKind::Patches) && setup(again).given.other; }));
        REQUIRE(again.waitFor([&] { return setup(again).name == first; }));
        CHECK(*setup(again).given.image == *shown.given.image);
        CHECK(*setup(again).given.other == *shown.given.other);
        CHECK(again.window().workbench().selection().row == 2);
        CHECK(again.find<QComboBox>("pictureChoice").currentText() == "mine.png");
        CHECK_FALSE(again.find<QLabel>("pictureMessage").text().contains("no such file"));
    };
    comesBack([&](LabWindow& again) { again.window().files().open(session); });
    comesBack([&](LabWindow& again) { again.window().files().openLink(link); });
}

TEST_CASE("own pictures: large ones are kept small, and a link holds only their name", "[lab][vision]") {
    GoldenWindow lab("vit");
    const QString path = writeNoise(lab.folder() + "/large.png", 700);
    REQUIRE(opens(lab, path));
    const QString pixels = savedPicture(lab)["pixels"].toString();
    const auto kept = readImage(QByteArray::fromBase64(pixels.toLatin1()), "kept");
    REQUIRE(std::holds_alternative<Image>(kept));
    CHECK(std::get<Image>(kept).size() == ImageSize{512, 512});
    const QString link = sessionLink(lab.window().session().document());
    CHECK(link.size() < 10'000);
    const auto read = sessionFromLink(link);
    REQUIRE(std::holds_alternative<SessionDocument>(read));
    const QJsonObject picture = std::get<SessionDocument>(read).view["generate"].toObject()["picture"].toObject();
    CHECK(picture["picture"] == path);
    CHECK_FALSE(picture.contains("pixels"));

    // A built-in picture needs no pixels, and a file of before has none.
    lab.window().panels().setView("generate", {{"picture", QJsonObject{{"picture", "shapes"}}}});
    REQUIRE(lab.waitFor([&] { return setup(lab).name == "shapes"; }));
    CHECK(savedPicture(lab)["pixels"].toString().isEmpty());
    lab.window().panels().setView("generate", {{"picture", QJsonObject{{"picture", path}}}});
    REQUIRE(lab.waitFor([&] { return setup(lab).name == path; }));
    CHECK(setup(lab).given.image->size() == ImageSize{700, 700});
}

TEST_CASE("own pictures: a restored one says again how its pixels were read", "[lab][vision]") {
    GoldenWindow lab("vit");
    QImage clear(40, 40, QImage::Format_ARGB32);
    clear.fill(QColor(200, 100, 50, 90));
    const QString path = lab.folder() + "/clear.png", session = lab.folder() + "/kept.attnlab";
    REQUIRE(clear.save(path));
    REQUIRE(opens(lab, path));
    const QLabel& about = lab.find<QLabel>("pictureModel");
    REQUIRE(lab.waitFor([&] { return about.text().contains("1600 of 1600 pixels are transparent"); }));
    const QString before = about.text();
    lab.saveSession(session);
    lab.window().files().open("builtin:induction");
    REQUIRE(lab.settle());
    REQUIRE(QFile::remove(path)); // only the session has the picture now
    lab.window().files().open(session);
    REQUIRE(lab.waitFor([&] { return about.text() == before; }));
}

TEST_CASE("own pictures: a damaged one in a session is refused with a sentence", "[lab][vision]") {
    GoldenWindow lab("vit");
    const PictureSetup before = setup(lab);
    const QString path = writeNoise(lab.folder() + "/mine.png", 40);
    const QString noPicture = QString::fromLatin1(QByteArray("no picture").toBase64());
    for (const QString& pixels : {QString("!!!"), noPicture}) {
        const QJsonObject damaged{{"picture", path}, {"pixels", pixels}};
        lab.window().panels().setView("generate", {{"picture", damaged}});
        REQUIRE(reads(lab));
        const QLabel& message = lab.find<QLabel>("pictureMessage");
        CHECK_THAT(message.text().toStdString(),
                   CONTAINS("mine.png") && CONTAINS("the picture that the session holds is damaged"));
        CHECK(*setup(lab).given.image == *before.given.image);
        CHECK(setup(lab).name == before.name);
        input(lab).openPicture(before.name); // takes the message away
    }
}

TEST_CASE("own pictures: one draws a picture, and it is kept like one from a file", "[lab][vision]") {
    LabWindow lab("builtin:vit-shapes");
    REQUIRE(lab.waitFor([&] { return lab.window().workbench().reads(AxisKind::Patches) && reads(lab); }));
    DrawingCanvas& canvas = canvasOf(lab);
    const auto pixel = [&](int x, int y) { return canvas.drawing().pixelColor(x, y); };
    CHECK(pixel(128, 128) == Qt::black); // as the model's examples are
    const QPoint middle = canvas.rect().center();
    QTest::mousePress(&canvas, Qt::LeftButton, {}, middle);
    hover(canvas, middle + QPoint(60, 0), Qt::LeftButton);
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, middle + QPoint(60, 0));
    CHECK(pixel(150, 128) == Qt::white);
    lab.click("drawingUndo");
    CHECK(pixel(150, 128) == Qt::black);
    CHECK_FALSE(lab.find<QPushButton>("drawingUndo").isEnabled());

    auto& colour = lab.find<QComboBox>("penColour");
    colour.setCurrentIndex(colour.findText("red"));
    lab.find<QSpinBox>("penWidth").setValue(40);
    canvas.setFocus(); // now with the keyboard
    CHECK(canvas.accessibleDescription().contains("above the paper"));
    QTest::keyClick(&canvas, Qt::Key_Space);
    CHECK(canvas.accessibleDescription().contains("on the paper"));
    for (int step = 0; step < 5; ++step) QTest::keyClick(&canvas, Qt::Key_Down);
    const QColor ink = pixel(176, 144); // below the end of the line, where the pen was
    CHECK(ink.red() > 200);
    CHECK(ink.blue() < 60);
    lab.click("drawingClear");
    CHECK(pixel(176, 144) == Qt::black);
    lab.click("drawingUndo");
    const Image drawn = imageFrom(canvas.drawing());
    lab.click("drawingUse");
    REQUIRE(lab.waitFor([&] { return setup(lab).name == "Drawn picture"; }));
    CHECK(*setup(lab).given.image == drawn);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().picture->image == setup(lab).given.image; }));

    const QString session = lab.folder() + "/drawn.attnlab";
    lab.saveSession(session);
    CHECK(imageFrom(canvasOf(lab).drawing()) == drawn); // one continues with it
    lab.find<DrawingPad>("drawingPad").reject();
    lab.press(lab.action("undo"));
    CHECK(setup(lab).name != "Drawn picture");
    lab.window().files().open(session);
    REQUIRE(lab.waitFor([&] { return setup(lab).name == "Drawn picture"; }));
    CHECK(*setup(lab).given.image == drawn);
}
