#pragma once

#include "engine/io/image.h"

#include <span>
#include <vector>

namespace attn {

/// How a picture is resized, by the names in the files of vision models, in the order of their numbers in Pillow.
enum class ResampleFilter : uint8_t { Nearest, Lanczos, Bilinear, Bicubic, Box, Hamming };

/// Resizes a picture exactly as the Pillow library does, bit for bit: filters widen if the picture shrinks
/// (antialiasing), each pass rounds to 8 bits, and rows come before columns.
/// @param size at least 1 x 1
/// @source Pillow's documentation, "Concepts: Filters"; bicubic with a = -0.5: Keys 1981, "Cubic convolution
/// interpolation for digital image processing", IEEE TASSP 29(6)
Image resampled(const Image& image, const ImageSize& size, ResampleFilter filter);

/// The two forms of PyTorch's interpolate(mode="bicubic", align_corners=False).
enum class GridFilter : uint8_t {
    Bicubic,           ///< a = -0.75 on the four nearest cells, however much the grid shrinks
    AntialiasedBicubic ///< a = -0.5, wider if the grid shrinks: antialias=True
};

/// Resizes a grid of vectors, such as position embeddings. @param values [from.height, from.width, channels]
/// @return [to.height, to.width, channels]
std::vector<float> resampledGrid(std::span<const float> values, const ImageSize& from, const ImageSize& to,
                                 int64_t channels, GridFilter filter);

} // namespace attn
