#pragma once

#include "engine/io/image.h"

#include <filesystem>

namespace attn {

/// Decodes a picture of a training set: PNG, JPEG or binary PPM, recognised by its content. Transparent pixels keep
/// their stored colours, and the EXIF rotation is applied. The application itself reads the pictures that a person
/// opens, in more formats.
/// @throws Error naming the file and the reason
Image decodeImage(const std::filesystem::path& path);

/// Writes a picture as binary PPM. @throws Error naming the file and the reason
void writePpm(const std::filesystem::path& path, const Image& image);

} // namespace attn
