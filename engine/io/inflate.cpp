#include "engine/io/inflate.h"

#include "engine/core/error.h"

#include <fmt/format.h>
#include <zlib.h>

#include <climits>
#include <memory>

namespace attn {
namespace {

constexpr size_t kMostDeflated = 1032; ///< the most bytes that deflate makes of one

} // namespace

std::string inflated(std::span<const std::byte> packed, size_t size) {
    if (size == 0 || size / kMostDeflated > packed.size() || packed.size() > UINT_MAX || size > UINT_MAX)
        throw Error(fmt::format("promises {} bytes, which its {} cannot hold", size, packed.size()));
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw Error("cannot be unpacked: there is not enough memory");
    const auto end = [](z_stream* each) { inflateEnd(each); };
    const std::unique_ptr<z_stream, decltype(end)> guard(&stream, end);
    std::string bytes(size, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data())); // zlib only reads it
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(bytes.size());
    const int result = inflate(&stream, Z_FINISH);
    if (result == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0) return bytes;
    if (result == Z_STREAM_END && stream.avail_out > 0)
        throw Error(fmt::format("holds {} bytes instead of the {} that it promises", size - stream.avail_out, size));
    if (result == Z_STREAM_END) throw Error("has bytes behind its end");
    if (result == Z_DATA_ERROR || result == Z_NEED_DICT) throw Error("is damaged: it cannot be unpacked");
    if (stream.avail_out == 0) throw Error(fmt::format("holds more than the {} bytes that it promises", size));
    throw Error("is cut off");
}

} // namespace attn
