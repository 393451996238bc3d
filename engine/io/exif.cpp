#include "engine/io/exif.h"

#include <optional>
#include <string_view>

namespace attn {
namespace {

/// Numbers of either byte order, none beyond the end.
class Bytes {
public:
    explicit Bytes(std::span<const std::byte> bytes, bool isLittle = false) : bytes_(bytes), isLittle_(isLittle) {}

    std::optional<uint32_t> number(size_t at, size_t size) const {
        if (at > bytes_.size() || bytes_.size() - at < size) return {};
        uint32_t value = 0;
        for (size_t i = 0; i < size; ++i)
            value = value << 8 | std::to_integer<uint32_t>(bytes_[at + (isLittle_ ? size - 1 - i : i)]);
        return value;
    }
    bool holds(size_t at, std::string_view text) const {
        if (at > bytes_.size() || bytes_.size() - at < text.size()) return false;
        for (size_t i = 0; i < text.size(); ++i)
            if (std::to_integer<char>(bytes_[at + i]) != text[i]) return false;
        return true;
    }
    std::span<const std::byte> from(size_t at) const { return bytes_.subspan(at); }

private:
    std::span<const std::byte> bytes_;
    bool isLittle_;
};

/// @param bytes begin with the mark of the byte order, from which offsets are counted
int orientationOf(std::span<const std::byte> bytes) {
    constexpr uint32_t kOrientation = 0x0112, kShort = 3;
    const Bytes tiff(bytes, Bytes(bytes).holds(0, "II"));
    const auto directory = tiff.number(4, 4);
    if (!(tiff.holds(0, "II") || tiff.holds(0, "MM")) || tiff.number(2, 2) != 42 || !directory) return 1;
    const auto entries = tiff.number(*directory, 2);
    for (uint32_t i = 0; entries && i < *entries; ++i) {
        const size_t entry = size_t{*directory} + 2 + size_t{12} * i;
        if (tiff.number(entry, 2) != kOrientation) continue;
        const auto value = tiff.number(entry + 8, 2);
        return tiff.number(entry + 2, 2) == kShort && value && *value >= 1 && *value <= 8 ? static_cast<int>(*value)
                                                                                          : 1;
    }
    return 1;
}

} // namespace

int exifOrientation(std::span<const std::byte> file) {
    constexpr uint32_t kStart = 0xFFD8, kApplication1 = 0xFFE1, kScan = 0xFFDA;
    using namespace std::string_view_literals;
    const Bytes jpeg(file);
    if (jpeg.number(0, 2) != kStart) return 1;
    for (size_t at = 2;;) { // segments: marker, length with itself, content
        const auto marker = jpeg.number(at, 2), length = jpeg.number(at + 2, 2);
        if (!marker || !length || *marker < 0xFF00 || *marker == kScan || *length < 2) return 1;
        if (*marker == kApplication1 && jpeg.holds(at + 4, "Exif\0\0"sv)) return orientationOf(jpeg.from(at + 10));
        at += 2 + *length;
    }
}

Image upright(Image image, int orientation) {
    if (orientation <= 1 || orientation > 8) return image;
    const bool isTurned = orientation >= 5;
    const int64_t height = isTurned ? image.width : image.height, width = isTurned ? image.height : image.width;
    Image result{.height = height, .width = width, .rgb = {}};
    result.rgb.reserve(image.rgb.size());
    for (int64_t row = 0; row < height; ++row)
        for (int64_t column = 0; column < width; ++column) {
            // The direction of the stored rows and columns. In turned pictures, a row of the result is a stored column.
            const bool mirrorsX = isTurned ? orientation >= 7 : orientation == 2 || orientation == 3;
            const bool mirrorsY = isTurned ? orientation == 6 || orientation == 7 : orientation >= 3;
            const int64_t along = isTurned ? row : column, down = isTurned ? column : row;
            const int64_t x = mirrorsX ? image.width - 1 - along : along, y = mirrorsY ? image.height - 1 - down : down;
            const auto from = static_cast<size_t>((y * image.width + x) * 3);
            result.rgb.insert(result.rgb.end(), image.rgb.begin() + static_cast<std::ptrdiff_t>(from),
                              image.rgb.begin() + static_cast<std::ptrdiff_t>(from) + 3);
        }
    return result;
}

} // namespace attn
