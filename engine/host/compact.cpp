#include "engine/host/compact.h"

#include <array>
#include <cstring>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/compact.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

using Bytes = hn::Rebind<uint8_t, Floats>;
using SignedBytes = hn::Rebind<int8_t, Floats>;
using Integers = hn::RebindToSigned<Floats>;

constexpr int64_t kGroup = 32; ///< numbers that have one scale

HWY_ATTR HWY_INLINE Vector halves(const std::byte* from) {
    const hn::Rebind<hwy::float16_t, Floats> tag;
    return hn::PromoteTo(Floats(), hn::LoadU(tag, reinterpret_cast<const hwy::float16_t*>(from)));
}

HWY_ATTR HWY_INLINE Vector brains(const std::byte* from) {
    const hn::Rebind<hwy::bfloat16_t, Floats> tag;
    return hn::PromoteTo(Floats(), hn::LoadU(tag, reinterpret_cast<const hwy::bfloat16_t*>(from)));
}

HWY_ATTR HWY_INLINE Vector signedBytes(const std::byte* from) {
    const auto bytes = hn::LoadU(SignedBytes(), reinterpret_cast<const int8_t*>(from));
    return hn::ConvertTo(Floats(), hn::PromoteTo(Integers(), bytes));
}

/// @param isHigh the high halves of the bytes, else the low ones
HWY_ATTR HWY_INLINE Vector nibbles(const std::byte* from, bool isHigh) {
    const auto bytes = hn::PromoteTo(Integers(), hn::LoadU(Bytes(), reinterpret_cast<const uint8_t*>(from)));
    return hn::ConvertTo(Floats(), isHigh ? hn::ShiftRight<4>(bytes) : hn::And(bytes, hn::Set(Integers(), 15)));
}

/// Numbers [i, i + lanes) of a group, before their scale. i + lanes is at most 32, and vectors do not cross its middle.
template <Storage storage> HWY_ATTR HWY_INLINE Vector numbers(const std::byte* row, int64_t group, int64_t i) {
    if constexpr (storage == Storage::F16) return halves(row + (group * kGroup + i) * 2);
    if constexpr (storage == Storage::BF16) return brains(row + (group * kGroup + i) * 2);
    if constexpr (storage == Storage::Q8_0) return signedBytes(row + group * kGroup + i);
    constexpr int64_t kHalf = kGroup / 2;
    return nibbles(row + group * kHalf + i % kHalf, i >= kHalf);
}

/// Vectors of at most 16 floats, so that they do not cross the middle of a group.
HWY_ATTR HWY_INLINE int64_t laneCount() { return static_cast<int64_t>(hn::Lanes(Floats())); }

/// The factor of each group, and for offsets what is added to each of its numbers.
template <Storage storage>
HWY_ATTR HWY_INLINE void scalesOf(const std::byte* row, int64_t columns, float* factors, float* offsets) {
    const std::byte* scales = row + storedRow(storage, columns).scalesAt;
    const int64_t groups = columns / kGroup;
    if constexpr (storage == Storage::Q8_0 || storage == Storage::Q4_0) {
        int64_t i = 0;
        for (; i + laneCount() <= groups; i += laneCount()) {
            const Vector d = halves(scales + i * 2);
            hn::StoreU(d, Floats(), factors + i);
            if constexpr (storage == Storage::Q4_0) hn::StoreU(hn::Mul(d, constant(-8)), Floats(), offsets + i);
        }
        for (; i < groups; ++i) {
            uint16_t half = 0;
            std::memcpy(&half, scales + i * 2, sizeof(half));
            factors[i] = floatOfHalf(half);
            if constexpr (storage == Storage::Q4_0) offsets[i] = -8 * factors[i];
        }
    }
    if constexpr (storage == Storage::Q4_K) {
        constexpr int64_t kParts = 8, kBytes = 20;
        const hn::CappedTag<float, kParts> parts;
        const auto lanes = static_cast<int64_t>(hn::Lanes(parts));
        const hn::Rebind<uint8_t, decltype(parts)> bytes;
        const hn::RebindToSigned<decltype(parts)> integers;
        for (int64_t super = 0; super < groups / kParts; ++super) {
            const std::byte* at = scales + super * kBytes;
            std::array<uint16_t, 2> d;
            std::memcpy(d.data(), at, sizeof(d));
            const auto by = hn::Set(parts, floatOfHalf(d[0])), less = hn::Set(parts, -floatOfHalf(d[1]));
            const auto* sizes = reinterpret_cast<const uint8_t*>(at + 4);
            for (int64_t i = 0; i < kParts; i += lanes) {
                const auto factor = hn::ConvertTo(parts, hn::PromoteTo(integers, hn::LoadU(bytes, sizes + i)));
                const auto offset = hn::ConvertTo(parts, hn::PromoteTo(integers, hn::LoadU(bytes, sizes + kParts + i)));
                hn::StoreU(hn::Mul(factor, by), parts, factors + super * kParts + i);
                hn::StoreU(hn::Mul(offset, less), parts, offsets + super * kParts + i);
            }
        }
    }
}

constexpr bool hasFactors(Storage storage) { return storage != Storage::F16 && storage != Storage::BF16; }
constexpr bool hasOffsets(Storage storage) { return storage == Storage::Q4_0 || storage == Storage::Q4_K; }

/// Room for the scales of a row.
float* roomFor(int64_t groups, int which) {
    thread_local std::array<std::vector<float>, 3> rooms;
    std::vector<float>& room = rooms[static_cast<size_t>(which)];
    if (static_cast<int64_t>(room.size()) < groups) room.resize(static_cast<size_t>(groups) + 16);
    return room.data();
}

