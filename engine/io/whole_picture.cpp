#include "engine/io/whole_picture.h"

#include "engine/core/error.h"
#include "engine/io/picture_count.h"
#include "engine/io/picture_formats.h"

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

/// Refuses a file in which some uncompressed pixels are missing. @source Windows GDI, "Bitmap Storage"
void requireWholeBmp(const Bytes& file) {
    constexpr uint64_t kOldHeader = 12;
    if (file.number(14, 4) == kOldHeader) return;
    const uint64_t compression = file.number(30, 4), begin = file.number(10, 4);
    if (compression != 0 && compression != 3) return;
    const int64_t width = file.signedNumber(18), height = std::abs(file.signedNumber(22));
    if (width < 1 || height < 1) return; // the decoder refuses it
    const uint64_t bits = file.number(28, 2) * static_cast<uint64_t>(width), stride = (bits + 31) / 32 * 4;
    if (begin + stride * static_cast<uint64_t>(height - 1) + (bits + 7) / 8 > file.size()) file.refuse();
}

/// Refuses a file that ends before its first picture does. @source CompuServe, "GIF89a Specification"
void requireWholeGif(const Bytes& file) {
    const auto tableAfter = [&](uint64_t flagsAt) {
        const uint8_t flags = file.byte(flagsAt);
        return (flags & 0x80) != 0 ? uint64_t{3} << ((flags & 7) + 1) : 0;
    };
    const auto behindBlocks = [&](uint64_t at) {
        while (const uint8_t size = file.byte(at)) at += size + uint64_t{1};
        return at + 1;
    };
    for (uint64_t at = 13 + tableAfter(10);;) {
        const uint8_t kind = file.byte(at);
        if (kind == 0x2C) {
            behindBlocks(at + 11 + tableAfter(at + 9));
            return;
        }
        if (kind != 0x21) return; // the decoder reports an unknown block
        at = behindBlocks(at + 2);
    }
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

/// Refuses an icon with a picture outside the file. The picture that is read may be a PNG file.
void requireWholeIcon(std::span<const std::byte> file, const std::string& name) {
    const Bytes bytes(file, name);
    const auto largest = static_cast<uint64_t>(largestPicture(file));
    for (uint64_t i = 0; i < bytes.number(4, 2); ++i) {
        const uint64_t entry = 6 + 16 * i, size = bytes.number(entry + 8, 4), begin = bytes.number(entry + 12, 4);
        if (begin + size > file.size()) bytes.refuse();
        const auto picture = file.subspan(begin, size);
        const std::string_view content(reinterpret_cast<const char*>(picture.data()), picture.size());
        if (i == largest && content.starts_with(kPng)) remarkOfPng(picture, name);
    }
}

} // namespace

std::string damageIn(std::span<const std::byte> file, const std::string& name) {
    const std::string_view content(reinterpret_cast<const char*>(file.data()), file.size());
    const Bytes bytes(file, name);
    if (content.starts_with(kPng)) return remarkOfPng(file, name);
    if (content.starts_with("\xff\xd8\xff"sv)) return remarkOf(decodeJpeg, file, name);
    if (content.starts_with("BM"sv)) requireWholeBmp(bytes);
    if (content.starts_with("GIF8"sv)) requireWholeGif(bytes);
    if (content.starts_with("\0\0\1\0"sv)) requireWholeIcon(file, name);
    return {};
}

} // namespace attn
