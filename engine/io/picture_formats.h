#pragma once

#include "engine/io/image.h"

#include <cstddef>
#include <span>
#include <string>

namespace attn {

/// The most pixels of a picture: more than cameras of 2026 take, and 192 MiB once decoded. Checked before any memory is
/// taken, because a file of 64 KiB can promise gigabytes.
inline constexpr int64_t kMostPicturePixels = int64_t{1} << 26;

/// Refuses a picture. @param name of the file  @param what the reason, to follow the name
[[noreturn]] void refusePicture(const std::string& name, const std::string& what,
                                const std::string& hint = "choose PNG, JPEG or binary PPM pictures");

/// Checks the size that a file promises. @param mostFromBytes the most pixels that a file of its length can hold
/// @throws Error naming the file
void requirePictureSize(const std::string& name, const ImageSize& size, int64_t mostFromBytes);

/// What to say of bytes of a file that lie behind its picture, in a sentence. Empty: there are none.
std::string remarkOnRest(uint64_t bytes);

// Each of these decodes a whole file of one format to red, green and blue, as the pixels are stored. Transparent pixels
// keep their stored colours. They throw Error naming the file and the reason.
/// The size that the header of a PNG file gives, which is checked. @throws Error
ImageSize pngSize(std::span<const std::byte> file, const std::string& name);
Image decodePng(std::span<const std::byte> file, const std::string& name);
Image decodeJpeg(std::span<const std::byte> file, const std::string& name);
Image decodePpm(std::span<const std::byte> file, const std::string& name);

} // namespace attn
