#include "engine/io/decode_image.h"

#include "engine/io/picture_formats.h"
#include "tests/io/files.h"
#include "tests/io/mutator.h"

#include <QImage>
#include <cstdio>

#include <jpeglib.h> // needs <cstdio>

#include <zlib.h>

using namespace attn;
using namespace attn::test;

namespace {

/// A picture as Qt reads it, drawn on white.
Image readByQt(const fs::path& path) {
    const QImage image = QImage(QString::fromStdString(path.string())).convertToFormat(QImage::Format_ARGB32);
    REQUIRE_FALSE(image.isNull());
    Image result{.height = image.height(), .width = image.width(), .rgb = {}};
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const QRgb pixel = image.pixel(x, y); // without its transparency
            for (const int value : {qRed(pixel), qGreen(pixel), qBlue(pixel)})
                result.rgb.push_back(static_cast<uint8_t>(value));
        }
    return result;
}

int largestDifference(const Image& a, const Image& b) {
    REQUIRE(a.size() == b.size());
    int largest = 0;
    for (size_t i = 0; i < a.rgb.size(); ++i) largest = std::max(largest, std::abs(a.rgb[i] - b.rgb[i]));
    return largest;
}

/// A picture of 9 x 5 with many colours and, if the format has it, every transparency.
QImage colourful(QImage::Format format) {
    QImage image(9, 5, QImage::Format_ARGB32);
    for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 9; ++x) image.setPixel(x, y, qRgba(x * 31, 250 - y * 60, x * y * 7, 255 - x * 30));
    return image.convertToFormat(format);
}

std::string bigEndian(uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 255));
    return bytes;
}

/// A PNG file of grey pixels of 8 bits. @param raw the rows before compression, each with its filter byte
std::string greyPng(uint32_t width, uint32_t height, bool isInterlaced, const std::string& raw) {
    const auto chunk = [](const std::string& content) { // type and data
        const auto crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
        return bigEndian(static_cast<uint32_t>(content.size() - 4)) + content + bigEndian(static_cast<uint32_t>(crc));
    };
    std::vector<Bytef> packed(compressBound(static_cast<uLong>(raw.size())));
    auto size = static_cast<uLongf>(packed.size());
    REQUIRE(compress(packed.data(), &size, reinterpret_cast<const Bytef*>(raw.data()),
                     static_cast<uLong>(raw.size())) == Z_OK);
    const std::string header = "IHDR" + bigEndian(width) + bigEndian(height) + std::string("\x08\0\0\0", 4);
    return "\x89PNG\r\n\x1a\n" + chunk(header + (isInterlaced ? '\1' : '\0')) +
           chunk("IDAT" + std::string(reinterpret_cast<const char*>(packed.data()), size)) + chunk("IEND");
}

/// A JPEG file of 16 x 16 pixels of one mixture of inks, by libjpeg, which marks it as Adobe's programs do.
std::string inkJpeg(const std::array<JSAMPLE, 4>& inks, J_COLOR_SPACE stored) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = info.image_height = 16;
    info.input_components = 4;
    info.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&info);
    jpeg_set_colorspace(&info, stored);
    jpeg_set_quality(&info, 100, TRUE);
    jpeg_start_compress(&info, TRUE);
    std::vector<JSAMPLE> row;
    for (int x = 0; x < 16; ++x) row.insert(row.end(), inks.begin(), inks.end());
    JSAMPROW pointer = row.data();
    while (info.next_scanline < 16) jpeg_write_scanlines(&info, &pointer, 1);
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    const std::string file(reinterpret_cast<const char*>(bytes), size);
    std::free(bytes); // libjpeg allocates with malloc
    return file;
}

