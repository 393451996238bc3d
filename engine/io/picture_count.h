#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attn {

/// How many pictures a file holds: the frames of an animated GIF, WebP or PNG, the pages of a TIFF, the sizes of an
/// icon. 1 for other formats. Of a damaged file, those that are found; the work is linear in its length.
/// @source CompuServe, "GIF89a Specification"; PNG specification, third edition, section 11.3.6 (acTL); Google, "WebP
/// Container Specification"; Adobe, "TIFF 6.0", section 2
int64_t picturesIn(std::span<const std::byte> file);

/// The largest picture of an icon, which Pillow reads. @return its index; 0 for other formats
int64_t largestPicture(std::span<const std::byte> file);

/// Whether pixels of a PNG file may be transparent, by its header. @param file its beginning
bool mayBeTransparent(std::span<const std::byte> file);

} // namespace attn
