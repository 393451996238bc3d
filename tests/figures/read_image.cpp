#include "app/figures/read_image.h"
#include "engine/io/picture_count.h"
#include "tests/figures/painting.h"
#include "tests/io/files.h"

#include <QImageWriter>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

// What decoding must get right beyond what Qt does by itself.

using namespace attn;

namespace {

using test::TemporaryFolder;
namespace fs = std::filesystem;

QString pathIn(const TemporaryFolder& folder, const char* name) { return QString::fromStdString(folder / name); }

std::string sentenceOfReading(const QString& path) {
    const auto result = readImage(path);
    const auto* failure = std::get_if<Failure>(&result);
    if (!failure) return "accepted";
    CHECK_FALSE(failure->hint.empty());
    return failure->where + ": " + failure->what + "; " + failure->hint;
}

Image mustRead(const QString& path) {
    auto result = readImage(path);
    INFO(sentenceOfReading(path));
    REQUIRE(std::holds_alternative<Image>(result));
    return std::get<Image>(std::move(result));
}

QImage halves() { // red above blue, 24 wide, 16 high
    QImage image(24, 16, QImage::Format_RGB32);
    image.fill(Qt::red);
    for (int y = 8; y < 16; ++y)
        for (int x = 0; x < 24; ++x) image.setPixelColor(x, y, Qt::blue);
    return image;
}

} // namespace

TEST_CASE("read image: the formats of classify, pixel by pixel", "[figures][vision]") {
    const TemporaryFolder folder;
    test::writeFile(folder / "tiny.ppm", std::string("P6\n2 1\n255\n") + std::string("\x01\x02\x03\xff\x00\x80", 6));
    const Image tiny = mustRead(pathIn(folder, "tiny.ppm"));
    CHECK(tiny.size() == ImageSize{1, 2});
    CHECK(tiny.rgb == std::vector<uint8_t>{1, 2, 3, 255, 0, 128});
    for (const char* name : {"a.png", "a.bmp", "a.ppm"}) {
        INFO(name);
        REQUIRE(halves().save(pathIn(folder, name)));
        CHECK(mustRead(pathIn(folder, name)) == imageFrom(halves()));
    }
    // A name without an ending, or with the wrong one, is read by what the file holds.
    fs::copy_file(folder / "a.png", folder / "wrong.bmp");
    CHECK(mustRead(pathIn(folder, "wrong.bmp")) == imageFrom(halves()));
    CHECK(imageFrom(toQImage(tiny)) == tiny);
}