template <Storage storage> HWY_ATTR void widenAs(int64_t columns, const std::byte* row, float* out) {
    const int64_t groups = columns / kGroup;
    float *factors = roomFor(groups, 0), *offsets = roomFor(groups, 1);
    scalesOf<storage>(row, columns, factors, offsets);
    for (int64_t group = 0; group < groups; ++group)
        for (int64_t i = 0; i < kGroup; i += laneCount()) {
            Vector value = numbers<storage>(row, group, i);
            if constexpr (hasOffsets(storage))
                value = hn::MulAdd(value, hn::Set(Floats(), factors[group]), hn::Set(Floats(), offsets[group]));
            else if constexpr (hasFactors(storage))
                value = hn::Mul(value, hn::Set(Floats(), factors[group]));
            hn::StoreU(value, Floats(), out + group * kGroup + i);
        }
}

/// @param sums of each group of each row of x, which offsets multiply
template <Storage storage, int rows>
HWY_ATTR void productAs(const SkinnyProduct& p, const std::byte* w, int64_t begin, int64_t end, const float* sums) {
    const int64_t groups = p.K / kGroup, stride = storedRow(storage, p.K).bytes;
    float *factors = roomFor(groups, 0), *offsets = roomFor(groups, 1);
    for (int64_t n = begin; n < end; ++n) {
        const std::byte* row = w + n * stride;
        scalesOf<storage>(row, p.K, factors, offsets);
        Vector all[rows];
        for (int m = 0; m < rows; ++m) all[m] = hn::Zero(Floats());
        for (int64_t group = 0; group < groups; ++group) {
            Vector part[rows];
            for (int m = 0; m < rows; ++m) part[m] = hn::Zero(Floats());
            for (int64_t i = 0; i < kGroup; i += laneCount()) {
                const Vector value = numbers<storage>(row, group, i);
                for (int m = 0; m < rows; ++m)
                    part[m] = hn::MulAdd(value, hn::LoadU(Floats(), p.x + m * p.xStride + group * kGroup + i), part[m]);
            }
            for (int m = 0; m < rows; ++m)
                all[m] = hasFactors(storage) ? hn::MulAdd(part[m], hn::Set(Floats(), factors[group]), all[m])
                                             : hn::Add(all[m], part[m]);
        }
        for (int m = 0; m < rows; ++m) {
            if constexpr (hasOffsets(storage)) {
                const float* of = sums + m * groups;
                vectors(groups, [&](auto access, int64_t i) HWY_ATTR {
                    all[m] = hn::MulAdd(access.load(of + i), access.load(offsets + i), all[m]);
                });
            }
            p.out[m * p.outStride + n] = p.scale * sumOf(all[m]);
        }
    }
}

template <Storage storage>
HWY_ATTR void productOf(const SkinnyProduct& p, const std::byte* w, int64_t begin, int64_t end) {
    float* sums = nullptr;
    if constexpr (hasOffsets(storage)) {
        const int64_t groups = p.K / kGroup;
        sums = roomFor(p.rows * groups, 2);
        for (int64_t m = 0; m < p.rows; ++m)
            for (int64_t group = 0; group < groups; ++group) {
                Vector sum = hn::Zero(Floats());
                for (int64_t i = 0; i < kGroup; i += laneCount())
                    sum = hn::Add(sum, hn::LoadU(Floats(), p.x + m * p.xStride + group * kGroup + i));
                sums[m * groups + group] = sumOf(sum);
            }
    }
    switch (p.rows) {
    case 1:
        return productAs<storage, 1>(p, w, begin, end, sums);
    case 2:
        return productAs<storage, 2>(p, w, begin, end, sums);
    case 3:
        return productAs<storage, 3>(p, w, begin, end, sums);
    default:
        return productAs<storage, 4>(p, w, begin, end, sums);
    }
}

void widenV(Storage storage, int64_t columns, const std::byte* row, float* out) {
    switch (storage) {
    case Storage::F32:
        std::memcpy(out, row, static_cast<size_t>(columns) * sizeof(float));
        return;
    case Storage::F16:
        return widenAs<Storage::F16>(columns, row, out);
    case Storage::BF16:
        return widenAs<Storage::BF16>(columns, row, out);
    case Storage::Q8_0:
        return widenAs<Storage::Q8_0>(columns, row, out);
    case Storage::Q4_0:
        return widenAs<Storage::Q4_0>(columns, row, out);
    case Storage::Q4_K:
        return widenAs<Storage::Q4_K>(columns, row, out);
    }
}

void compactProductV(const SkinnyProduct& product, Storage storage, const std::byte* w, int64_t begin, int64_t end) {
    switch (storage) {
    case Storage::F32:
        return; // skinnyProduct()
    case Storage::F16:
        return productOf<Storage::F16>(product, w, begin, end);
    case Storage::BF16:
        return productOf<Storage::BF16>(product, w, begin, end);
    case Storage::Q8_0:
        return productOf<Storage::Q8_0>(product, w, begin, end);
    case Storage::Q4_0:
        return productOf<Storage::Q4_0>(product, w, begin, end);
    case Storage::Q4_K:
        return productOf<Storage::Q4_K>(product, w, begin, end);
    }
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(widenV);
HWY_EXPORT(compactProductV);

void widen(Storage storage, int64_t columns, const std::byte* row, float* out) {
    HWY_DYNAMIC_DISPATCH(widenV)(storage, columns, row, out);
}
void compactProduct(const SkinnyProduct& product, Storage storage, const std::byte* w, int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(compactProductV)(product, storage, w, begin, end);
}

} // namespace attn::host
#endif
