#include "engine/io/image_preprocessing.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// The most pixels on a side of a resized picture. Without a limit, a picture of 1 x 10000 would become 224 x 2240000.
constexpr int64_t kMostPixelsOnSide = 1 << 15;

/// The first row or column of a crop. A negative number says how many are added before the picture.
int64_t beginOf(int64_t have, int64_t want, CropRule rule) {
    const int64_t cut = have - want;
    if (rule == CropRule::Transformers) return cut >= 0 ? cut / 2 : -((1 - cut) / 2);
    return cut >= 0 ? std::lrint(static_cast<double>(cut) / 2) : -(-cut / 2); // half to even, as Python's round()
}

/// @param border the colour of what lies outside the picture
Image cut(const Image& image, const ImageSize& size, int64_t top, int64_t left, const std::array<uint8_t, 3>& border) {
    Image result{.height = size.height, .width = size.width};
    result.rgb.reserve(static_cast<size_t>(size.area() * 3));
    for (int64_t pixel = 0; pixel < size.area(); ++pixel)
        result.rgb.insert(result.rgb.end(), border.begin(), border.end());
    const int64_t begin = std::max<int64_t>(0, -left), end = std::min(size.width, image.width - left);
    for (int64_t row = 0; row < size.height; ++row)
        if (row + top >= 0 && row + top < image.height)
            std::copy_n(image.rgb.begin() + ((row + top) * image.width + begin + left) * 3, (end - begin) * 3,
                        result.rgb.begin() + (row * size.width + begin) * 3);
    return result;
}

/// @source timm, data/transforms.py, ResizeKeepRatio: lengths are rounded, halves to even
ImageSize keptRatio(const Image& image, const ImageSize& target, bool covers) {
    const double down = static_cast<double>(image.height) / static_cast<double>(target.height),
                 across = static_cast<double>(image.width) / static_cast<double>(target.width),
                 ratio = covers ? std::min(down, across) : std::max(down, across);
    const auto scaled = [&](int64_t length) { // a picture of 1 x 1000 keeps a row
        return std::max<int64_t>(std::lrint(static_cast<double>(length) / ratio), 1);
    };
    return {scaled(image.height), scaled(image.width)};
}

ImageSize resizedSize(const Image& image, const ImagePreprocessing& preprocessing) {
    if (preprocessing.resize) return *preprocessing.resize;
    if (preprocessing.cover) return keptRatio(image, *preprocessing.cover, true);
    if (preprocessing.inside) return keptRatio(image, *preprocessing.inside, false);
    if (!preprocessing.shortestEdge) return image.size();
    const int64_t edge = *preprocessing.shortestEdge, shorter = std::min(image.height, image.width);
    return {image.height == shorter ? edge : edge * image.height / shorter,
            image.width == shorter ? edge : edge * image.width / shorter};
}

} // namespace

ImagePreprocessing ImagePreprocessing::forSize(const ImageSize& size) const {
    ImagePreprocessing result = *this;
    result.kept.reset();
    const auto scaled = [](int64_t value, int64_t to, int64_t from) { return (value * to + from / 2) / from; };
    if (!crop) {
        result.resize = size;
        result.shortestEdge.reset();
        return result;
    }
    for (std::optional<ImageSize> ImagePreprocessing::*step :
         {&ImagePreprocessing::resize, &ImagePreprocessing::cover, &ImagePreprocessing::inside})
        if (const std::optional<ImageSize>& target = this->*step)
            result.*step = ImageSize{scaled(target->height, size.height, crop->height),
                                     scaled(target->width, size.width, crop->width)};
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
    Image result = size == image.size() ? image : resampled(image, size, preprocessing.filter);
    if (const auto& crop = preprocessing.crop)
        result = cut(result, *crop, beginOf(result.height, crop->height, preprocessing.cropRule),
                     beginOf(result.width, crop->width, preprocessing.cropRule), preprocessing.border);
    if (preprocessing.kept) result = cut(result, *preprocessing.kept, 0, 0, preprocessing.border);
    result.remark = image.remark;
    return result;
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
