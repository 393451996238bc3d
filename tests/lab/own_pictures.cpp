#include "app/figures/read_image.h"
#include "app/lab/workbench/session_link.h"
#include "tests/lab/vision_test.h"

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
QJsonObject savedPicture(LabWindow& lab) { return lab.window().view("generate")["picture"].toObject(); }

} // namespace

TEST_CASE("own pictures: a session opens them where their files are gone", "[lab][vision]") {
    GoldenWindow lab("vit");
    const QString first = writeNoise(lab.folder() + "/mine.png", 40), other = writeNoise(lab.folder() + "/b.png", 9);
    REQUIRE(opens(lab, first));
    input(lab).openOther(other);
    REQUIRE(lab.waitFor([&] { return setup(lab).otherName == other; }));
    const PictureSetup shown = setup(lab);
    const QString session = lab.folder() + "/own.attnlab";
    lab.saveSession(session);
    const QString link = sessionLink(lab.window().document());
    REQUIRE((QFile::remove(first) && QFile::remove(other)));
    const auto comesBack = [&](const std::function<void(LabWindow&)>& open) {
        LabWindow again;
        REQUIRE(again.settle());
        open(again);
        REQUIRE(again.waitFor([&] { return again.window().workbench().readsPictures() && setup(again).given.other; }));
        REQUIRE(again.waitFor([&] { return setup(again).name == first; }));
        CHECK(*setup(again).given.image == *shown.given.image);
        CHECK(*setup(again).given.other == *shown.given.other);
        CHECK(again.find<QComboBox>("pictureChoice").currentText() == "mine.png");
        CHECK_FALSE(again.find<QLabel>("pictureMessage").text().contains("no such file"));
    };
    comesBack([&](LabWindow& again) { again.window().open(session); });
    comesBack([&](LabWindow& again) { again.window().openLink(link); });
}

TEST_CASE("own pictures: large ones are kept small, and a link holds only their name", "[lab][vision]") {
    GoldenWindow lab("vit");
    const QString path = writeNoise(lab.folder() + "/large.png", 700);
    REQUIRE(opens(lab, path));
    const QString pixels = savedPicture(lab)["pixels"].toString();
    const auto kept = readImage(QByteArray::fromBase64(pixels.toLatin1()), "kept");
    REQUIRE(std::holds_alternative<Image>(kept));
    CHECK(std::get<Image>(kept).size() == ImageSize{512, 512});
    const QString link = sessionLink(lab.window().document());
    CHECK(link.size() < 10'000);
    const auto read = sessionFromLink(link);
    REQUIRE(std::holds_alternative<SessionDocument>(read));
    const QJsonObject picture = std::get<SessionDocument>(read).view["generate"].toObject()["picture"].toObject();
    CHECK(picture["picture"] == path);
    CHECK_FALSE(picture.contains("pixels"));

    // A built-in picture needs no pixels, and a file of before has none.
    lab.window().setView("generate", {{"picture", QJsonObject{{"picture", "shapes"}}}});
    REQUIRE(lab.waitFor([&] { return setup(lab).name == "shapes"; }));
    CHECK(savedPicture(lab)["pixels"].toString().isEmpty());
    lab.window().setView("generate", {{"picture", QJsonObject{{"picture", path}}}});
    REQUIRE(lab.waitFor([&] { return setup(lab).name == path; }));
    CHECK(setup(lab).given.image->size() == ImageSize{700, 700});
}

TEST_CASE("own pictures: a damaged one in a session is refused with a sentence", "[lab][vision]") {
    GoldenWindow lab("vit");
    const PictureSetup before = setup(lab);
    const QString path = writeNoise(lab.folder() + "/mine.png", 40);
    const QString noPicture = QString::fromLatin1(QByteArray("no picture").toBase64());
    for (const QString& pixels : {QString("!!!"), noPicture}) {
        const QJsonObject damaged{{"picture", path}, {"pixels", pixels}};
        lab.window().setView("generate", {{"picture", damaged}});
        REQUIRE(reads(lab));
        const QLabel& message = lab.find<QLabel>("pictureMessage");
        CHECK_THAT(message.text().toStdString(),
                   CONTAINS("mine.png") && CONTAINS("the picture that the session holds is damaged"));
        CHECK(*setup(lab).given.image == *before.given.image);
        CHECK(setup(lab).name == before.name);
        input(lab).openPicture(before.name); // takes the message away
    }
}
