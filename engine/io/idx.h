#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace attn {

/// An array of bytes from an IDX file, the format of MNIST.
struct IdxArray {
    std::vector<int64_t> extents{};
    std::vector<uint8_t> values{};
};

/// Reads an IDX file of bytes, plain or gzipped.
/// @throws Error naming the file and the problem: cut off, not IDX, numbers other than bytes, more than 1 GiB
/// @source LeCun, Cortes and Burges, "The MNIST database of handwritten digits", file formats
IdxArray readIdx(const std::filesystem::path& path);

/// Reads a file, and unpacks it if it is gzipped, all of its members.
/// @throws Error naming the file if it is cut off, damaged, larger than 1 GiB, or has bytes behind its end
/// @source RFC 1952, section 2.2
std::vector<uint8_t> readMaybeGzipped(const std::filesystem::path& path);

} // namespace attn
