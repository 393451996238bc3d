#include "engine/io/decode_image.h"

#include "engine/core/error.h"
#include "engine/io/exif.h"
#include "engine/io/input_file.h"
#include "engine/io/tensor_writer.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <memory>
#include <optional>
#include <span>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_STDIO
#define STBI_NO_PSD
#define STBI_NO_PIC
#define STBI_NO_TGA
#define STBI_NO_PNM
#define STBI_MAX_DIMENSIONS 32768
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function" // of a library that is one header
#include <stb_image.h>
#pragma GCC diagnostic pop

namespace attn {
namespace {

constexpr int64_t kMostPixels = 32768; ///< on a side

/// A binary PPM of 8 bits. @return nothing where the bytes are no such file
std::optional<Image> readPpm(std::span<const std::byte> bytes) {
    size_t at = 0;
    const auto charAt = [&](size_t i) { return i < bytes.size() ? std::to_integer<char>(bytes[i]) : '\0'; };
    if (charAt(0) != 'P' || charAt(1) != '6') return {};
    at = 2;
    std::array<int64_t, 3> numbers{}; // width, height, largest value
    for (int64_t& number : numbers) {
        while (std::isspace(static_cast<unsigned char>(charAt(at))) != 0 || charAt(at) == '#')
            if (charAt(at++) == '#')
                while (at < bytes.size() && charAt(at) != '\n') ++at;
        const size_t begin = at;
        for (; charAt(at) >= '0' && charAt(at) <= '9'; ++at)
            if ((number = number * 10 + (charAt(at) - '0')) > kMostPixels) return {};
        if (at == begin) return {};
    }
    const auto [width, height, largest] = numbers;
    if (width < 1 || height < 1 || largest != 255) return {};
    const auto values = static_cast<size_t>(width * height * 3);
    if (bytes.size() != at + 1 + values) return {};
    Image image{.height = height, .width = width, .rgb = {}};
    image.rgb.reserve(values);
    for (const std::byte value : bytes.subspan(at + 1)) image.rgb.push_back(std::to_integer<uint8_t>(value));
    return image;
}

} // namespace

Image decodeImage(const std::filesystem::path& path) {
    constexpr uint64_t kMostBytes = uint64_t{1} << 28;
    constexpr int kChannels = 4;
    const auto fail = [&](const std::string& what, const std::string& hint) {
        throw Error({.what = what, .where = path.string(), .hint = hint});
    };
    const InputFile file(path);
    if (file.sizeBytes() > kMostBytes) fail("is larger than 256 MiB", "choose a smaller picture");
    std::vector<std::byte> packed(file.sizeBytes());
    file.read(0, packed);
    if (std::optional<Image> ppm = readPpm(packed)) return *std::move(ppm);
    int width = 0, height = 0, channels = 0;
    const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
        stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(packed.data()), static_cast<int>(packed.size()), &width,
                              &height, &channels, kChannels),
        stbi_image_free);
    if (!pixels)
        fail(fmt::format("cannot be read: {}", stbi_failure_reason()), "choose PNG, JPEG, BMP, PPM or GIF pictures");
    Image image{.height = height, .width = width, .rgb = {}};
    const auto count = static_cast<size_t>(image.size().area());
    image.rgb.reserve(count * 3);
    for (size_t i = 0; i < count; ++i) {
        const stbi_uc* pixel = pixels.get() + i * kChannels;
        for (int channel = 0; channel < 3; ++channel)
            image.rgb.push_back(static_cast<uint8_t>((pixel[channel] * pixel[3] + 255 * (255 - pixel[3]) + 127) / 255));
    }
    return upright(std::move(image), exifOrientation(packed));
}

void writePpm(const std::filesystem::path& path, const Image& image) {
    const std::string head = fmt::format("P6\n{} {}\n255\n", image.width, image.height);
    std::vector<std::byte> bytes;
    for (const char c : head) bytes.push_back(static_cast<std::byte>(c));
    for (const uint8_t value : image.rgb) bytes.push_back(static_cast<std::byte>(value));
    writeAtomically(path, bytes);
}

} // namespace attn