TEST_CASE("read image: transparent pixels keep their colours, 16 bits keep the higher byte", "[figures][vision]") {
    const TemporaryFolder folder;
    QImage clear(1, 3, QImage::Format_ARGB32);
    clear.setPixelColor(0, 0, QColor(255, 0, 0, 0));
    clear.setPixelColor(0, 1, QColor(0, 0, 0, 128));
    clear.setPixelColor(0, 2, QColor(0, 255, 0, 255));
    REQUIRE(clear.save(pathIn(folder, "clear.png")));
    const Image read = mustRead(pathIn(folder, "clear.png"));
    CHECK(read.at(0, 0, 0) == 255);
    CHECK(read.at(0, 0, 1) == 0);
    CHECK(read.at(1, 0, 0) == 0);
    CHECK(read.at(2, 0, 1) == 255);
    CHECK_THAT(read.remark, CONTAINS("2 of 3 pixels are transparent"));
    CHECK(mustRead(pathIn(folder, "clear.png")) == imageFrom(clear));
    QImage opaque = clear;
    opaque.fill(QColor(1, 2, 3, 255));
    CHECK(imageFrom(opaque).remark.empty()); // a channel of transparency that hides nothing
    QImage palette(2, 1, QImage::Format_Indexed8);
    palette.setColorTable({qRgba(9, 8, 7, 0), qRgba(200, 100, 50, 128)});
    palette.setPixel(0, 0, 0);
    palette.setPixel(1, 0, 1);
    REQUIRE(palette.save(pathIn(folder, "palette.png")));
    CHECK(mustRead(pathIn(folder, "palette.png")).rgb == std::vector<uint8_t>{9, 8, 7, 200, 100, 50});
    // A grey PNG of 2 x 1 whose grey 77 is transparent, as Pillow writes it.
    const QByteArray greys = QByteArray::fromBase64("iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAAnRSTlMATX7+"
                                                    "8BUAAAALSURBVHicY/RlBAAAoQBQHF4FtQAAAABJRU5ErkJggg==");
    const auto clearGrey = readImage(greys, "grey");
    REQUIRE(std::holds_alternative<Image>(clearGrey));
    CHECK(std::get<Image>(clearGrey).rgb == std::vector<uint8_t>{77, 77, 77, 78, 78, 78});
    CHECK_THAT(std::get<Image>(clearGrey).remark, CONTAINS("1 of 2 pixels"));
    QImage deepClear(1, 1, QImage::Format_RGBA64);
    deepClear.setPixelColor(0, 0, QColor(qRgba64(0x00ff, 0x0180, 0x80ff, 0x0001)));
    REQUIRE(deepClear.save(pathIn(folder, "deep_clear.png")));
    CHECK(mustRead(pathIn(folder, "deep_clear.png")).rgb == std::vector<uint8_t>{0, 1, 128}); // as Pillow
    QImage deep(2, 1, QImage::Format_RGBX64);
    deep.fill(QColor::fromRgba64(0x8080, 0x4040, 0xffff));
    REQUIRE(deep.save(pathIn(folder, "deep.png")));
    QImage ramp(2, 1, QImage::Format_Grayscale16);
    reinterpret_cast<quint16*>(ramp.scanLine(0))[0] = 0x00ff;
    reinterpret_cast<quint16*>(ramp.scanLine(0))[1] = 0x1234;
    REQUIRE(ramp.save(pathIn(folder, "ramp.png")));
    const Image high = mustRead(pathIn(folder, "ramp.png"));
    CHECK(high.rgb == std::vector<uint8_t>{0, 0, 0, 0x12, 0x12, 0x12});
    CHECK_THAT(high.remark, CONTAINS("16 bits of grey")); // Pillow makes 255 of both: the program says so
    const Image eight = mustRead(pathIn(folder, "deep.png"));
    CHECK(eight.at(0, 1, 0) == 0x80);
    CHECK(eight.at(0, 1, 1) == 0x40);
    CHECK(eight.at(0, 1, 2) == 0xff);
    QImage grey(3, 1, QImage::Format_Grayscale8);
    grey.fill(77);
    REQUIRE(grey.save(pathIn(folder, "grey.png")));
    CHECK(mustRead(pathIn(folder, "grey.png")).at(0, 2, 2) == 77);
}

TEST_CASE("read image: a photograph is turned as its EXIF says", "[figures][vision]") {
    const TemporaryFolder folder;
    QImageWriter writer(pathIn(folder, "turned.jpg"));
    writer.setTransformation(QImageIOHandler::TransformationRotate90);
    writer.setQuality(100);
    REQUIRE(writer.write(halves()));
    const Image turned = mustRead(pathIn(folder, "turned.jpg"));
    CHECK(turned.size() == ImageSize{24, 16}); // clockwise: what was above is on the right
    CHECK(turned.at(12, 14, 0) > 200);
    CHECK(turned.at(12, 1, 2) > 200);
}

