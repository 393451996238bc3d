#include "engine/training/tasks/image_task.h"

#include "engine/core/rng.h"
#include "engine/io/resample.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attn {
namespace {

constexpr uint32_t kAugmentation = 7; // a separate stream of random numbers
constexpr uint64_t kMeasured = 2000;  // number of examples for mean and deviation

/// A crop of a picture from (top, left) on. Pixels outside of the picture are copied from its border.
Image part(const Image& picture, int64_t top, int64_t left, const ImageSize& size) {
    Image result{.height = size.height, .width = size.width, .rgb = {}};
    result.rgb.reserve(static_cast<size_t>(size.area() * 3));
    for (int64_t row = 0; row < size.height; ++row)
        for (int64_t column = 0; column < size.width; ++column)
            for (int64_t channel = 0; channel < 3; ++channel)
                result.rgb.push_back(picture.at(std::clamp<int64_t>(top + row, 0, picture.height - 1),
                                                std::clamp<int64_t>(left + column, 0, picture.width - 1), channel));
    return result;
}

Image flipped(const Image& picture) {
    Image result = picture;
    for (int64_t row = 0; row < picture.height; ++row)
        for (int64_t column = 0; column < picture.width; ++column)
            for (int64_t channel = 0; channel < 3; ++channel)
                result.rgb[static_cast<size_t>((row * picture.width + column) * 3 + channel)] =
                    picture.at(row, picture.width - 1 - column, channel);
    return result;
}

} // namespace

Image augmented(const Image& picture, const Augmentation& augmentation, Draws& draws) {
    Image result = picture;
    if (augmentation.crop < 1) {
        const auto side = [&](int64_t whole) {
            const auto least =
                static_cast<int>(std::max(1.0, std::ceil(augmentation.crop * static_cast<double>(whole))));
            return static_cast<int64_t>(draws.between(least, static_cast<int>(whole)));
        };
        const ImageSize kept{side(picture.height), side(picture.width)};
        const int64_t top = draws.between(0, static_cast<int>(picture.height - kept.height)),
                      left = draws.between(0, static_cast<int>(picture.width - kept.width));
        if (kept != picture.size())
            result = resampled(part(picture, top, left, kept), picture.size(), ResampleFilter::Bilinear);
    }
    if (augmentation.flips && draws.chance(0.5)) result = flipped(result);
    if (augmentation.shift > 0) {
        const int64_t down = draws.between(-augmentation.shift, augmentation.shift),
                      right = draws.between(-augmentation.shift, augmentation.shift);
        if (down != 0 || right != 0) result = part(result, -down, -right, result.size());
    }
    return result;
}

ImageTaskInstance::ImageTaskInstance(std::vector<std::string> labels, const ImageSize& size, int64_t channels,
                                     const Augmentation& augmentation, uint64_t seed)
    : labels_(std::move(labels)), preprocessing_{.resize = size, .channels = channels}, augmentation_(augmentation),
      seed_(seed) {}

void ImageTaskInstance::settle() {
    const auto channels = static_cast<size_t>(preprocessing_.channels);
    std::vector<double> sums(channels), squares(channels);
    const uint64_t examples = std::min(rowCount(Split::Train).value_or(kMeasured), kMeasured);
    const ImagePreprocessing plain{.channels = preprocessing_.channels};
    for (uint64_t i = 0; i < examples; ++i) {
        const std::vector<float> pixels = pixelsOf(example(Split::Train, i).picture, plain);
        for (size_t at = 0; at < pixels.size(); ++at) {
            const auto value = static_cast<double>(pixels[at]);
            sums[at / (pixels.size() / channels)] += value;
            squares[at / (pixels.size() / channels)] += value * value;
        }
    }
    const double count = static_cast<double>(examples) * static_cast<double>(size().area());
    const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; }; // as precise as in files
    for (size_t channel = 0; channel < channels; ++channel) {
        const double mean = sums[channel] / count, variance = squares[channel] / count - mean * mean;
        preprocessing_.mean.push_back(rounded(mean));
        preprocessing_.deviation.push_back(std::max(rounded(std::sqrt(std::max(variance, 0.0))), 1e-4));
    }
}

LabelledImage ImageTaskInstance::trainingExample(uint64_t n) const {
    uint64_t index = n;
    if (const auto count = rowCount(Split::Train))
        index = shuffledIndex(n % *count, *count, seed_ ^ (n / *count + 1) * 0x9E3779B97F4A7C15);
    LabelledImage result = example(Split::Train, index);
    Draws draws(seed_, n, kAugmentation);
    if (augmentation_ != Augmentation{}) result.picture = augmented(result.picture, augmentation_, draws);
    return result;
}

Augmentation augmentationOf(const TaskValues& values) {
    return {.flips = values.flag("flip"), .shift = values.integer("shift"), .crop = values.real("crop")};
}

uint64_t shuffledIndex(uint64_t index, uint64_t count, uint64_t key) {
    if (count < 2) return index;
    const int half = (std::bit_width(count - 1) + 1) / 2;
    const uint64_t mask = (uint64_t{1} << half) - 1;
    constexpr int kRounds = 4;
    do {
        uint64_t left = index >> half, right = index & mask;
        for (uint32_t round = 0; round < kRounds; ++round) {
            const auto words = philox({static_cast<uint32_t>(right), static_cast<uint32_t>(right >> 32), round, 0},
                                      {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
            left = std::exchange(right, left ^ (words[0] & mask));
        }
        index = left << half | right;
    } while (index >= count);
    return index;
}

} // namespace attn
