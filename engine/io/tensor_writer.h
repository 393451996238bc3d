#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A tensor to write: float32, int32 if `integers` is set, or in .npz files text if `texts` is set.
struct WrittenTensor {
    std::string name;
    std::vector<int64_t> shape;
    std::span<const float> values{};
    std::span<const int32_t> integers{};
    std::span<const std::u32string> texts{};
};

/// Writes a safetensors file. @param metadata the pairs of "__metadata__"
/// @throws Error naming the path and the reason
void writeSafetensors(const std::filesystem::path& path, std::span<const WrittenTensor> tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// Writes NumPy's .npz: one compressed .npy (version 1.0) per tensor.
/// @throws Error naming the path and the reason
/// @source NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays"; PKWARE APPNOTE 6.3 for the zip
/// container
void writeNpz(const std::filesystem::path& path, std::span<const WrittenTensor> tensors);

} // namespace attn
