#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Writes a file whole or not at all: aside, flushed, renamed. @throws Error naming the path and why
void writeAtomically(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// A tensor to write: float32, or int32 when `integers` is used.
struct WrittenTensor {
    std::string name;
    std::vector<int64_t> shape;
    std::span<const float> values{};
    std::span<const int32_t> integers{};
};

/// @param metadata string pairs of "__metadata__"
void writeSafetensors(const std::filesystem::path& path, std::span<const WrittenTensor> tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// NumPy's .npz: one deflated .npy (version 1.0) per tensor.
/// @source NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays"; PKWARE APPNOTE 6.3 for the zip
/// container
void writeNpz(const std::filesystem::path& path, std::span<const WrittenTensor> tensors);

} // namespace attn
