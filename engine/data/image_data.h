#pragma once

#include "engine/data/labelled_rows.h"
#include "engine/data/split.h"
#include "engine/io/image_preprocessing.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// Pictures of one size and their classes, in memory.
struct ImageData {
    ImageSize size{};
    int64_t channels = 3;                          ///< 3: red, green, blue; 1: grey
    std::vector<uint8_t> pixels{};                 ///< [count, height, width, channels]
    std::vector<int32_t> classes{};                ///< [count]; -1 if the targets say it
    std::vector<float> targets{};                  ///< [count, names]: 1 or 0, or numbers; empty: one class for each
    std::vector<std::string> names{};              ///< names of the classes
    std::array<std::vector<uint32_t>, 3> splits{}; ///< indices of pictures, by Split
    std::vector<std::filesystem::path> files{};    ///< that were read, in order

    Image picture(size_t index) const;
};

/// Reads a data set: the IDX files of MNIST and Fashion-MNIST, plain or gzipped; the binary batches of CIFAR-10; or one
/// folder of pictures (PNG, JPEG, PPM) per class, optionally in "train" and "test".
///
/// Test files are the test split. The last tenth of the other files (at most 5,000) is the validation split. Class
/// folders without a test part give a tenth to each, by the hash of the file's name.
/// @param size to which the pictures of class folders are stretched
/// @param preparation or else the steps up to fitted() that a model has for them
/// @throws Error naming the file or folder, the problem and the remedy
ImageData readImageData(const std::filesystem::path& folder, const ImageSize& size,
                        const std::optional<ImagePreprocessing>& preparation = {});

/// Reads the pictures of a table, each with several labels or with numbers: see readLabelledTable(). A tenth is the
/// validation split and a tenth the test split, by the hash of the file's name.
/// @param size, preparation as readImageData()
ImageData readLabelledPictures(const std::filesystem::path& path, const std::vector<std::string>& known, LabelKind kind,
                               const ImageSize& size, const std::optional<ImagePreprocessing>& preparation);

/// Reads pictures for tasks without classes. A folder that directly contains pictures has one class, "picture".
ImageData readPictures(const std::filesystem::path& folder, const ImageSize& size);

/// A sentence for people if PNG files of a folder of pictures are animations, or may be transparent, or if batches of
/// CIFAR-10 are missing; else empty. Looks at the beginnings of the files.
std::string picturesWarning(const std::filesystem::path& folder);

} // namespace attn
