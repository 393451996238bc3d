#pragma once

#include "engine/io/input_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The element types of tensor files.
enum class FileDType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };
std::optional<FileDType> dtypeNamed(std::string_view name);
const char* dtypeName(FileDType dtype); ///< "F32"
int64_t dtypeSize(FileDType dtype);     ///< bytes

/// The description of one tensor in a file.
struct StoredTensor {
    std::string name;
    FileDType dtype = FileDType::F32;
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0; ///< byte range, counted from the end of the header
    int64_t elements() const;
};

constexpr uint64_t kMostSafetensorsHeaderBytes = 100'000'000; ///< the format's own limit
/// The most tensors in a file: more than ten times those of the largest models.
constexpr size_t kMostStoredTensors = size_t{1} << 18;

/// The header of a safetensors file.
struct SafetensorsHeader {
    uint64_t dataBegin = 0;
    std::map<std::string, StoredTensor> tensors;
    /// Other names of tensors, from the metadata: what safetensors' save_model() writes for a tensor that is shared.
    std::map<std::string, std::string> aliases;
};
/// Parses and checks the header of a safetensors file, in time that is linear in its length: each byte of the data must
/// belong to exactly one tensor, and the sizes of tensors must fit their shapes.
/// @param bytes    the beginning of the file; the data may be missing
/// @param fileSize size of the whole file in bytes
/// @param file     name for messages
/// @throws Error naming the file, the tensor and the remedy
/// @source https://github.com/huggingface/safetensors, "Format"
SafetensorsHeader parseSafetensorsHeader(std::span<const std::byte> bytes, uint64_t fileSize, const std::string& file);

/// A safetensors file, open for reading.
class SafetensorsFile {
public:
    /// @throws Error naming the file, the tensor and the remedy
    explicit SafetensorsFile(const std::filesystem::path& path);

    const std::map<std::string, StoredTensor>& tensors() const { return header_.tensors; }
    const std::map<std::string, std::string>& aliases() const { return header_.aliases; }
    const std::filesystem::path& path() const { return file_.path(); }

    /// Converts elements [first, first + out.size()) of a tensor to float32.
    /// @return the number of elements that are NaN or infinite
    /// @throws Error if the elements are not real numbers, or the file cannot be read
    int64_t read(const StoredTensor& tensor, int64_t first, std::span<float> out) const;
    /// Reads all values of an I32 tensor. @throws Error if it has another dtype
    std::vector<int> readIntegers(const StoredTensor& tensor) const;

private:
    InputFile file_;
    SafetensorsHeader header_;
};

} // namespace attn
