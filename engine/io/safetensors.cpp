#include "engine/io/safetensors.h"

#include "engine/core/error.h"
#include "engine/io/json_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
constexpr uint64_t kMostHeaderBytes = 100'000'000; // the format's own limit
constexpr const char* kFetchAgain = "fetch the file again";

[[noreturn]] void refuse(const std::string& file, const std::string& tensor, const std::string& what,
                         const std::string& hint = kFetchAgain) {
    throw Error(
        {.what = tensor.empty() ? what : fmt::format("tensor \"{}\" {}", tensor, what), .where = file, .hint = hint});
}

FileDType dtypeNamed(const std::string& name, const std::string& tensor, const std::string& file) {
    for (size_t i = 0; i < kDTypes.size(); ++i)
        if (name == kDTypes[i].first) return static_cast<FileDType>(i);
    refuse(file, tensor, fmt::format("has the unknown dtype \"{}\"", name), "convert the weights to F32, F16 or BF16");
}

std::vector<int64_t> shapeOf(const nlohmann::json& entry, const std::string& tensor, const std::string& file) {
    const auto shape = entry.find("shape");
    if (shape == entry.end() || !shape->is_array()) refuse(file, tensor, "has no shape");
    std::vector<int64_t> extents;
    uint64_t elements = 1;
    for (const auto& extent : *shape) {
        if (!extent.is_number_unsigned() || extent.get<uint64_t>() > uint64_t{1} << 40)
            refuse(file, tensor, fmt::format("has the shape {}", shownJson(*shape)));
        extents.push_back(extent.get<int64_t>());
        const uint64_t count =
            std::max<uint64_t>(extent.get<uint64_t>(), 1); // a zero is checked against the bytes below
        const bool isTooMany = elements > (uint64_t{1} << 40) / count;
        elements *= count;
        if (isTooMany) refuse(file, tensor, fmt::format("has the impossible shape {}", shownJson(*shape)));
    }
    return extents;
}

StoredTensor tensorOf(const std::string& name, const nlohmann::json& entry, uint64_t dataSize,
                      const std::string& file) {
    if (!entry.is_object()) refuse(file, name, "is not described by an object");
    const auto dtype = entry.find("dtype");
    const auto offsets = entry.find("data_offsets");
    if (dtype == entry.end() || !dtype->is_string()) refuse(file, name, "has no dtype");
    if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
        !(*offsets)[1].is_number_unsigned())
        refuse(file, name, "has no data_offsets");
    StoredTensor tensor{.name = name,
                        .dtype = dtypeNamed(dtype->get<std::string>(), name, file),
                        .shape = shapeOf(entry, name, file),
                        .begin = (*offsets)[0],
                        .end = (*offsets)[1]};
    if (tensor.begin > tensor.end || tensor.end > dataSize)
        refuse(file, name,
               fmt::format("lies at bytes {} to {} but the file holds {} bytes of data: it is truncated or damaged",
                           tensor.begin, tensor.end, dataSize));
    const auto expected = static_cast<uint64_t>(tensor.elements() * dtypeSize(tensor.dtype));
    if (tensor.end - tensor.begin != expected)
        refuse(file, name,
               fmt::format("has {} bytes but its shape and dtype need {}", tensor.end - tensor.begin, expected));
    return tensor;
}

/// The file's beginning, as far as the header reaches; less where its length is not believable.
std::vector<std::byte> headOf(const InputFile& file) {
    std::vector<std::byte> head(std::min<uint64_t>(file.sizeBytes(), 64)); // enough to know a Git-LFS pointer
    file.read(0, head);
    if (head.size() < 8) return head;
    uint64_t length = 0;
    std::memcpy(&length, head.data(), 8);
    if (length > kMostHeaderBytes) return head;
    head.resize(std::max<uint64_t>(head.size(), std::min(file.sizeBytes(), 8 + length)));
    file.read(0, head);
    return head;
}

} // namespace

const char* dtypeName(FileDType dtype) { return kDTypes[static_cast<size_t>(dtype)].first; }
int64_t dtypeSize(FileDType dtype) { return kDTypes[static_cast<size_t>(dtype)].second; }

int64_t StoredTensor::elements() const {
    int64_t product = 1;
    for (int64_t extent : shape) product *= extent;
    return product;
}

SafetensorsHeader parseSafetensorsHeader(std::span<const std::byte> bytes, uint64_t fileSize, const std::string& file) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (fileSize == 0) refuse(file, "", "the file is empty");
    if (isGitLfsPointer(text))
        refuse(file, "", "this is a Git-LFS pointer, not the weights",
               "run `git lfs pull` in the model's folder, or fetch the file itself");
    if (bytes.size() < 8) refuse(file, "", fmt::format("the file has only {} bytes", fileSize));
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    if (length > kMostHeaderBytes || length < 2)
        refuse(file, "", fmt::format("a header of {} bytes is not plausible: this is no safetensors file", length));
    if (length > fileSize - 8 || length > bytes.size() - 8)
        refuse(
            file, "",
            fmt::format("the header should have {} bytes but the file has {}: it is truncated or no safetensors file",
                        length, fileSize));
    std::string_view header = text.substr(8, length);
    while (!header.empty() && (header.back() == '\0' || header.back() == ' ')) header.remove_suffix(1);

    std::vector<std::string> seen; // of the top level: duplicates would silently win or lose
    const nlohmann::json json =
        parseJson(header, file, "the header", [&](const std::string& key) { seen.push_back(key); });
    if (!json.is_object()) refuse(file, "", "the header is not a JSON object");
    std::ranges::sort(seen);
    if (const auto twice = std::ranges::adjacent_find(seen); twice != seen.end())
        refuse(file, *twice, "is listed twice");

    SafetensorsHeader result{.dataBegin = 8 + length, .tensors = {}};
    std::vector<const StoredTensor*> inOrder;
    for (const auto& [name, entry] : json.items()) {
        if (name == "__metadata__") continue;
        inOrder.push_back(
            &result.tensors.emplace(name, tensorOf(name, entry, fileSize - result.dataBegin, file)).first->second);
    }
    std::ranges::sort(inOrder, {}, [](const StoredTensor* tensor) { return std::pair(tensor->begin, tensor->end); });
    for (size_t i = 1; i < inOrder.size(); ++i)
        if (inOrder[i]->begin < inOrder[i - 1]->end)
            refuse(file, inOrder[i]->name, fmt::format("overlaps \"{}\"", inOrder[i - 1]->name));
    return result;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), header_(parseSafetensorsHeader(headOf(file_), file_.sizeBytes(), path.string())) {}

float halfToFloat(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
                   mantissa = bits & 1023;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | mantissa << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    const float value = static_cast<float>(mantissa) * 0x1p-24f; // subnormal
    return sign != 0 ? -value : value;
}

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
        convert(uint16_t{}, halfToFloat);
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
