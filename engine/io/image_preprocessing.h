#pragma once

#include "engine/io/resample.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace attn {

/// The library whose rounding decides where a crop begins if the border is odd.
enum class CropRule : uint8_t {
    /// Cuts off the smaller half first, and adds the larger half first. @source transformers, image_transforms.py
    Transformers,
    /// Rounds half of what is cut off to even, and adds the smaller half first. @source torchvision, CenterCrop
    Torchvision
};

/// The steps that prepare a picture for a vision model, in the order of the fields. Models define them in
/// preprocessor_config.json, or in timm's pretrained_cfg.
struct ImagePreprocessing {
    std::optional<ImageSize> resize{};     ///< resize to this size, without regard to the aspect ratio
    std::optional<int64_t> shortestEdge{}; ///< or resize the shorter side to this length, keeping the aspect ratio
    std::optional<ImageSize> cover{};      ///< or keep the aspect ratio and just cover this size
    std::optional<ImageSize> inside{};     ///< or keep the aspect ratio and just fit inside this size
    ResampleFilter filter = ResampleFilter::Bilinear;
    std::optional<ImageSize> crop{}; ///< crop the centre; `border` where the picture is smaller
    CropRule cropRule = CropRule::Transformers;
    std::array<uint8_t, 3> border{}; ///< red, green and blue
    /// Keep this many pixels from the top left; patches do not cover the rest.
    std::optional<ImageSize> kept{};
    int64_t channels = 3;            ///< 3: red, green, blue; 1: grey
    double factor = 1.0 / 255;       ///< multiplies each 8-bit number
    std::vector<double> mean{};      ///< of each channel, subtracted next; empty: no normalisation
    std::vector<double> deviation{}; ///< of each channel, divides the result
    bool operator==(const ImagePreprocessing&) const = default;

    /// These steps for another size of the result: the resize before the crop grows in proportion.
    ImagePreprocessing forSize(const ImageSize& size) const;
};

/// Resizes and crops a picture to what the model sees.
/// @throws Error if the picture has no pixels, or is so narrow that its longer side would become too long
Image fitted(const Image& image, const ImagePreprocessing& preprocessing);

/// Scales and normalises the numbers of a fitted picture. Grey is 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601).
/// @param image the result of fitted()
/// @return [channels, height, width]
std::vector<float> pixelsOf(const Image& image, const ImagePreprocessing& preprocessing);

/// Cuts a picture into squares of `patch` x `patch` pixels, row by row. The numbers of each lie in the order of a
/// convolution's weight: channels, rows, columns.
/// @param pixels [channels, size.height, size.width], both multiples of `patch`
/// @return [patches, channels patch patch]
std::vector<float> cutPatches(std::span<const float> pixels, int64_t channels, const ImageSize& size, int64_t patch);

} // namespace attn
