#include "engine/core/storage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace attn {
namespace {

constexpr std::array<std::string_view, 6> kNames{"f32", "f16", "bf16", "q8_0", "q4_0", "q4_k"};
constexpr int64_t kBlock = 32, kSuperBlock = 256, kParts = 8, kTogether = 128;
constexpr int64_t kSuperScales = 20; ///< bytes that scale a block of Q4_K: d, dmin, scales, offsets

template <typename T> void put(std::byte* to, T value) { std::memcpy(to, &value, sizeof(value)); }
template <typename T> T get(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

float largest(std::span<const float> values) {
    float most = 0;
    for (const float value : values)
        if (std::abs(value) > std::abs(most)) most = value;
    return most;
}

/// The nearest integer. Halves are rounded away from zero.
int rounded(float value) { return static_cast<int>(value < 0 ? value - 0.5f : value + 0.5f); }

void encode8(std::span<const float> block, std::byte* numbers, std::byte* scale) {
    const float d = std::abs(largest(block)) / 127;
    put(scale, halfOf(d));
    for (size_t i = 0; i < block.size(); ++i)
        put(numbers + i, static_cast<int8_t>(std::clamp(d == 0 ? 0 : rounded(block[i] / d), -127, 127)));
}

/// The byte that holds a number of four bits, and whether it is in the high half.
std::pair<size_t, bool> placeOf(size_t index) {
    constexpr size_t kWords = 16; // of kTogether numbers, eight to a word
    const size_t within = index % kTogether, word = index / kTogether * kWords + within % kWords,
                 nibble = within / kWords;
    return {word * 4 + nibble / 2, nibble % 2 == 1};
}
void putNibble(std::byte* numbers, size_t index, int value) {
    const auto [at, isHigh] = placeOf(index);
    numbers[at] |= static_cast<std::byte>(isHigh ? value << 4 : value);
}
int nibbleOf(const std::byte* numbers, size_t index) {
    const auto [at, isHigh] = placeOf(index);
    const int both = std::to_integer<int>(numbers[at]);
    return isHigh ? both >> 4 : both & 15;
}

/// The largest number becomes -8, so its sign decides the sign of the scale.
void encode4(std::span<const float> row, size_t first, std::byte* numbers, std::byte* scale) {
    const std::span<const float> block = row.subspan(first, kBlock);
    const float d = largest(block) / -8;
    put(scale, halfOf(d));
    for (size_t i = 0; i < block.size(); ++i)
        putNibble(numbers, first + i, std::clamp((d == 0 ? 0 : rounded(block[i] / d)) + 8, 0, 15));
}

/// Scale and offset that fit values = scale * q - offset for q of 0..15, by least squares over tried scales.
struct Fit {
    float scale = 0, offset = 0;
};
Fit fitOf(std::span<const float> part) {
    const auto [least, most] = std::minmax_element(part.begin(), part.end());
    const float low = std::min(*least, 0.0f), range = *most - low;
    if (range <= 0) return {0, -low};
    double sumX = 0, sumXX = 0;
    for (const float x : part) {
        sumX += static_cast<double>(x);
        sumXX += static_cast<double>(x) * static_cast<double>(x);
    }
    Fit best{range / 15, -low};
    double bestError = -1;
    const auto n = static_cast<double>(part.size());
    for (int trial = -1; trial <= 8; ++trial) { // scales near that of the range
        const float inverse = (14.0f + 0.15f * static_cast<float>(trial)) / range;
        int sumQ = 0, sumQQ = 0;
        double sumXQ = 0;
        for (const float x : part) {
            const int q = std::min(rounded((x - low) * inverse), 15);
            sumQ += q;
            sumQQ += q * q;
            sumXQ += static_cast<double>(x) * q;
        }
        const double divisor = n * sumQQ - static_cast<double>(sumQ) * sumQ;
        if (divisor <= 0) continue;
        double scale = (n * sumXQ - sumQ * sumX) / divisor, offset = (scale * sumQ - sumX) / n;
        if (offset < 0) { // an offset is stored without a sign
            offset = 0;
            scale = sumXQ / sumQQ;
        }
        if (scale <= 0) continue;
        const double error = scale * scale * sumQQ + n * offset * offset + sumXX - 2 * scale * offset * sumQ -
                             2 * scale * sumXQ + 2 * offset * sumX; // the squared error of scale * q - offset
        if (bestError >= 0 && error >= bestError) continue;
        bestError = error;
        best = {static_cast<float>(scale), static_cast<float>(offset)};
    }
    return best;
}

void encodeSuper(std::span<const float> row, size_t first, std::byte* numbers, std::byte* scales) {
    const std::span<const float> block = row.subspan(first, kSuperBlock);
    std::array<Fit, kParts> fits;
    float mostScale = 0, mostOffset = 0;
    for (size_t part = 0; part < kParts; ++part) {
        fits.at(part) = fitOf(block.subspan(part * kBlock, kBlock));
        mostScale = std::max(mostScale, fits.at(part).scale);
        mostOffset = std::max(mostOffset, fits.at(part).offset);
    }
    constexpr float kMost = 63; // the largest number of 6 bits
    put(scales, halfOf(mostScale / kMost));
    put(scales + 2, halfOf(mostOffset / kMost));
    const float d = floatOfHalf(get<uint16_t>(scales)), dmin = floatOfHalf(get<uint16_t>(scales + 2));
    for (size_t part = 0; part < kParts; ++part) {
        const int scale = std::clamp(d == 0 ? 0 : rounded(fits.at(part).scale / d), 0, 63);
        const int offset = std::clamp(dmin == 0 ? 0 : rounded(fits.at(part).offset / dmin), 0, 63);
        put(scales + 4 + part, static_cast<uint8_t>(scale));
        put(scales + 4 + kParts + part, static_cast<uint8_t>(offset));
        const float by = d * static_cast<float>(scale), less = dmin * static_cast<float>(offset);
        for (size_t i = part * kBlock; i < (part + 1) * kBlock; ++i)
            putNibble(numbers, first + i, std::clamp(by == 0 ? 0 : rounded((block[i] + less) / by), 0, 15));
    }
}

} // namespace

std::string_view storageName(Storage storage) { return kNames.at(static_cast<size_t>(storage)); }

std::optional<Storage> storageNamed(std::string_view name) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return {};
    return static_cast<Storage>(found - kNames.begin());
}

