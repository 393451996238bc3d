#include "engine/io/whole_picture.h"

#include "engine/core/error.h"
#include "engine/io/picture_count.h"
#include "engine/io/picture_formats.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace attn {
namespace {

using namespace std::string_view_literals;

/// Reads a file whose numbers begin with their lowest byte.
class Bytes {
public:
    Bytes(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

    uint64_t size() const { return file_.size(); }
    [[noreturn]] void refuse() const {
        refusePicture(name_, "the picture is damaged: its file is cut off", "fetch the file again");
    }
    uint8_t byte(uint64_t at) const {
        return at < size() ? std::to_integer<uint8_t>(file_[at]) : (refuse(), uint8_t{});
    }
    uint64_t number(uint64_t at, int bytes) const {
        uint64_t value = 0;
        for (int i = bytes - 1; i >= 0; --i) value = value << 8 | byte(at + static_cast<uint64_t>(i));
        return value;
    }
    int64_t signedNumber(uint64_t at) const { return static_cast<int32_t>(static_cast<uint32_t>(number(at, 4))); }

private:
    std::span<const std::byte> file_;
    const std::string& name_;
};

/// Refuses a file in which some uncompressed pixels are missing. @return what to say of it
/// @source Windows GDI, "Bitmap Storage"
std::string remarkOfBmp(const Bytes& file) {
    constexpr uint64_t kOldHeader = 12;
    if (file.number(14, 4) == kOldHeader) return {};
    const uint64_t compression = file.number(30, 4), begin = file.number(10, 4);
    if (compression != 0 && compression != 3) return {};
    const int64_t width = file.signedNumber(18), height = std::abs(file.signedNumber(22));
    if (width < 1 || height < 1) return {}; // the decoder refuses it
    const uint64_t bits = file.number(28, 2) * static_cast<uint64_t>(width), stride = (bits + 31) / 32 * 4;
    const uint64_t rows = static_cast<uint64_t>(height), end = begin + stride * rows;
    if (end - stride + (bits + 7) / 8 > file.size()) file.refuse();
    const uint64_t told = std::max(end, file.number(2, 4)); // by its header, with bytes that fill up a block
    return remarkOnRest(file.size() - std::min(told, file.size()));
}

/// Refuses a file that ends before its first picture does. @return what to say of it
/// @source CompuServe, "GIF89a Specification"
std::string remarkOfGif(const Bytes& file) {
    bool hasPicture = false; // later ones may be cut off
    const auto tableAfter = [&](uint64_t flagsAt) {
        const uint8_t flags = file.byte(flagsAt);
        return (flags & 0x80) != 0 ? uint64_t{3} << ((flags & 7) + 1) : 0;
    };
    const auto behindBlocks = [&](uint64_t at) {
        for (uint64_t size = 1; size > 0 && (!hasPicture || at < file.size()); at += size > 0 ? size + 1 : 0)
            size = file.byte(at);
        return at + 1;
    };
    constexpr uint64_t kHead = 10; // bytes of a picture before its blocks
    for (uint64_t at = 13 + tableAfter(10); !hasPicture || at < file.size();) {
        const uint8_t kind = file.byte(at);
        if (kind == 0x3B && hasPicture) return remarkOnRest(file.size() - at - 1);
        if (kind != 0x2C && kind != 0x21) return {}; // the decoder reports an unknown block
        if (hasPicture && at + kHead >= file.size()) return {};
        at = behindBlocks(kind == 0x2C ? at + kHead + 1 + tableAfter(at + kHead - 1) : at + 2);
        hasPicture = hasPicture || kind == 0x2C;
    }
    return {};
}

using Decode = Image (*)(std::span<const std::byte> file, const std::string& name);

/// The remark of a decoder about a damaged file.
std::string remarkOf(Decode decode, std::span<const std::byte> file, const std::string& name) {
    try {
        return decode(file, name).remark;
    } catch (const Error& error) {
        refusePicture(name, "the picture is damaged: it " + error.message(), "fetch the file again");
    }
}

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n"sv;

/// Reads only the header of a PNG file with more pixels than its decoder accepts.
std::string remarkOfPng(std::span<const std::byte> file, const std::string& name) {
    const Decode decode = [](std::span<const std::byte> bytes, const std::string& of) {
        return pngSize(bytes, of).area() > kMostPicturePixels ? Image{} : decodePng(bytes, of);
    };
    return remarkOf(decode, file, name);
}

/// Refuses an icon with a picture outside the file. The picture that is read may be a PNG file. @return what to say of
/// it
std::string remarkOfIcon(std::span<const std::byte> file, const std::string& name) {
    const Bytes bytes(file, name);
    const auto largest = static_cast<uint64_t>(largestPicture(file));
    uint64_t end = 0;
    for (uint64_t i = 0; i < bytes.number(4, 2); ++i) {
        const uint64_t entry = 6 + 16 * i, size = bytes.number(entry + 8, 4), begin = bytes.number(entry + 12, 4);
        if (begin + size > file.size()) bytes.refuse();
        end = std::max(end, begin + size);
        const auto picture = file.subspan(begin, size);
        const std::string_view content(reinterpret_cast<const char*>(picture.data()), picture.size());
        if (i == largest && content.starts_with(kPng)) remarkOfPng(picture, name);
    }
    return end == 0 ? "" : remarkOnRest(file.size() - end);
}

/// @source Google, "WebP Container Specification"
std::string remarkOfWebp(const Bytes& file) {
    const uint64_t size = file.number(4, 4), end = 8 + size + size % 2;
    return remarkOnRest(file.size() - std::min(end, file.size()));
}

} // namespace

std::string damageIn(std::span<const std::byte> file, const std::string& name) {
    const std::string_view content(reinterpret_cast<const char*>(file.data()), file.size());
    const Bytes bytes(file, name);
    if (content.starts_with(kPng)) return remarkOfPng(file, name);
    if (content.starts_with("\xff\xd8\xff"sv)) return remarkOf(decodeJpeg, file, name);
    if (content.starts_with("BM"sv)) return remarkOfBmp(bytes);
    if (content.starts_with("GIF8"sv)) return remarkOfGif(bytes);
    if (content.starts_with("\0\0\1\0"sv)) return remarkOfIcon(file, name);
    if (content.starts_with("RIFF"sv) && content.substr(0, 12).ends_with("WEBP"sv)) return remarkOfWebp(bytes);
    return {};
}

} // namespace attn
