#pragma once

#include "engine/io/image.h"

#include <cstddef>
#include <span>

namespace attn {

/// Reads the orientation of a photograph: 1 upright, 3 upside down, 6 and 8 on a side; 2, 4, 5 and 7 are also mirrored.
/// @param file the bytes of a JPEG file
/// @return 1 if the file gives no orientation, is damaged or is not a JPEG
/// @source CIPA DC-008-2019, "Exchangeable image file format" 2.32, 4.6.4 (A), tag 0x0112
int exifOrientation(std::span<const std::byte> file);

/// Rotates and mirrors an image so that it is upright. @param orientation 1 to 8, from exifOrientation()
Image upright(Image image, int orientation);

} // namespace attn
