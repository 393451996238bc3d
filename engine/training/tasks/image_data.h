#pragma once

#include "engine/io/image.h"
#include "engine/training/tasks/task.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn {

/// Pictures of one size with their classes, in memory.
struct ImageData {
    ImageSize size{};
    int64_t channels = 3;                          ///< 3: red, green, blue; 1: grey
    std::vector<uint8_t> pixels{};                 ///< [count, height, width, channels]
    std::vector<int32_t> classes{};                ///< [count]
    std::vector<std::string> names{};              ///< of the classes
    std::array<std::vector<uint32_t>, 3> splits{}; ///< which pictures, by Split

    Image picture(size_t index) const;
};

/// Reads what a folder holds: MNIST's and Fashion-MNIST's IDX files, plain or gzipped; CIFAR-10's binary batches; or a
/// folder of pictures (PNG, JPEG, BMP, PPM, GIF) for each class, which may lie in "train" and "test".
///
/// Files that are for testing are the test split, and the last tenth of the others (at most 5,000) for validation. Of
/// folders without a test part a tenth is for each, by the hash of the file's name.
/// @param size pictures of class folders are stretched to
/// @throws Error naming the file or folder, the thing and the remedy
ImageData readImageData(const std::filesystem::path& folder, const ImageSize& size);

} // namespace attn
