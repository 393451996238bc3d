#include "engine/io/safetensors.h"

#include "engine/core/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attn {
namespace {

constexpr std::array kDTypes{std::pair{"F64", 8}, std::pair{"F32", 4}, std::pair{"F16", 2}, std::pair{"BF16", 2}, std::pair{"I64", 8},
                             std::pair{"I32", 4}, std::pair{"I16", 2}, std::pair{"I8", 1},  std::pair{"U8", 1},   std::pair{"BOOL", 1}};
constexpr uint64_t kMostHeaderBytes = 100'000'000; // the format's own limit
constexpr const char* kFetchAgain = "fetch the file again";

[[noreturn]] void refuse(const std::string& file, const std::string& tensor, const std::string& what, const std::string& hint = kFetchAgain) {
    throw Error({.what = tensor.empty() ? what : fmt::format("tensor \"{}\" {}", tensor, what), .where = file, .hint = hint});
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
        if (!extent.is_number_unsigned() || extent.get<uint64_t>() > uint64_t{1} << 40) refuse(file, tensor, fmt::format("has the shape {}", shape->dump()));
        extents.push_back(extent.get<int64_t>());
        const uint64_t count = std::max<uint64_t>(extent.get<uint64_t>(), 1); // a zero is checked against the bytes below
        const bool isTooMany = elements > (uint64_t{1} << 40) / count;
        elements *= count;
        if (isTooMany) refuse(file, tensor, fmt::format("has the impossible shape {}", shape->dump()));
    }
    return extents;
}

StoredTensor tensorOf(const std::string& name, const nlohmann::json& entry, uint64_t dataSize, const std::string& file) {
    if (!entry.is_object()) refuse(file, name, "is not described by an object");
    const auto dtype = entry.find("dtype");
    const auto offsets = entry.find("data_offsets");
    if (dtype == entry.end() || !dtype->is_string()) refuse(file, name, "has no dtype");
    if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
        refuse(file, name, "has no data_offsets");
    StoredTensor tensor{.name = name, .dtype = dtypeNamed(dtype->get<std::string>(), name, file), .shape = shapeOf(entry, name, file), .begin = (*offsets)[0], .end = (*offsets)[1]};
    if (tensor.begin > tensor.end || tensor.end > dataSize)
        refuse(file, name, fmt::format("lies at bytes {} to {} but the file holds {} bytes of data: it is truncated or damaged", tensor.begin, tensor.end, dataSize));
    const auto expected = static_cast<uint64_t>(tensor.elements() * dtypeSize(tensor.dtype));
    if (tensor.end - tensor.begin != expected)
        refuse(file, name, fmt::format("has {} bytes but its shape and dtype need {}", tensor.end - tensor.begin, expected));
    return tensor;
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
    if (text.starts_with("version https://git-lfs"))
        refuse(file, "", "this is a Git-LFS pointer, not the weights", "run `git lfs pull` in the model's folder, or fetch the file itself");
    if (bytes.size() < 8) refuse(file, "", fmt::format("the file has only {} bytes", fileSize));
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    if (length > fileSize - 8 || length > bytes.size() - 8)
        refuse(file, "", fmt::format("the header should have {} bytes but the file has {}: it is truncated or no safetensors file", length, fileSize));
    if (length > kMostHeaderBytes || length < 2) refuse(file, "", fmt::format("a header of {} bytes is not plausible: this is no safetensors file", length));
    std::string_view header = text.substr(8, length);
    while (!header.empty() && (header.back() == '\0' || header.back() == ' ')) header.remove_suffix(1);

    std::vector<std::string> seen; // of the top level: duplicates would silently win or lose
    const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
        if (depth > 8) refuse(file, "", "the header is nested too deeply");
        if (depth == 1 && event == nlohmann::json::parse_event_t::key) seen.push_back(parsed.get<std::string>());
        return true;
    };
    nlohmann::json json;
    try {
        json = nlohmann::json::parse(header, watch);
    } catch (const nlohmann::json::exception& error) {
        refuse(file, "", fmt::format("the header is not valid JSON ({})", error.what()));
    }
    if (!json.is_object()) refuse(file, "", "the header is not a JSON object");
    std::ranges::sort(seen);
    if (const auto twice = std::ranges::adjacent_find(seen); twice != seen.end()) refuse(file, *twice, "is listed twice");

    SafetensorsHeader result{.dataBegin = 8 + length, .tensors = {}};
    std::vector<const StoredTensor*> inOrder;
    for (const auto& [name, entry] : json.items()) {
        if (name == "__metadata__") continue;
        inOrder.push_back(&result.tensors.emplace(name, tensorOf(name, entry, fileSize - result.dataBegin, file)).first->second);
    }
    std::ranges::sort(inOrder, {}, [](const StoredTensor* tensor) { return std::pair(tensor->begin, tensor->end); });
    for (size_t i = 1; i < inOrder.size(); ++i)
        if (inOrder[i]->begin < inOrder[i - 1]->end) refuse(file, inOrder[i]->name, fmt::format("overlaps \"{}\"", inOrder[i - 1]->name));
    return result;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
    const auto failWith = [&](const char* what) {
        const int code = errno;
        throw Error({.what = fmt::format("{}: {}", what, std::strerror(code)),
                     .where = path.string(),
                     .hint = code == EACCES ? "give yourself permission to read it" : code == ENOENT ? "check the path" : ""});
    };
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) failWith("cannot be opened");
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor);
        throw Error({.what = "is not a file", .where = path.string(), .hint = "name a .safetensors file"});
    }
    size_ = static_cast<size_t>(status.st_size);
    void* mapped = size_ == 0 ? nullptr : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (mapped == MAP_FAILED) failWith("cannot be mapped");
    data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

