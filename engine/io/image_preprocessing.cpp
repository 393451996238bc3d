#include "engine/io/image_preprocessing.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// A resized picture has at most so many pixels on a side: a picture of 1 x 10000 would become 224 x 2240000.
constexpr int64_t kMostPixelsOnSide = 1 << 15;

Image cropped(const Image& image, const ImageSize& size) {
    Image result{.height = size.height,
                 .width = size.width,
                 .rgb = std::vector<uint8_t>(static_cast<size_t>(size.area() * 3), 0)};
    // Where the picture is smaller, the larger half of the border comes first.
    const auto beginOf = [](int64_t have, int64_t want) {
        return have >= want ? (have - want) / 2 : -((want - have + 1) / 2);
    };
    const int64_t top = beginOf(image.height, size.height), left = beginOf(image.width, size.width);
    const int64_t begin = std::max<int64_t>(0, -left), end = std::min(size.width, image.width - left);
    for (int64_t row = 0; row < size.height; ++row)
        if (row + top >= 0 && row + top < image.height)
            std::copy_n(image.rgb.begin() + ((row + top) * image.width + begin + left) * 3, (end - begin) * 3,
                        result.rgb.begin() + (row * size.width + begin) * 3);
    return result;
}

ImageSize resizedSize(const Image& image, const ImagePreprocessing& preprocessing) {
    if (preprocessing.resize) return *preprocessing.resize;
    if (!preprocessing.shortestEdge) return image.size();
    const int64_t edge = *preprocessing.shortestEdge, shorter = std::min(image.height, image.width);
    return {image.height == shorter ? edge : edge * image.height / shorter,
            image.width == shorter ? edge : edge * image.width / shorter};
}

} // namespace

ImagePreprocessing ImagePreprocessing::forSize(const ImageSize& size) const {
    ImagePreprocessing result = *this;
    const auto scaled = [](int64_t value, int64_t to, int64_t from) { return (value * to + from / 2) / from; };
    if (!crop) {
        result.resize = size;
        result.shortestEdge.reset();
        return result;
    }
    if (resize)
        result.resize = ImageSize{scaled(resize->height, size.height, crop->height),
                                  scaled(resize->width, size.width, crop->width)};
    if (shortestEdge)
        result.shortestEdge =
            scaled(*shortestEdge, std::max(size.height, size.width), std::max(crop->height, crop->width));
    result.crop = size;
    return result;
}

Image fitted(const Image& image, const ImagePreprocessing& preprocessing) {
    if (image.height < 1 || image.width < 1)
        throw Error({.what = fmt::format("{} x {} pixels cannot be read", image.width, image.height),
                     .where = "the picture",
                     .hint = "choose one that has pixels"});
    const ImageSize size = resizedSize(image, preprocessing);
    if (std::max(size.height, size.width) > kMostPixelsOnSide)
        throw Error({.what = fmt::format("{} x {} pixels would become {} x {}", image.width, image.height, size.width,
                                         size.height),
                     .where = "the picture",
                     .hint = "crop it closer to a square"});
    const Image result = size == image.size() ? image : resampled(image, size, preprocessing.filter);
    return preprocessing.crop ? cropped(result, *preprocessing.crop) : result;
}

std::vector<float> pixelsOf(const Image& image, const ImagePreprocessing& preprocessing) {
    std::vector<float> pixels;
    pixels.reserve(static_cast<size_t>(image.size().area() * preprocessing.channels));
    const auto valueAt = [&](int64_t channel, int64_t row, int64_t column) {
        if (preprocessing.channels == 3) return static_cast<double>(image.at(row, column, channel));
        return std::round(0.299 * image.at(row, column, 0) + 0.587 * image.at(row, column, 1) +
                          0.114 * image.at(row, column, 2));
    };
    for (int64_t channel = 0; channel < preprocessing.channels; ++channel) {
        const auto at = static_cast<size_t>(channel);
        const double mean = preprocessing.mean.empty() ? 0 : preprocessing.mean[at],
                     deviation = preprocessing.deviation.empty() ? 1 : preprocessing.deviation[at];
        for (int64_t row = 0; row < image.height; ++row)
            for (int64_t column = 0; column < image.width; ++column)
                pixels.push_back(
                    static_cast<float>((valueAt(channel, row, column) * preprocessing.factor - mean) / deviation));
    }
    return pixels;
}

std::vector<float> cutPatches(std::span<const float> pixels, int64_t channels, const ImageSize& size, int64_t patch) {
    std::vector<float> patches;
    patches.reserve(pixels.size());
    for (int64_t top = 0; top < size.height; top += patch)
        for (int64_t left = 0; left < size.width; left += patch)
            for (int64_t channel = 0; channel < channels; ++channel)
                for (int64_t row = top; row < top + patch; ++row) {
                    const auto begin = static_cast<size_t>((channel * size.height + row) * size.width + left);
                    const auto line = pixels.subspan(begin, static_cast<size_t>(patch));
                    patches.insert(patches.end(), line.begin(), line.end());
                }
    return patches;
}

} // namespace attn
