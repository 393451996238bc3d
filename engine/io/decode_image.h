#pragma once

#include "engine/io/image.h"

#include <filesystem>

namespace attn {

/// Decodes a picture of a training set: PNG, JPEG, BMP, GIF (its first frame) or binary PPM, told by its content. What
/// is transparent lies on white, and photographs are turned as their EXIF says. Pictures that a person opens are read
/// by the application, which knows more formats.
/// @throws Error naming the file and why
Image decodeImage(const std::filesystem::path& path);

/// As a binary PPM. @throws Error naming the file and why
void writePpm(const std::filesystem::path& path, const Image& image);

} // namespace attn