TEST_CASE("read image: a file that is cut off is refused, and a damaged one that can be read is named",
          "[figures][vision]") {
    const TemporaryFolder folder;
    QImage noise(64, 48, QImage::Format_RGB32);
    for (int y = 0; y < 48; ++y)
        for (int x = 0; x < 64; ++x) noise.setPixelColor(x, y, QColor(x * 37 % 256, y * 91 % 256, x * y % 256));
    const auto bytesOf = [&](const char* format) {
        REQUIRE(noise.save(pathIn(folder, "whole"), format));
        std::ifstream file(folder / "whole", std::ios::binary);
        return std::string((std::istreambuf_iterator<char>(file)), {});
    };
    for (const char* format : {"png", "jpg", "bmp", "ico"}) {
        const std::string whole = bytesOf(format);
        INFO(format);
        CHECK(mustRead(pathIn(folder, "whole")).remark.empty());
        test::writeFile(folder / "more", whole + "more");
        CHECK(mustRead(pathIn(folder, "more")).remark ==
              "The file holds 4 bytes behind the picture, which nothing reads");
        for (const size_t kept : {whole.size() / 3, whole.size() / 2, whole.size() * 9 / 10}) {
            test::writeFile(folder / "cut", whole.substr(0, kept));
            CHECK(sentenceOfReading(pathIn(folder, "cut")) != "accepted");
        }
    }
    // A GIF of 2 x 1 pixels, and the same without the end of its pixels.
    const std::string gif = QByteArray::fromBase64("R0lGODlhAgABAIAAAP8AAAAA/ywAAAAAAgABAAACAkQKADs=").toStdString();
    test::writeFile(folder / "two.gif", gif);
    CHECK(mustRead(pathIn(folder, "two.gif")).size() == ImageSize{1, 2});
    test::writeFile(folder / "two.gif", gif + std::string(3, ';'));
    CHECK_THAT(mustRead(pathIn(folder, "two.gif")).remark, CONTAINS("holds 3 bytes behind the picture"));
    test::writeFile(folder / "two.gif", gif.substr(0, gif.size() - 3));
    CHECK_THAT(sentenceOfReading(pathIn(folder, "two.gif")), CONTAINS("the picture is damaged: its file is cut off"));
    std::string photo = bytesOf("jpg");
    photo.replace(photo.size() / 2, 20, std::string(20, '\xff'));
    test::writeFile(folder / "damaged.jpg", photo);
    const auto damaged = readImage(pathIn(folder, "damaged.jpg"));
    if (const auto* image = std::get_if<Image>(&damaged))
        CHECK_THAT(image->remark, CONTAINS("The file is damaged: some of its pixels may be wrong"));
}

