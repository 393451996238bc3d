#include "engine/io/tensor_writer.h"

#include "engine/core/error.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <zlib.h>

#include <algorithm>

namespace attn {
namespace {

std::span<const std::byte> dataOf(const WrittenTensor& tensor) {
    return tensor.integers.empty() ? std::as_bytes(tensor.values) : std::as_bytes(tensor.integers);
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}
void append(std::vector<std::byte>& to, std::string_view text) { append(to, std::as_bytes(std::span(text))); }
template <typename T> void appendNumber(std::vector<std::byte>& to, T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
        to.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
}

/// NumPy's '<U': each text has as many characters of four bytes as the longest, and ends with zeros.
size_t widthOf(const WrittenTensor& tensor) {
    size_t width = 1;
    for (const std::u32string& text : tensor.texts) width = std::max(width, text.size());
    return width;
}

std::vector<std::byte> npy(const WrittenTensor& tensor) {
    const std::string type = !tensor.texts.empty()      ? fmt::format("<U{}", widthOf(tensor))
                             : !tensor.integers.empty() ? "<i4"
                                                        : "<f4";
    std::string shape = fmt::format("{}", fmt::join(tensor.shape, ", "));
    if (tensor.shape.size() == 1) shape += ",";
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    std::vector<std::byte> result;
    append(result, std::string_view("\x93NUMPY\x01\x00", 8));
    appendNumber(result, static_cast<uint16_t>(header.size()));
    append(result, header);
    append(result, dataOf(tensor));
    for (const std::u32string& text : tensor.texts)
        for (size_t at = 0; at < widthOf(tensor); ++at)
            appendNumber(result, static_cast<uint32_t>(at < text.size() ? text[at] : U'\0'));
    return result;
}

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
    z_stream stream{};
    if (deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw Error("zlib could not be started");
    std::vector<std::byte> result(deflateBound(&stream, static_cast<uLong>(bytes.size())));
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    const int status = deflate(&stream, Z_FINISH);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    if (status != Z_STREAM_END) throw Error("zlib could not compress the data");
    return result;
}

} // namespace

void writeSafetensors(const std::filesystem::path& path, std::span<const WrittenTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
    nlohmann::json header = nlohmann::json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    uint64_t offset = 0;
    for (const WrittenTensor& tensor : tensors) {
        const uint64_t size = dataOf(tensor).size();
        header[tensor.name] = {{"dtype", tensor.integers.empty() ? "F32" : "I32"},
                               {"shape", tensor.shape},
                               {"data_offsets", {offset, offset + size}}};
        offset += size;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    std::vector<std::byte> bytes;
    bytes.reserve(8 + text.size() + offset);
    appendNumber(bytes, static_cast<uint64_t>(text.size()));
    append(bytes, text);
    for (const WrittenTensor& tensor : tensors) append(bytes, dataOf(tensor));
    writeAtomically(path, bytes);
}

void writeNpz(const std::filesystem::path& path, std::span<const WrittenTensor> tensors) {
    std::vector<std::byte> bytes, directory;
    for (const WrittenTensor& tensor : tensors) {
        const std::vector<std::byte> plain = npy(tensor), packed = deflated(plain);
        if (plain.size() > 0xFFFFFFFFu || bytes.size() > 0xFFFFFFFFu)
            throw Error({.what = "the capture exceeds the 4 GiB of a .npz file",
                         .where = path.string(),
                         .hint = "write .safetensors"});
        const std::string name = tensor.name + ".npy";
        const auto crc = static_cast<uint32_t>(
            crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size())));
        const auto common = [&](std::vector<std::byte>& to) { // version, flags, deflate, time, date (1 January 1980),
                                                              // crc, sizes, name length, no extra
            for (uint16_t field : {20, 0, 8, 0, 33}) appendNumber(to, field);
            appendNumber(to, crc);
            appendNumber(to, static_cast<uint32_t>(packed.size()));
            appendNumber(to, static_cast<uint32_t>(plain.size()));
            appendNumber(to, static_cast<uint16_t>(name.size()));
            appendNumber(to, uint16_t{0});
        };
        const auto at = static_cast<uint32_t>(bytes.size());
        appendNumber(bytes, 0x04034b50u);
        common(bytes);
        append(bytes, name);
        append(bytes, packed);
        appendNumber(directory, 0x02014b50u);
        appendNumber(directory, uint16_t{20});
        common(directory);
        for (int i = 0; i < 3; ++i) appendNumber(directory, uint16_t{0}); // comment, disk, internal attributes
        appendNumber(directory, uint32_t{0});
        appendNumber(directory, at);
        append(directory, name);
    }
    const auto at = static_cast<uint32_t>(bytes.size());
    append(bytes, directory);
    appendNumber(bytes, 0x06054b50u);
    for (uint16_t field :
         {uint16_t{0}, uint16_t{0}, static_cast<uint16_t>(tensors.size()), static_cast<uint16_t>(tensors.size())})
        appendNumber(bytes, field);
    appendNumber(bytes, static_cast<uint32_t>(directory.size()));
    appendNumber(bytes, at);
    appendNumber(bytes, uint16_t{0});
    writeAtomically(path, bytes);
}

} // namespace attn
