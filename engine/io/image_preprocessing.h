#pragma once

#include "engine/io/resample.h"

#include <optional>
#include <span>
#include <vector>

namespace attn {

/// How a picture is made ready for a vision model, in the order of the fields. Models' files say it in
/// preprocessor_config.json.
struct ImagePreprocessing {
    std::optional<ImageSize> resize{};     ///< to this size, whatever the ratio
    std::optional<int64_t> shortestEdge{}; ///< or: the shorter side to this, keeping the ratio
    ResampleFilter filter = ResampleFilter::Bilinear;
    std::optional<ImageSize> crop{}; ///< the middle; black where the picture is smaller
    int64_t channels = 3;            ///< 3: red, green, blue; 1: grey
    double factor = 1.0 / 255;       ///< on each 8-bit number
    std::vector<double> mean{};      ///< of each channel, then subtracted; empty: not normalised
    std::vector<double> deviation{}; ///< of each channel, then divided by
    bool operator==(const ImagePreprocessing&) const = default;

    /// The same for another size of the result: what comes before the crop keeps its proportion to it.
    ImagePreprocessing forSize(const ImageSize& size) const;
};

/// Resized and cropped: what the model sees, as a picture.
/// @throws Error for a picture without pixels, or one that is stretched so far that its other side grows beyond limits
Image fitted(const Image& image, const ImagePreprocessing& preprocessing);

/// Its numbers, scaled and normalised. Grey is 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601).
/// @param image fitted  @return [channels, height, width]
std::vector<float> pixelsOf(const Image& image, const ImagePreprocessing& preprocessing);

/// Squares of `patch` pixels, row by row, each as a convolution's weight lies: channels, rows, columns.
/// @param pixels [channels, size.height, size.width], both multiples of `patch`
/// @return [patches, channels patch patch]
std::vector<float> cutPatches(std::span<const float> pixels, int64_t channels, const ImageSize& size, int64_t patch);

} // namespace attn