TEST_CASE("read image: whatever is damaged, no library writes to standard error", "[figures][vision]") {
    const TemporaryFolder folder;
    QImage noise(128, 128, QImage::Format_RGB32); // a size that icons have
    for (int y = 0; y < 128; ++y)
        for (int x = 0; x < 128; ++x) noise.setPixelColor(x, y, QColor(x * 37 % 256, y * 91 % 256, x * y % 256));
    std::vector<std::pair<std::string, std::string>> files;
    for (const char* format : {"png", "jpg", "bmp", "ppm", "ico", "icns", "webp", "tiff"}) {
        QImageWriter writer(pathIn(folder, "whole"), format);
        if (!QImageWriter::supportedImageFormats().contains(format)) continue; // the plugin is not installed
        REQUIRE(writer.write(noise));
        std::ifstream file(folder / "whole", std::ios::binary);
        files.emplace_back(format, std::string((std::istreambuf_iterator<char>(file)), {}));
    }
    files.emplace_back("gif", QByteArray::fromBase64("R0lGODlhAgABAIAAAP8AAAAA/ywAAAAAAgABAAACAkQKADs=").toStdString());
    std::fflush(stderr);
    const std::string said = folder / "said";
    const int real = dup(STDERR_FILENO), file = open(said.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(file >= 0);
    dup2(file, STDERR_FILENO);
    size_t refused = 0;
    for (const auto& [format, whole] : files)
        for (size_t part = 1; part < 16; ++part)
            for (const bool isCut : {true, false}) {
                std::string bytes = whole;
                const size_t at = whole.size() * part / 16;
                if (isCut)
                    bytes.resize(at);
                else
                    for (size_t i = at; i < std::min(at + 8, bytes.size()); ++i)
                        bytes[i] = static_cast<char>(~bytes[i]);
                test::writeFile(folder / "damaged", bytes);
                refused += std::holds_alternative<Failure>(readImage(pathIn(folder, "damaged"))) ? 1 : 0;
            }
    std::fflush(stderr);
    dup2(real, STDERR_FILENO);
    close(real);
    close(file);
    std::ifstream written(said);
    CHECK(std::string((std::istreambuf_iterator<char>(written)), {}).empty());
    CHECK(refused > files.size());
}

TEST_CASE("read image: of several pictures, Pillow's is read, and the others are said", "[figures][vision]") {
    const TemporaryFolder folder;
    std::ifstream cases(ATTN_TEST_DIR "/figures/several_pictures.txt");
    std::string line;
    std::getline(cases, line); // says what the columns are
    std::array<int, 3> pixel{};
    std::string name, file;
    int64_t count = 0;
    size_t read = 0;
    for (; cases >> name >> count >> pixel[0] >> pixel[1] >> pixel[2] >> file; ++read) {
        INFO(name);
        const std::string bytes = QByteArray::fromBase64(file.c_str()).toStdString();
        test::writeFile(folder / name, bytes);
        CHECK(picturesIn(std::as_bytes(std::span(bytes))) == count);
        const Image image = mustRead(pathIn(folder, name.c_str()));
        for (const int64_t channel : {0, 1, 2}) CHECK(image.at(0, 0, channel) == pixel[static_cast<size_t>(channel)]);
        const bool isIcon = name == "icon.ico";
        CHECK(image.remark == (count == 1 ? ""
                                          : fmt::format("The file holds {} pictures. The model reads the {}, as timm "
                                                        "and transformers do",
                                                        count, isIcon ? "largest" : "first")));
        for (size_t length = 0; length < bytes.size(); ++length) // a file that is cut off is no trap
            CHECK(picturesIn(std::as_bytes(std::span(bytes)).first(length)) >= 1);
    }
    CHECK(read == 10);
    const std::string circle =
        std::string("II*\0\x08\0\0\0", 8) + std::string("\0\0\x08\0\0\0", 6); // its only page comes next
    CHECK(picturesIn(std::as_bytes(std::span(circle))) == 1);
}

TEST_CASE("read image: what is no picture, broken, empty or huge is refused in a sentence", "[figures][vision]") {
    const TemporaryFolder folder;
    CHECK_THAT(sentenceOfReading(pathIn(folder, "nowhere.png")), CONTAINS("there is no such file; check the path"));
    CHECK_THAT(sentenceOfReading(QString::fromStdString(folder.path())), CONTAINS("is not a file"));
    test::writeFile(folder / "empty.png", "");
    CHECK_THAT(sentenceOfReading(pathIn(folder, "empty.png")), CONTAINS("the file is empty"));
    test::writeFile(folder / "text.png", "this is a letter");
    CHECK_THAT(sentenceOfReading(pathIn(folder, "text.png")),
               CONTAINS("the file is not a picture in a known format; use one of these formats: "));
    REQUIRE(halves().save(pathIn(folder, "whole.png")));
    std::ifstream whole(folder / "whole.png", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
    test::writeFile(folder / "cut.png", bytes.substr(0, bytes.size() / 2));
    CHECK_THAT(sentenceOfReading(pathIn(folder, "cut.png")), CONTAINS("the picture is damaged"));
    test::writeFile(folder / "none.ppm", "P6\n0 5\n255\n");
    CHECK_THAT(sentenceOfReading(pathIn(folder, "none.ppm")), !CONTAINS("accepted"));
    test::writeFile(folder / "huge.ppm", "P6\n30000 20000\n255\nxxx"); // as it says of itself
    CHECK_THAT(sentenceOfReading(pathIn(folder, "huge.ppm")),
               CONTAINS("the picture has 30000 x 20000 pixels; at most 100 million can be read; make it smaller"));
}
