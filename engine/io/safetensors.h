#pragma once

#include "engine/io/input_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Element types of tensor files.
enum class FileDType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };
const char* dtypeName(FileDType dtype); ///< "F32"
int64_t dtypeSize(FileDType dtype);     ///< bytes

/// One tensor of a file.
struct StoredTensor {
    std::string name;
    FileDType dtype = FileDType::F32;
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0; ///< bytes, from the end of the header
    int64_t elements() const;
};

/// Parses and checks the header of a safetensors file: every offset lies inside the data, none overlap, sizes equal
/// shapes.
/// @param bytes    the file from its beginning; need not hold the data
/// @param fileSize of the whole file
/// @param file     for messages
/// @throws Error naming the file, the tensor and the remedy
/// @source https://github.com/huggingface/safetensors, "Format"
struct SafetensorsHeader {
    uint64_t dataBegin = 0;
    std::map<std::string, StoredTensor> tensors;
};
SafetensorsHeader parseSafetensorsHeader(std::span<const std::byte> bytes, uint64_t fileSize, const std::string& file);

/// A safetensors file.
class SafetensorsFile {
public:
    explicit SafetensorsFile(const std::filesystem::path& path);

    const std::map<std::string, StoredTensor>& tensors() const { return header_.tensors; }
    const std::filesystem::path& path() const { return file_.path(); }

    /// Converts elements [first, first + out.size()) of a tensor to float32.
    /// @return how many are NaN or infinite
    /// @throws Error if the dtype is none of real numbers, or the file cannot be read
    int64_t read(const StoredTensor& tensor, int64_t first, std::span<float> out) const;
    /// All values of an I32 tensor. @throws Error for another dtype
    std::vector<int> readIntegers(const StoredTensor& tensor) const;

private:
    InputFile file_;
    SafetensorsHeader header_;
};

float halfToFloat(uint16_t bits); ///< IEEE 754 binary16, subnormals and infinities included

} // namespace attn
