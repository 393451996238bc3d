#pragma once

#include "engine/io/image.h"

#include <cstddef>
#include <span>

namespace attn {

/// How a photograph's pixels lie: 1 upright, 3 upside down, 6 and 8 on a side; 2, 4, 5 and 7 mirrored as well.
/// @param file of a JPEG  @return 1 where the file says nothing, is damaged or is none
/// @source CIPA DC-008-2019, "Exchangeable image file format" 2.32, 4.6.4 (A), tag 0x0112
int exifOrientation(std::span<const std::byte> file);

/// As it should be seen. @param orientation 1 to 8
Image upright(Image image, int orientation);

} // namespace attn
