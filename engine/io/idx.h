#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace attn {

/// An array of bytes as MNIST's files hold it.
struct IdxArray {
    std::vector<int64_t> extents{};
    std::vector<uint8_t> values{};
};

/// Reads an IDX file of bytes, plain or gzipped.
/// @throws Error naming the file and what is wrong: cut off, no IDX, other numbers than bytes, more than 1 GiB
/// @source LeCun, Cortes and Burges, "The MNIST database of handwritten digits", file formats
IdxArray readIdx(const std::filesystem::path& path);

/// The bytes of a file, unpacked where it is gzipped.
/// @throws Error naming the file, and its being cut off or damaged; or beyond 1 GiB
std::vector<uint8_t> readMaybeGzipped(const std::filesystem::path& path);

} // namespace attn
