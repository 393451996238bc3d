#pragma once

#include "engine/io/image.h"

#include <span>
#include <vector>

namespace attn {

/// How a picture is brought to another size, as vision models' files name it.
enum class ResampleFilter : uint8_t { Nearest, Bilinear, Bicubic, Lanczos };

/// A picture at another size as the Pillow library makes it, to the bit: filters widen where the picture shrinks
/// (antialiasing), each pass rounds to 8 bits, rows come before columns.
/// @param size at least 1 x 1
/// @source Pillow's documentation, "Concepts: Filters"; bicubic with a = -0.5: Keys 1981, "Cubic convolution
/// interpolation for digital image processing", IEEE TASSP 29(6)
Image resampled(const Image& image, const ImageSize& size, ResampleFilter filter);

/// How PyTorch's interpolate(mode="bicubic", align_corners=False) works.
enum class GridFilter : uint8_t {
    Bicubic,           ///< a = -0.75 on the four nearest, however much the grid shrinks
    AntialiasedBicubic ///< a = -0.5, wider where the grid shrinks: antialias=True
};

/// Vectors on a grid, brought to another grid. @param values [from.height, from.width, channels]
/// @return [to.height, to.width, channels]
std::vector<float> resampledGrid(std::span<const float> values, const ImageSize& from, const ImageSize& to,
                                 int64_t channels, GridFilter filter);

} // namespace attn
