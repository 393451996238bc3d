#include "engine/io/picture_count.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace attn {
namespace {

using namespace std::string_view_literals;

/// Reads numbers of a file that may be cut off: bytes behind its end are zeros.
class Bytes {
public:
    explicit Bytes(std::span<const std::byte> file) : file_(file) {}

    bool has(uint64_t at) const { return at < file_.size(); }
    uint64_t byte(uint64_t at) const { return has(at) ? std::to_integer<uint64_t>(file_[at]) : 0; }
    uint64_t little(uint64_t at, int bytes) const {
        uint64_t value = 0;
        for (int i = bytes - 1; i >= 0; --i) value = value << 8 | byte(at + static_cast<uint64_t>(i));
        return value;
    }
    uint64_t big(uint64_t at, int bytes) const {
        uint64_t value = 0;
        for (int i = 0; i < bytes; ++i) value = value << 8 | byte(at + static_cast<uint64_t>(i));
        return value;
    }
    std::string_view text(uint64_t at, size_t length) const {
        if (at + length > file_.size()) return {};
        return {reinterpret_cast<const char*>(file_.data()) + at, length};
    }

private:
    std::span<const std::byte> file_;
};

int64_t framesOfGif(const Bytes& file) {
    const auto tableAfter = [&](uint64_t flagsAt) {
        const uint64_t flags = file.byte(flagsAt);
        return (flags & 0x80) != 0 ? uint64_t{3} << ((flags & 7) + 1) : 0;
    };
    const auto behindBlocks = [&](uint64_t at) {
        while (const uint64_t size = file.byte(at)) at += size + 1;
        return at + 1;
    };
    int64_t frames = 0;
    for (uint64_t at = 13 + tableAfter(10); file.has(at);) {
        const uint64_t kind = file.byte(at);
        if (kind == 0x2C) {
            ++frames;
            at = behindBlocks(at + 11 + tableAfter(at + 9));
        } else if (kind == 0x21) {
            at = behindBlocks(at + 2);
        } else {
            break;
        }
    }
    return frames;
}

int64_t framesOfPng(const Bytes& file) {
    int64_t frames = 1, beforePixels = 0;
    bool isAnimated = false;
    for (uint64_t at = 8; file.has(at); at += 12 + file.big(at, 4)) {
        const std::string_view kind = file.text(at + 4, 4);
        if (kind == "acTL") {
            isAnimated = true;
            frames = static_cast<int64_t>(file.big(at + 8, 4));
        }
        if (kind == "fcTL") ++beforePixels;
        if (kind == "IDAT") break;
    }
    return isAnimated && beforePixels == 0 ? frames + 1 : frames; // a picture that is no frame comes first
}

int64_t framesOfWebp(const Bytes& file) {
    int64_t frames = 0;
    for (uint64_t at = 12; file.has(at);) {
        if (file.text(at, 4) == "ANMF") ++frames;
        const uint64_t size = file.little(at + 4, 4);
        at += 8 + size + size % 2;
    }
    return frames;
}

int64_t pagesOfTiff(const Bytes& file) {
    const auto number = [&, isBig = file.byte(0) == 'M'](uint64_t at, int bytes) {
        return isBig ? file.big(at, bytes) : file.little(at, bytes);
    };
    const bool isLong = number(2, 2) == 43; // BigTIFF
    const int offset = isLong ? 8 : 4, count = isLong ? 8 : 2;
    const uint64_t entry = isLong ? 20 : 12;
    std::set<uint64_t> seen; // a chain may lead back to itself
    for (uint64_t at = number(isLong ? 8 : 4, offset); at != 0 && file.has(at) && seen.insert(at).second;) {
        const uint64_t entries = number(at, count);
        if (entries > (uint64_t{1} << 32)) break;
        at = number(at + static_cast<uint64_t>(count) + entries * entry, offset);
    }
    return std::ssize(seen);
}

constexpr std::string_view kIcon = "\0\0\1\0"sv;
constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n"sv;

} // namespace

int64_t picturesIn(std::span<const std::byte> file) {
    const Bytes bytes(file);
    const std::string_view begin = bytes.text(0, std::min<size_t>(file.size(), 16));
    int64_t pictures = 1;
    if (begin.starts_with("GIF8")) pictures = framesOfGif(bytes);
    if (begin.starts_with(kPng)) pictures = framesOfPng(bytes);
    if (begin.starts_with("RIFF") && bytes.text(8, 4) == "WEBP") pictures = framesOfWebp(bytes);
    if (begin.starts_with("II*\0"sv) || begin.starts_with("MM\0*"sv) || begin.starts_with("II+\0"sv) ||
        begin.starts_with("MM\0+"sv))
        pictures = pagesOfTiff(bytes);
    if (begin.starts_with(kIcon)) pictures = static_cast<int64_t>(bytes.little(4, 2));
    return std::max<int64_t>(pictures, 1);
}

int64_t largestPicture(std::span<const std::byte> file) {
    const Bytes bytes(file);
    if (bytes.text(0, 4) != kIcon) return 0;
    const auto side = [&](uint64_t at) { return bytes.byte(at) == 0 ? 256 : bytes.byte(at); };
    int64_t largest = 0;
    uint64_t most = 0;
    for (uint64_t i = 0; i < bytes.little(4, 2); ++i) {
        const uint64_t entry = 6 + 16 * i, area = side(entry) * side(entry + 1);
        if (!bytes.has(entry) || area <= most) continue;
        most = area;
        largest = static_cast<int64_t>(i);
    }
    return largest;
}

bool mayBeTransparent(std::span<const std::byte> file) {
    const Bytes bytes(file);
    if (bytes.text(0, 8) != kPng) return false;
    constexpr uint64_t kColourType = 25, kAlpha = 4;
    if ((bytes.byte(kColourType) & kAlpha) != 0) return true;
    for (uint64_t at = 8; bytes.has(at); at += 12 + bytes.big(at, 4)) {
        const std::string_view kind = bytes.text(at + 4, 4);
        if (kind == "tRNS") return true;
        if (kind == "IDAT") break;
    }
    return false;
}

} // namespace attn
