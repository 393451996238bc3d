#include "engine/io/exif.h"

#include "engine/io/decode_image.h"
#include "tests/io/files.h"

using namespace attn;
using namespace attn::test;

namespace {

std::string fromHex(std::string_view hex) {
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    return bytes;
}

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

/// The segment that says how pixels lie, among others: a directory of two entries.
std::string segment(int orientation, bool isLittle) {
    const auto number = [&](uint32_t value, int size) {
        std::string bytes;
        for (int i = 0; i < size; ++i)
            bytes.push_back(static_cast<char>(value >> 8 * (isLittle ? i : size - 1 - i) & 255));
        return bytes;
    };
    const auto entry = [&](uint32_t tag, uint32_t value) {
        return number(tag, 2) + number(3, 2) + number(1, 4) + number(value, 2) + number(0, 2);
    };
    const std::string content = std::string("Exif\0\0", 6) + (isLittle ? "II" : "MM") + number(42, 2) + number(8, 4) +
                                number(2, 2) + entry(0x0100, 7) + entry(0x0112, static_cast<uint32_t>(orientation)) +
                                number(0, 4);
    const size_t length = content.size() + 2;
    return std::string("\xFF\xE1") + static_cast<char>(length >> 8) + static_cast<char>(length & 255) + content;
}

/// 16 x 8 pixels, the left half bright.
const std::string kJpeg =
    fromHex("ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e29"
            "31302e292d"
            "2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffc0000b080008001001011100ffc400150001010000"
            "0000000000"
            "000000000000000608ffc40014100100000000000000000000000000000000ffda0008010100003f007e9f9fffd9");

} // namespace

TEST_CASE("exif: every orientation turns pixels as Pillow does", "[io]") {
    Image image{.height = 2, .width = 3, .rgb = {}};
    for (uint8_t i = 1; i <= 6; ++i) image.rgb.insert(image.rgb.end(), {i, i, i});
    const std::map<int, std::vector<int>> expected{
        {1, {1, 2, 3, 4, 5, 6}}, {2, {3, 2, 1, 6, 5, 4}}, {3, {6, 5, 4, 3, 2, 1}}, {4, {4, 5, 6, 1, 2, 3}},
        {5, {1, 4, 2, 5, 3, 6}}, {6, {4, 1, 5, 2, 6, 3}}, {7, {6, 3, 5, 2, 4, 1}}, {8, {3, 6, 2, 5, 1, 4}}};
    for (const auto& [orientation, values] : expected) {
        CAPTURE(orientation);
        const Image turned = upright(image, orientation);
        CHECK(turned.size() == (orientation < 5 ? ImageSize{2, 3} : ImageSize{3, 2}));
        for (size_t i = 0; i < values.size(); ++i) CHECK(turned.rgb[3 * i] == values[i]);
        for (const bool isLittle : {false, true}) {
            const std::string file = kJpeg.substr(0, 2) + segment(orientation, isLittle) + kJpeg.substr(2);
            CHECK(exifOrientation(bytesOf(file)) == orientation);
        }
    }
}

TEST_CASE("exif: a training picture is turned as it says, and what is damaged stays as it lies", "[io]") {
    const TemporaryFolder folder;
    const auto decoded = [&](const std::string& bytes) {
        writeFile(folder / "photograph.jpg", bytes);
        return decodeImage(folder / "photograph.jpg");
    };
    CHECK(decoded(kJpeg).size() == ImageSize{8, 16});
    const Image turned = decoded(kJpeg.substr(0, 2) + segment(6, true) + kJpeg.substr(2));
    REQUIRE(turned.size() == ImageSize{16, 8});
    CHECK(turned.rgb.front() > 200); // the left side is above now
    CHECK(turned.rgb.back() < 60);
    const std::string file = kJpeg.substr(0, 2) + segment(6, false) + kJpeg.substr(2);
    for (size_t length = 0; length < file.size(); ++length) {
        const int orientation = exifOrientation(bytesOf(file.substr(0, length)));
        CHECK((orientation == 1 || orientation == 6));
    }
    CHECK(exifOrientation(bytesOf(kJpeg.substr(0, 2) + segment(9, true))) == 1);
    CHECK(exifOrientation(bytesOf("P6 no photograph")) == 1);
}
