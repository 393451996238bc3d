#include "engine/io/decode_image.h"

#include "engine/core/error.h"
#include "engine/io/exif.h"
#include "engine/io/input_file.h"
#include "engine/io/picture_formats.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <span>
#include <string_view>

namespace attn {
namespace {

constexpr uint64_t kMostFileBytes = uint64_t{1} << 28;

using namespace std::string_view_literals;

/// How the files of a format begin, and its decoder. Formats without a decoder are known by name only.
struct PictureFormat {
    std::string_view name, signature;
    Image (*decode)(std::span<const std::byte> file, const std::string& name);
};
constexpr std::array kFormats{PictureFormat{"PNG", "\x89PNG\r\n\x1a\n"sv, decodePng},
                              PictureFormat{"JPEG", "\xff\xd8\xff"sv, decodeJpeg},
                              PictureFormat{"PPM", "P6"sv, decodePpm},
                              PictureFormat{"GIF", "GIF8"sv, nullptr},
                              PictureFormat{"BMP", "BM"sv, nullptr},
                              PictureFormat{"TIFF", "II*\0"sv, nullptr},
                              PictureFormat{"TIFF", "MM\0*"sv, nullptr},
                              PictureFormat{"WebP", "RIFF"sv, nullptr}};

} // namespace

void refusePicture(const std::string& name, const std::string& what, const std::string& hint) {
    throw Error({.what = what, .where = name, .hint = hint});
}

void requirePictureSize(const std::string& name, const ImageSize& size, int64_t mostFromBytes) {
    constexpr int64_t kMostOfSide = int64_t{1} << 31; // so that the area cannot overflow
    const std::string shown = fmt::format("{} x {} pixels", size.width, size.height);
    if (size.height < 1 || size.width < 1) refusePicture(name, fmt::format("promises {}", shown));
    if (size.height >= kMostOfSide || size.width >= kMostOfSide || size.area() > kMostPicturePixels)
        refusePicture(name, fmt::format("has {}; at most {} pixels are read", shown, kMostPicturePixels),
                      "choose a smaller picture");
    if (size.area() > mostFromBytes)
        refusePicture(name, fmt::format("promises {}, more than its bytes can hold: it is cut off or damaged", shown),
                      "fetch the picture again");
}

std::string remarkOnRest(uint64_t bytes) {
    return bytes == 0 ? "" : fmt::format("The file holds {} bytes behind the picture, which nothing reads", bytes);
}

Image decodePpm(std::span<const std::byte> file, const std::string& name) {
    const auto charAt = [&](size_t i) { return i < file.size() ? std::to_integer<char>(file[i]) : '\0'; };
    constexpr int64_t kMostOfNumber = int64_t{1} << 31;
    size_t at = 2;                    // behind "P6"
    std::array<int64_t, 3> numbers{}; // width, height, largest value
    for (int64_t& number : numbers) {
        while (std::isspace(static_cast<unsigned char>(charAt(at))) != 0 || charAt(at) == '#')
            if (charAt(at++) == '#')
                while (at < file.size() && charAt(at) != '\n') ++at;
        const size_t begin = at;
        for (; charAt(at) >= '0' && charAt(at) <= '9' && number < kMostOfNumber; ++at)
            number = number * 10 + (charAt(at) - '0');
        if (at == begin) refusePicture(name, "has a damaged PPM header", "fetch the picture again");
    }
    const auto [width, height, largest] = numbers;
    if (largest != 255)
        refusePicture(name, fmt::format("has values up to {}; PPM files with values up to 255 are read", largest),
                      "convert it to 8 bits, PNG or JPEG");
    Image image{.height = height, .width = width, .rgb = {}};
    requirePictureSize(name, image.size(), static_cast<int64_t>(file.size()));
    const std::span<const std::byte> values = file.subspan(std::min(at + 1, file.size()));
    if (values.size() != static_cast<size_t>(image.size().area()) * 3)
        refusePicture(name, fmt::format("has {} bytes of pixels instead of {}", values.size(), image.size().area() * 3),
                      "fetch the picture again");
    image.rgb.reserve(values.size());
    for (const std::byte value : values) image.rgb.push_back(std::to_integer<uint8_t>(value));
    return image;
}

Image decodeImage(const std::filesystem::path& path) {
    const std::string name = path.string();
    const InputFile file(path);
    if (file.sizeBytes() > kMostFileBytes)
        refusePicture(name, fmt::format("is larger than {} MiB", kMostFileBytes >> 20), "choose a smaller picture");
    std::vector<std::byte> bytes(file.sizeBytes());
    file.read(0, bytes);
    const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (const PictureFormat& format : kFormats) {
        if (!content.starts_with(format.signature)) continue;
        if (format.decode == nullptr) refusePicture(name, fmt::format("cannot be read: it is a {} file", format.name));
        return upright(format.decode(bytes, name), exifOrientation(bytes));
    }
    refusePicture(name, "cannot be read: it is not a picture in a known format");
}

void writePpm(const std::filesystem::path& path, const Image& image) {
    const std::string head = fmt::format("P6\n{} {}\n255\n", image.width, image.height);
    std::vector<std::byte> bytes;
    for (const char c : head) bytes.push_back(static_cast<std::byte>(c));
    for (const uint8_t value : image.rgb) bytes.push_back(static_cast<std::byte>(value));
    writeAtomically(path, bytes);
}

} // namespace attn