void MappedFile::release(uint64_t begin, uint64_t end) const {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (begin < end) madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path), file_(path), header_(parseSafetensorsHeader(file_.bytes(), file_.bytes().size(), path.string())) {}

float halfToFloat(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | mantissa << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    const float value = static_cast<float>(mantissa) * 0x1p-24f; // subnormal
    return sign != 0 ? -value : value;
}

std::vector<int> SafetensorsFile::readIntegers(const StoredTensor& tensor) const {
    if (tensor.dtype != FileDType::I32) refuse(path_.string(), tensor.name, fmt::format("holds {} where I32 is expected", dtypeName(tensor.dtype)), "write it as I32");
    std::vector<int> values(static_cast<size_t>(tensor.elements()));
    std::memcpy(values.data(), file_.bytes().data() + header_.dataBegin + tensor.begin, values.size() * sizeof(int));
    return values;
}

int64_t SafetensorsFile::read(const StoredTensor& tensor, int64_t first, std::span<float> out) const {
    const auto size = static_cast<uint64_t>(dtypeSize(tensor.dtype));
    const uint64_t begin = header_.dataBegin + tensor.begin + static_cast<uint64_t>(first) * size;
    const std::byte* source = file_.bytes().data() + begin;
    // Tensors may be unaligned: every element is copied, never cast.
    const auto convert = [&]<typename Bits>(Bits, auto toFloat) {
        for (size_t i = 0; i < out.size(); ++i) {
            Bits bits;
            std::memcpy(&bits, source + i * sizeof(Bits), sizeof(Bits));
            out[i] = toFloat(bits);
        }
    };
    switch (tensor.dtype) {
    case FileDType::F32: std::memcpy(out.data(), source, out.size_bytes()); break;
    case FileDType::F64: convert(double{}, [](double x) { return static_cast<float>(x); }); break;
    case FileDType::F16: convert(uint16_t{}, halfToFloat); break;
    case FileDType::BF16: convert(uint16_t{}, [](uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }); break;
    default: refuse(path_.string(), tensor.name, fmt::format("holds {} where numbers are expected", dtypeName(tensor.dtype)), "convert the weights to F32, F16 or BF16");
    }
    file_.release(begin, begin + out.size() * size);
    return std::ranges::count_if(out, [](float x) { return !std::isfinite(x); });
}

} // namespace attn
