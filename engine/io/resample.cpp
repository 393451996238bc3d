#include "engine/io/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

/// The inputs that one output is a weighted sum of.
struct Taps {
    std::vector<int64_t> places;
    std::vector<double> weights;
};

struct Kernel {
    double support; ///< 0 beyond this distance
    double (*at)(double distance);
};

/// @source Keys 1981, equation 4
double cubic(double x, double a) {
    x = std::abs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

Kernel kernelOf(ResampleFilter filter) {
    switch (filter) {
    case ResampleFilter::Bicubic:
        return {2, [](double x) { return cubic(x, -0.5); }};
    case ResampleFilter::Lanczos:
        return {3, [](double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }};
    case ResampleFilter::Box:
        return {0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }};
    case ResampleFilter::Hamming:
        return {
            1, [](double x) { return std::abs(x) < 1 ? sinc(x) * (0.54 + 0.46 * std::cos(std::numbers::pi * x)) : 0; }};
    default:
        return {1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
    }
}

/// The kernel laid over the input, at least as wide as an output pixel. The weights sum to 1.
std::vector<Taps> wideTaps(int64_t from, int64_t to, const Kernel& kernel) {
    const double scale = static_cast<double>(from) / static_cast<double>(to), widening = std::max(scale, 1.0);
    std::vector<Taps> all(static_cast<size_t>(to));
    for (int64_t output = 0; output < to; ++output) {
        Taps& taps = all[static_cast<size_t>(output)];
        const double centre = (static_cast<double>(output) + 0.5) * scale, reach = kernel.support * widening;
        const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - reach + 0.5), 0);
        const int64_t end = std::min(static_cast<int64_t>(centre + reach + 0.5), from);
        double sum = 0;
        for (int64_t place = first; place < end; ++place) {
            taps.places.push_back(place);
            taps.weights.push_back(kernel.at((static_cast<double>(place) + 0.5 - centre) / widening));
            sum += taps.weights.back();
        }
        for (double& weight : taps.weights) weight /= sum;
    }
    return all;
}

/// The four nearest inputs. Beyond the edge, the edge is repeated.
std::vector<Taps> nearTaps(int64_t from, int64_t to) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    std::vector<Taps> all(static_cast<size_t>(to));
    for (int64_t output = 0; output < to; ++output) {
        const double centre = (static_cast<double>(output) + 0.5) * scale - 0.5, floor = std::floor(centre);
        for (int64_t step = -1; step <= 2; ++step) {
            const int64_t place = static_cast<int64_t>(floor) + step;
            all[static_cast<size_t>(output)].places.push_back(std::clamp<int64_t>(place, 0, from - 1));
            all[static_cast<size_t>(output)].weights.push_back(cubic(centre - static_cast<double>(place), -0.75));
        }
    }
    return all;
}

/// Weighted sums of 8-bit numbers in 32-bit integers, with weights of 22 binary places, as Pillow computes them.
constexpr int kPlaces = 22;
uint8_t roundedSum(const Taps& taps, const uint8_t* first, int64_t stride) {
    int32_t sum = 1 << (kPlaces - 1);
    for (size_t i = 0; i < taps.places.size(); ++i) {
        const auto weight = static_cast<int32_t>(std::lround(taps.weights[i] * (1 << kPlaces)));
        sum += weight * first[taps.places[i] * stride];
    }
    return static_cast<uint8_t>(std::clamp(sum >> kPlaces, 0, 255));
}

Image nearest(const Image& image, const ImageSize& size) {
    Image result{.height = size.height, .width = size.width};
    result.rgb.reserve(static_cast<size_t>(size.area() * 3));
    const auto placeOf = [](int64_t output, int64_t from, int64_t to) { return (2 * output + 1) * from / (2 * to); };
    for (int64_t row = 0; row < size.height; ++row)
        for (int64_t column = 0; column < size.width; ++column)
            for (int64_t channel = 0; channel < 3; ++channel)
                result.rgb.push_back(image.at(placeOf(row, image.height, size.height),
                                              placeOf(column, image.width, size.width), channel));
    return result;
}

/// Vectors along one axis: `outer` runs of [from, inner]. @return [outer, to, inner]
std::vector<double> along(const std::vector<double>& values, const std::vector<Taps>& taps, int64_t outer, int64_t from,
                          int64_t inner) {
    std::vector<double> result(static_cast<size_t>(outer * inner) * taps.size(), 0);
    for (int64_t run = 0; run < outer; ++run)
        for (size_t output = 0; output < taps.size(); ++output) {
            double* sum =
                result.data() + (static_cast<size_t>(run) * taps.size() + output) * static_cast<size_t>(inner);
            for (size_t i = 0; i < taps[output].places.size(); ++i) {
                const double* source = values.data() + (run * from + taps[output].places[i]) * inner;
                for (int64_t c = 0; c < inner; ++c) sum[c] += taps[output].weights[i] * source[c];
            }
        }
    return result;
}

} // namespace

Image resampled(const Image& image, const ImageSize& size, ResampleFilter filter) {
    if (filter == ResampleFilter::Nearest) return nearest(image, size);
    const Kernel kernel = kernelOf(filter);
    Image wide = image;
    if (size.width != image.width) {
        const std::vector<Taps> taps = wideTaps(image.width, size.width, kernel);
        wide = {.height = image.height, .width = size.width};
        wide.rgb.reserve(static_cast<size_t>(wide.size().area() * 3));
        for (int64_t row = 0; row < image.height; ++row)
            for (const Taps& column : taps)
                for (int64_t channel = 0; channel < 3; ++channel)
                    wide.rgb.push_back(roundedSum(column, image.rgb.data() + row * image.width * 3 + channel, 3));
    }
    if (size.height == image.height) return wide;
    Image result{.height = size.height, .width = size.width};
    result.rgb.reserve(static_cast<size_t>(size.area() * 3));
    for (const Taps& row : wideTaps(image.height, size.height, kernel))
        for (int64_t place = 0; place < size.width * 3; ++place)
            result.rgb.push_back(roundedSum(row, wide.rgb.data() + place, size.width * 3));
    return result;
}

std::vector<float> resampledGrid(std::span<const float> values, const ImageSize& from, const ImageSize& to,
                                 int64_t channels, GridFilter filter) {
    const auto tapsOf = [&](int64_t before, int64_t after) {
        return filter == GridFilter::Bicubic ? nearTaps(before, after)
                                             : wideTaps(before, after, kernelOf(ResampleFilter::Bicubic));
    };
    std::vector<double> grid(values.begin(), values.end());
    grid = along(grid, tapsOf(from.width, to.width), from.height, from.width, channels);
    grid = along(grid, tapsOf(from.height, to.height), 1, from.height, to.width * channels);
    return {grid.begin(), grid.end()};
}

} // namespace attn