std::string fileText(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("decoding: PNG files of every kind have the colours that Qt reads", "[io]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "picture.png";
    for (const auto format :
         {QImage::Format_Mono, QImage::Format_Grayscale8, QImage::Format_Grayscale16, QImage::Format_Indexed8,
          QImage::Format_RGB888, QImage::Format_ARGB32, QImage::Format_RGBX64, QImage::Format_RGBA64}) {
        CAPTURE(format);
        REQUIRE(colourful(format).save(QString::fromStdString(file.string()), "PNG"));
        CHECK(largestDifference(decodeImage(file), readByQt(file)) <= 1); // Qt rounds 16 bits, we keep the higher byte
    }
}

TEST_CASE("decoding: an interlaced PNG has its pixels in order", "[io]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "picture.png";
    // The passes of Adam7 for 3 x 3 pixels, whose values count up from 1; a filter byte before every row.
    const std::string passes("\0\x01\0\x03\0\x07\x09\0\x02\0\x08\0\x04\x05\x06", 15);
    writeFile(file, greyPng(3, 3, true, passes));
    const Image image = decodeImage(file);
    for (size_t i = 0; i < 9; ++i) CHECK(image.rgb[3 * i] == i + 1);
    CHECK(image == readByQt(file));
}

TEST_CASE("decoding: grey, colour and ink JPEG files have the colours that Qt reads", "[io]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "picture.jpg";
    for (const auto format : {QImage::Format_Grayscale8, QImage::Format_RGB888}) {
        REQUIRE(colourful(format).save(QString::fromStdString(file.string()), "JPEG", 95));
        CHECK(largestDifference(decodeImage(file), readByQt(file)) <= 2); // Qt may choose another transform
    }
    for (const auto stored : {JCS_CMYK, JCS_YCCK}) {
        CAPTURE(stored);
        writeFile(file, inkJpeg({200, 100, 40, 255}, stored)); // inverted, as Adobe's programs write: 255 is no ink
        const Image image = decodeImage(file);
        CHECK(largestDifference(image, readByQt(file)) <= 2);
        CHECK(std::abs(image.rgb[0] - 200) <= 3);
        CHECK(std::abs(image.rgb[1] - 100) <= 3);
        CHECK(std::abs(image.rgb[2] - 40) <= 3);
        writeFile(file, inkJpeg({255, 255, 255, 0}, stored));
        for (const uint8_t value : decodeImage(file).rgb) REQUIRE(value <= 2); // only black ink
    }
}

TEST_CASE("decoding: a Huffman table with more than 256 symbols is refused", "[io]") {
    const TemporaryFolder folder;
    constexpr int kSymbols = 4 * 255;
    std::string file = "\xFF\xD8\xFF\xC4"; // the start, and a segment with tables
    file += static_cast<char>((2 + 17 + kSymbols) >> 8);
    file += static_cast<char>((2 + 17 + kSymbols) & 255);
    file += '\0'; // table 0
    for (int length = 1; length <= 16; ++length) file += static_cast<char>(length > 12 ? 255 : 0);
    file.append(kSymbols, 'A');
    writeFile(folder / "table.jpg", file);
    CHECK_THAT(sentenceOf([&] { decodeImage(folder / "table.jpg"); }), CONTAINS("cannot be decoded"));
}

TEST_CASE("decoding: a small file that promises many pixels is refused before memory is taken", "[io]") {
    const TemporaryFolder folder;
    const auto problem = [&](const std::string& bytes) {
        writeFile(folder / "picture", bytes);
        return sentenceOf([&] { decodeImage(folder / "picture"); });
    };
    CHECK_THAT(problem(greyPng(30000, 30000, false, "")), CONTAINS("has 30000 x 30000 pixels; at most 67108864"));
    CHECK_THAT(problem(greyPng(8000, 8000, false, "")), CONTAINS("more than its bytes can hold"));
    CHECK_THAT(problem("P6\n30000 30000\n255\n"), CONTAINS("at most 67108864"));
    CHECK_THAT(problem("P6\n8000 8000\n255\n"), CONTAINS("more than its bytes can hold"));
    CHECK_THAT(problem("P6\n99999999999999999999 1\n255\n"), CONTAINS("picture: "));
    CHECK_THAT(problem("P6\n0 8\n255\n"), CONTAINS("promises 8 x 0 pixels") || CONTAINS("promises 0 x 8 pixels"));
    std::string jpeg = inkJpeg({1, 2, 3, 4}, JCS_CMYK);
    const size_t frame = jpeg.find("\xFF\xC0");
    REQUIRE(frame != std::string::npos);
    jpeg.replace(frame + 5, 4, "\xFF\xDC\xFF\xDC"); // height and width of 65,500, the most
    CHECK_THAT(problem(jpeg), CONTAINS("has 65500 x 65500 pixels; at most 67108864"));
    jpeg.replace(frame + 5, 4, "\x1F\x40\x1F\x40");
    CHECK_THAT(problem(jpeg), CONTAINS("promises 8000 x 8000 pixels, more than its bytes can hold"));
}

TEST_CASE("decoding: other formats, and files that end too early, are refused by name", "[io]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "picture";
    const auto problem = [&](const std::string& bytes) {
        writeFile(file, bytes);
        return sentenceOf([&] { decodeImage(file); });
    };
    CHECK_THAT(problem("GIF89a"), CONTAINS("it is a GIF file; choose PNG, JPEG or binary PPM pictures"));
    CHECK_THAT(problem("BM"), CONTAINS("it is a BMP file"));
    CHECK_THAT(problem("P6\n1 1\n65535\nabcdef"), CONTAINS("values up to 65535"));
    for (const char* format : {"PNG", "JPEG"}) {
        REQUIRE(colourful(QImage::Format_RGB888).save(QString::fromStdString(file.string()), format));
        const std::string good = fileText(file);
        for (const size_t length : {good.size() / 4, good.size() / 2, good.size() - good.size() / 8})
            CHECK_THAT(problem(good.substr(0, length)), CONTAINS("cannot be decoded"));
    }
}

TEST_CASE("decoding: 8,000 mutated pictures are read or refused, never worse", "[io]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "picture";
    Mutator mutator(25);
    std::vector<std::string> good{inkJpeg({200, 100, 40, 255}, JCS_YCCK)};
    for (const auto& [kind, format] :
         {std::pair{"PNG", QImage::Format_RGBA64}, {"PNG", QImage::Format_Indexed8}, {"JPEG", QImage::Format_RGB888}}) {
        REQUIRE(colourful(format).save(QString::fromStdString(file.string()), kind));
        good.push_back(fileText(file));
    }
    int accepted = 0;
    for (int round = 0; round < 8000; ++round) {
        const size_t which = static_cast<size_t>(round) % good.size();
        const std::string bytes = mutator(good[which]);
        try {
            const bool isPng = good[which].starts_with("\x89PNG");
            const Image image = (isPng ? decodePng : decodeJpeg)(std::as_bytes(std::span(bytes)), "picture");
            REQUIRE(static_cast<int64_t>(image.rgb.size()) == image.size().area() * 3);
            ++accepted;
        } catch (const Error& error) {
            REQUIRE_FALSE(error.message().empty());
        }
    }
    CHECK(accepted > 0);
    CHECK(accepted < 8000);
}
