#include "engine/io/safetensors.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/core/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace attn {
namespace {

constexpr std::array kDTypes{std::pair{"F64", 8}, std::pair{"F32", 4}, std::pair{"F16", 2}, std::pair{"BF16", 2},
                             std::pair{"I64", 8}, std::pair{"I32", 4}, std::pair{"I16", 2}, std::pair{"I8", 1},
                             std::pair{"U8", 1},  std::pair{"BOOL", 1}};

[[noreturn]] void refuse(const std::string& file, const std::string& tensor, const std::string& what,
                         const std::string& hint) {
    throw Error({.what = fmt::format("tensor {} {}", inQuotes(tensor), what), .where = file, .hint = hint});
}

/// The beginning of a file up to the end of its header, or less if the length of the header is not plausible.
std::vector<std::byte> headOf(const InputFile& file) {
    std::vector<std::byte> head(std::min<uint64_t>(file.sizeBytes(), 64)); // enough to know a Git-LFS pointer
    file.read(0, head);
    if (head.size() < 8) return head;
    uint64_t length = 0;
    std::memcpy(&length, head.data(), 8);
    if (length > kMostSafetensorsHeaderBytes) return head;
    head.resize(std::max<uint64_t>(head.size(), std::min(file.sizeBytes(), 8 + length)));
    file.read(0, head);
    return head;
}

} // namespace

std::optional<FileDType> dtypeNamed(std::string_view name) {
    const auto found =
        std::ranges::find(kDTypes, name, [](const auto& entry) { return std::string_view(entry.first); });
    if (found == kDTypes.end()) return std::nullopt;
    return static_cast<FileDType>(found - kDTypes.begin());
}
const char* dtypeName(FileDType dtype) { return kDTypes[static_cast<size_t>(dtype)].first; }
int64_t dtypeSize(FileDType dtype) { return kDTypes[static_cast<size_t>(dtype)].second; }

int64_t StoredTensor::elements() const {
    int64_t product = 1;
    for (int64_t extent : shape) product *= extent;
    return product;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), header_(parseSafetensorsHeader(headOf(file_), file_.sizeBytes(), path.string())) {}

std::vector<int> SafetensorsFile::readIntegers(const StoredTensor& tensor) const {
    if (tensor.dtype != FileDType::I32)
        refuse(path().string(), tensor.name, fmt::format("holds {} where I32 is expected", dtypeName(tensor.dtype)),
               "write it as I32");
    std::vector<int> values(static_cast<size_t>(tensor.elements()));
    file_.read(header_.dataBegin + tensor.begin, std::as_writable_bytes(std::span(values)));
    return values;
}

int64_t SafetensorsFile::read(const StoredTensor& tensor, int64_t first, std::span<float> out) const {
    const uint64_t begin = header_.dataBegin + tensor.begin + static_cast<uint64_t>(first * dtypeSize(tensor.dtype));
    const auto convert = [&]<typename Bits>(Bits, auto toFloat) {
        std::vector<Bits> piece(std::min<size_t>(out.size(), 1 << 16));
        for (size_t done = 0; done < out.size(); done += piece.size()) {
            piece.resize(std::min(piece.size(), out.size() - done));
            file_.read(begin + done * sizeof(Bits), std::as_writable_bytes(std::span(piece)));
            std::ranges::transform(piece, out.begin() + static_cast<std::ptrdiff_t>(done), toFloat);
        }
    };
    switch (tensor.dtype) {
    case FileDType::F32:
        file_.read(begin, std::as_writable_bytes(out));
        break;
    case FileDType::F64:
        convert(double{}, [](double x) { return static_cast<float>(x); });
        break;
    case FileDType::F16:
        convert(uint16_t{}, floatOfHalf);
        break;
    case FileDType::BF16:
        convert(uint16_t{}, [](uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); });
        break;
    default:
        refuse(path().string(), tensor.name,
               fmt::format("holds {} where numbers are expected", dtypeName(tensor.dtype)),
               "convert the weights to F32, F16 or BF16");
    }
    return std::ranges::count_if(out, [](float x) { return !std::isfinite(x); });
}

} // namespace attn
