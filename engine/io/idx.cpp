#include "engine/io/idx.h"

#include "engine/core/error.h"
#include "engine/io/input_file.h"
#include "engine/io/refuse_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

namespace attn {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;
constexpr size_t kPiece = size_t{1} << 20;

} // namespace

std::vector<uint8_t> readMaybeGzipped(const std::filesystem::path& path) {
    const InputFile file(path);
    if (file.sizeBytes() > kMostBytes) refuseFile(path, "is larger than 1 GiB", "choose a smaller data set");
    std::vector<std::byte> packed(file.sizeBytes());
    file.read(0, packed);
    std::vector<uint8_t> bytes;
    const bool isGzip = packed.size() > 1 && packed[0] == std::byte{0x1f} && packed[1] == std::byte{0x8b};
    if (!isGzip) {
        bytes.resize(packed.size());
        std::ranges::transform(packed, bytes.begin(), [](std::byte b) { return std::to_integer<uint8_t>(b); });
        return bytes;
    }
    z_stream stream{};
    constexpr int kGzip = 15 + 16;
    if (inflateInit2(&stream, kGzip) != Z_OK)
        refuseFile(path, "cannot be unpacked: there is not enough memory", "close other programs");
    const auto end = [](z_stream* s) { inflateEnd(s); };
    const std::unique_ptr<z_stream, decltype(end)> guard(&stream, end);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    for (int result = Z_OK; result != Z_STREAM_END;) {
        const size_t done = bytes.size();
        bytes.resize(done + kPiece);
        stream.next_out = bytes.data() + done;
        stream.avail_out = static_cast<uInt>(kPiece);
        result = inflate(&stream, Z_NO_FLUSH);
        bytes.resize(done + kPiece - stream.avail_out);
        if (bytes.size() > kMostBytes) refuseFile(path, "holds more than 1 GiB", "choose a smaller data set");
        if (result == Z_STREAM_END) { // of a member; others may follow, and zeros that fill a block of a tape
            while (stream.avail_in > 0 && *stream.next_in == 0) ++stream.next_in, --stream.avail_in;
            if (stream.avail_in == 0) break;
            if (stream.avail_in < 2 || stream.next_in[0] != 0x1f || stream.next_in[1] != 0x8b)
                refuseFile(path, fmt::format("holds {} bytes behind the end of its gzipped data", stream.avail_in),
                           "fetch the file again");
            result = inflateReset(&stream);
            continue;
        }
        if (result == Z_BUF_ERROR || (result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0))
            refuseFile(path, "is cut off: the gzipped data ends too early", "fetch the file again");
        if (result != Z_OK) refuseFile(path, "is damaged: it cannot be unpacked", "fetch the file again");
    }
    return bytes;
}

IdxArray readIdx(const std::filesystem::path& path) {
    constexpr const char* kHint = "choose a file of MNIST or Fashion-MNIST, such as train-images-idx3-ubyte.gz";
    constexpr uint8_t kBytes = 0x08;
    const std::vector<uint8_t> bytes = readMaybeGzipped(path);
    if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0) refuseFile(path, "is not an IDX file", kHint);
    if (bytes[2] != kBytes)
        refuseFile(path, fmt::format("holds numbers of type 0x{:02x}, not bytes (0x08)", bytes[2]), kHint);
    const size_t rank = bytes[3], begin = 4 + 4 * rank;
    if (rank < 1 || rank > 4 || bytes.size() < begin)
        refuseFile(path, fmt::format("has {} axes, but only 1 to 4 can be read", rank), kHint);
    IdxArray array;
    uint64_t count = 1;
    for (size_t axis = 0; axis < rank; ++axis) {
        uint32_t extent = 0;
        for (size_t i = 0; i < 4; ++i) extent = extent << 8 | bytes[4 + 4 * axis + i];
        array.extents.push_back(extent);
        count *= std::max<uint64_t>(extent, 1);
        if (extent == 0 || count > kMostBytes)
            refuseFile(path, fmt::format("has an axis of {}, which no data set has", extent), kHint);
    }
    if (bytes.size() - begin != count)
        refuseFile(path, fmt::format("should hold {} bytes after its header but holds {}", count, bytes.size() - begin),
                   "fetch the file again");
    array.values.assign(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end());
    return array;
}

} // namespace attn