int64_t storageBlock(Storage storage) {
    return storage == Storage::F32 ? 1 : storage == Storage::Q4_K ? kSuperBlock : kBlock;
}

Storage storageFor(Storage wanted, int64_t columns) {
    if (columns % storageBlock(wanted) == 0) return wanted;
    return columns % kBlock == 0 ? Storage::Q8_0 : Storage::F32;
}

StoredRow storedRow(Storage storage, int64_t columns) {
    const auto row = [](int64_t numbers, int64_t scales) {
        return StoredRow{numbers, (numbers + scales + 15) / 16 * 16};
    };
    switch (storage) {
    case Storage::F32:
        return row((columns + 3) / 4 * 16, 0);
    case Storage::F16:
    case Storage::BF16:
        return row((columns + 3) / 4 * 8, 0);
    case Storage::Q8_0:
        return row(columns, columns / kBlock * 2);
    case Storage::Q4_0:
        return row((columns + kTogether - 1) / kTogether * (kTogether / 2), columns / kBlock * 2);
    case Storage::Q4_K:
        return row(columns / 2, columns / kSuperBlock * kSuperScales);
    }
    return {};
}

void encodeRow(Storage storage, std::span<const float> row, std::byte* out) {
    const StoredRow place = storedRow(storage, static_cast<int64_t>(row.size()));
    std::fill_n(out, place.bytes, std::byte{0});
    std::byte* scales = out + place.scalesAt;
    switch (storage) {
    case Storage::F32:
        std::memcpy(out, row.data(), row.size_bytes());
        break;
    case Storage::F16:
        for (size_t i = 0; i < row.size(); ++i) put(out + i * 2, halfOf(row[i]));
        break;
    case Storage::BF16:
        for (size_t i = 0; i < row.size(); ++i) put(out + i * 2, brainOf(row[i]));
        break;
    case Storage::Q8_0:
        for (size_t i = 0; i < row.size(); i += kBlock)
            encode8(row.subspan(i, kBlock), out + i, scales + i / kBlock * 2);
        break;
    case Storage::Q4_0:
        for (size_t i = 0; i < row.size(); i += kBlock) encode4(row, i, out, scales + i / kBlock * 2);
        break;
    case Storage::Q4_K:
        for (size_t i = 0; i < row.size(); i += kSuperBlock)
            encodeSuper(row, i, out, scales + i / kSuperBlock * kSuperScales);
        break;
    }
}

void decodeRow(Storage storage, const std::byte* in, std::span<float> row) {
    const std::byte* scales = in + storedRow(storage, static_cast<int64_t>(row.size())).scalesAt;
    for (size_t i = 0; i < row.size(); ++i) switch (storage) {
        case Storage::F32:
            row[i] = get<float>(in + i * 4);
            break;
        case Storage::F16:
            row[i] = floatOfHalf(get<uint16_t>(in + i * 2));
            break;
        case Storage::BF16:
            row[i] = floatOfBrain(get<uint16_t>(in + i * 2));
            break;
        case Storage::Q8_0:
            row[i] = floatOfHalf(get<uint16_t>(scales + i / kBlock * 2)) * static_cast<float>(get<int8_t>(in + i));
            break;
        case Storage::Q4_0:
            row[i] = floatOfHalf(get<uint16_t>(scales + i / kBlock * 2)) * static_cast<float>(nibbleOf(in, i) - 8);
            break;
        case Storage::Q4_K: {
            const std::byte* super = scales + i / kSuperBlock * kSuperScales;
            const size_t part = i % kSuperBlock / kBlock;
            row[i] =
                floatOfHalf(get<uint16_t>(super)) * static_cast<float>(get<uint8_t>(super + 4 + part)) *
                    static_cast<float>(nibbleOf(in, i)) -
                floatOfHalf(get<uint16_t>(super + 2)) * static_cast<float>(get<uint8_t>(super + 4 + kParts + part));
            break;
        }
        }
}

uint16_t halfOf(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const uint32_t size = bits & 0x7fffffff;
    if (size > 0x7f800000) return sign | 0x7e00;                     // not a number
    if (size >= 0x47800000) return sign | 0x7c00;                    // infinity, or too large
    if (size < 0x38800000) {                                         // a multiple of the smallest half
        const float multiple = std::bit_cast<float>(size) * 0x1p24f; // exact
        return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(multiple)));
    }
    const uint32_t even = size + 0xfff + (size >> 13 & 1);
    return static_cast<uint16_t>(sign | ((even - 0x38000000) >> 13));
}

float floatOfHalf(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = half >> 10 & 31, rest = half & 0x3ff;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | rest << 13);
    if (exponent == 0) {
        const float size = static_cast<float>(rest) * 0x1p-24f;
        return sign != 0 ? -size : size;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | rest << 13);
}

uint16_t brainOf(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float floatOfBrain(uint16_t brain) { return std::bit_cast<float>(static_cast<uint32_t>(brain) << 16); }

} // namespace attn
