#include "engine/host/compact.h"

#include "engine/host/copy.h"
#include "engine/host/fetch.h"
#include "engine/host/integer_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
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

// Lambdas do not inherit the target of the function around them.
#undef ATTN_INLINE
#define ATTN_INLINE HWY_ATTR __attribute__((always_inline))

constexpr int64_t kGroup = 32;   ///< numbers that have one scale
constexpr int64_t kTogether = 4; ///< groups whose numbers of four bits lie in the same words
constexpr int64_t kWords = 16;   ///< of such groups

constexpr bool isHalfBytes(Storage storage) { return storage == Storage::Q4_0 || storage == Storage::Q4_K; }
constexpr bool hasOffsets(Storage storage) { return storage == Storage::Q4_K; }
constexpr bool hasFactors(Storage storage) { return storage != Storage::F16 && storage != Storage::BF16; }

HWY_ATTR HWY_INLINE int64_t laneCount() { return static_cast<int64_t>(hn::Lanes(Floats())); }

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

/// The numbers in half byte `index` of each word.
template <Storage storage, int index> HWY_ATTR HWY_INLINE Vector halfBytes(hn::Vec<Integers> words) {
    constexpr int kLeast = storage == Storage::Q4_0 ? -8 : 0;
    const auto shifted = hn::ShiftRight<index * 4>(words);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL // a table of 16 floats reads the low four bits of its index
    return hn::TableLookupLanes(hn::ConvertTo(Floats(), hn::Iota(Integers(), kLeast)),
                                hn::Indices512<float>{shifted.raw});
#else
    const auto numbers = hn::And(shifted, hn::Set(Integers(), 15));
    return hn::ConvertTo(Floats(), hn::Add(numbers, hn::Set(Integers(), kLeast)));
#endif
}

/// Calls function(constant) for 0, 1 ... count - 1.
template <typename Function, int... indices>
HWY_ATTR HWY_INLINE void each(const Function& function, std::integer_sequence<int, indices...>) {
    (function(std::integral_constant<int, indices>()), ...);
}

/// The bytes of the numbers of `groups` groups, at most four.
template <Storage storage> constexpr int64_t bytesOf(int64_t groups) {
    return isHalfBytes(storage) ? kWords * 4 : groups * kGroup * (hasFactors(storage) ? 1 : 2);
}

/// Calls body(group, i, numbers) for `count` groups with the numbers from group * 32 + i on, before they are scaled.
/// @param row where the groups begin
template <Storage storage, int count, typename Body>
HWY_ATTR HWY_INLINE void overGroups(const std::byte* row, const Body& body) {
    const int64_t lanes = laneCount();
    if constexpr (isHalfBytes(storage)) {
        for (int64_t part = 0; part < kWords; part += lanes) {
            const auto words = hn::LoadU(Integers(), reinterpret_cast<const int32_t*>(row) + part);
            each(
                [&](auto index) HWY_ATTR {
                    body(index.value / 2, index.value % 2 * kWords + part, halfBytes<storage, index.value>(words));
                },
                std::make_integer_sequence<int, 2 * count>());
        }
    } else {
        each(
            [&](auto group) ATTN_INLINE {
                for (int64_t i = 0; i < kGroup; i += lanes) {
                    const int64_t at = group.value * kGroup + i;
                    if constexpr (storage == Storage::F16) body(group.value, i, halves(row + at * 2));
                    if constexpr (storage == Storage::BF16) body(group.value, i, brains(row + at * 2));
                    if constexpr (storage == Storage::Q8_0) body(group.value, i, signedBytes(row + at));
                }
            },
            std::make_integer_sequence<int, count>());
    }
}

/// Calls body(constant count, first group, its place) for each four groups of a row, and for the remaining ones.
template <Storage storage, typename Body>
HWY_ATTR HWY_INLINE void overBundles(const std::byte* row, int64_t groups, const Body& body) {
    constexpr int64_t kBytes = bytesOf<storage>(kTogether);
    int64_t first = 0;
    for (; first + kTogether <= groups; first += kTogether, row += kBytes)
        body(std::integral_constant<int, 4>(), first, row);
    if (groups - first == 3) body(std::integral_constant<int, 3>(), first, row);
    if (groups - first == 2) body(std::integral_constant<int, 2>(), first, row);
    if (groups - first == 1) body(std::integral_constant<int, 1>(), first, row);
}

/// The factor of each group, and for q4_k its offset, which is added to each number. Writes whole vectors of four.
template <Storage storage>
HWY_ATTR HWY_INLINE void scalesOf(const std::byte* scales, int64_t groups, float* factors, float* offsets) {
    const hn::CappedTag<float, 4> four;
    const hn::Rebind<hwy::float16_t, decltype(four)> halfOfFour;
    const hn::Rebind<uint8_t, decltype(four)> bytes;
    const hn::RebindToSigned<decltype(four)> integers;
    const auto lanes = static_cast<int64_t>(hn::Lanes(four));
    const auto load = [&](const std::byte* from) ATTN_INLINE {
        return hn::PromoteTo(four, hn::LoadU(halfOfFour, reinterpret_cast<const hwy::float16_t*>(from)));
    };
    if constexpr (storage == Storage::Q8_0 || storage == Storage::Q4_0)
        for (int64_t i = 0; i < groups; i += lanes) // rows are padded to 16 bytes, so that no load leaves the row
            hn::StoreU(load(scales + i * 2), four, factors + i);
    if constexpr (storage == Storage::Q4_K) {
        constexpr int64_t kParts = 8, kBytes = 20;
        for (int64_t super = 0; super < groups / kParts; ++super) {
            const std::byte* at = scales + super * kBytes;
            const auto by = hn::Set(four, hn::GetLane(load(at))),
                       less = hn::Neg(hn::Set(four, hn::GetLane(load(at + 2))));
            const auto* sizes = reinterpret_cast<const uint8_t*>(at + 4);
            for (int64_t i = 0; i < kParts; i += lanes) {
                const auto factor = hn::ConvertTo(four, hn::PromoteTo(integers, hn::LoadU(bytes, sizes + i)));
                const auto offset = hn::ConvertTo(four, hn::PromoteTo(integers, hn::LoadU(bytes, sizes + kParts + i)));
                hn::StoreU(hn::Mul(factor, by), four, factors + super * kParts + i);
                hn::StoreU(hn::Mul(offset, less), four, offsets + super * kParts + i);
            }
        }
    }
}

/// Room for the scales of some rows.
float* roomFor(int64_t count, int which) {
    thread_local std::array<std::vector<float>, 2> rooms;
    std::vector<float>& room = rooms[static_cast<size_t>(which)];
    if (static_cast<int64_t>(room.size()) < count + 16) room.resize(static_cast<size_t>(count) + 16);
    return room.data();
}

/// Numbers times their factor, plus what is added to each.
template <Storage storage> HWY_ATTR HWY_INLINE Vector scaled(Vector numbers, const float* factor, const float* offset) {
    if constexpr (hasOffsets(storage))
        return hn::MulAdd(numbers, hn::Set(Floats(), *factor), hn::Set(Floats(), *offset));
    else if constexpr (hasFactors(storage))
        return hn::Mul(numbers, hn::Set(Floats(), *factor));
    else
        return numbers;
}

template <Storage storage> HWY_ATTR void widenAs(int64_t columns, const std::byte* row, float* out) {
    const int64_t groups = columns / kGroup;
    float *factors = roomFor(groups, 0), *offsets = roomFor(groups, 1);
    scalesOf<storage>(row + storedRow(storage, columns).scalesAt, groups, factors, offsets);
    overBundles<storage>(row, groups, [&](auto count, int64_t first, const std::byte* from) ATTN_INLINE {
        overGroups<storage, decltype(count)::value>(from, [&](int64_t group, int64_t i, Vector value) ATTN_INLINE {
            hn::StoreU(scaled<storage>(value, factors + first + group, offsets + first + group), Floats(),
                       out + (first + group) * kGroup + i);
        });
    });
}

/// Widens a few groups of all rows at once, so that they are still in the first cache when they are transposed.
template <Storage storage>
HWY_ATTR void widenTransposedAs(int64_t rows, int64_t columns, const std::byte* stored, float* out, int64_t stride) {
    constexpr int64_t kRows = 16, kStep = kTogether * kGroup + 16; // kStep: no multiple of what the cache confuses
    const int64_t groups = columns / kGroup, room = (groups + 3) / 4 * 4;
    const StoredRow place = storedRow(storage, columns);
    float *factors = roomFor(kRows * room, 0), *offsets = roomFor(kRows * room, 1);
    alignas(64) float few[kRows * kStep];
    for (int64_t done = 0; done < rows; done += kRows, stored += kRows * place.bytes, out += kRows) {
        const int64_t some = std::min(kRows, rows - done);
        for (int64_t row = 0; row < some; ++row) {
            const std::byte* scales = stored + row * place.bytes + place.scalesAt;
            scalesOf<storage>(scales, groups, factors + row * room, offsets + row * room);
            fetch(scales + kRows * place.bytes, place.bytes - place.scalesAt);
        }
        overBundles<storage>(stored, groups, [&](auto count, int64_t first, const std::byte* from) ATTN_INLINE {
            constexpr int kCount = decltype(count)::value;
            for (int64_t row = 0; row < some; ++row, from += place.bytes) {
                fetch(from + kRows * place.bytes, bytesOf<storage>(kCount));
                const float *factor = factors + row * room + first, *offset = offsets + row * room + first;
                overGroups<storage, kCount>(from, [&](int64_t group, int64_t i, Vector value) ATTN_INLINE {
                    hn::StoreU(scaled<storage>(value, factor + group, offset + group), Floats(),
                               few + row * kStep + group * kGroup + i);
                });
            }
            transpose(kCount * kGroup, some, few, kStep, out + first * kGroup * stride, stride);
        });
    }
}

/// @param sums of each group of each row of x, which offsets multiply
template <Storage storage, int rows>
HWY_ATTR void productAs(const SkinnyProduct& p, const std::byte* w, int64_t begin, int64_t end, const float* sums) {
    const int64_t groups = p.K / kGroup;
    const StoredRow place = storedRow(storage, p.K);
    float *factors = roomFor(groups, 0), *offsets = roomFor(groups, 1);
    fetch(w + begin * place.bytes, std::min(kFetchAhead, (end - begin) * place.bytes));
    for (int64_t n = begin; n < end; ++n) {
        const std::byte* row = w + n * place.bytes;
        fetchAhead(row + place.scalesAt, place.bytes - place.scalesAt);
        scalesOf<storage>(row + place.scalesAt, groups, factors, offsets);
        Vector all[rows][2]; // two sums each, because an addition waits for the one before
        for (int m = 0; m < rows; ++m) all[m][0] = all[m][1] = hn::Zero(Floats());
        overBundles<storage>(row, groups, [&](auto count, int64_t first, const std::byte* from) ATTN_INLINE {
            constexpr int kCount = decltype(count)::value;
            Vector part[kCount][rows];
            for (int group = 0; group < kCount; ++group)
                for (int m = 0; m < rows; ++m) part[group][m] = hn::Zero(Floats());
            const float* x = p.x + first * kGroup;
            fetchAhead(from, bytesOf<storage>(kCount));
            overGroups<storage, kCount>(from, [&](int64_t group, int64_t i, Vector value) ATTN_INLINE {
                for (int m = 0; m < rows; ++m)
                    part[group][m] =
                        hn::MulAdd(value, hn::LoadU(Floats(), x + m * p.xStride + group * kGroup + i), part[group][m]);
            });
            for (int group = 0; group < kCount; ++group)
                for (int m = 0; m < rows; ++m) {
                    Vector& sum = all[m][group % 2];
                    sum = hasFactors(storage)
                              ? hn::MulAdd(part[group][m], hn::Set(Floats(), factors[first + group]), sum)
                              : hn::Add(sum, part[group][m]);
                }
        });
        for (int m = 0; m < rows; ++m) {
            Vector sum = hn::Add(all[m][0], all[m][1]);
            if constexpr (hasOffsets(storage)) {
                const float* of = sums + m * groups;
                vectors(groups, [&](auto access, int64_t i)
                                    HWY_ATTR { sum = hn::MulAdd(access.load(of + i), access.load(offsets + i), sum); });
            }
            p.out[m * p.outStride + n] = p.scale * sumOf(sum);
        }
    }
}

void groupSumsV(const SkinnyProduct& p, float* sums) {
    for (int64_t m = 0; m < p.rows; ++m)
        for (int64_t group = 0; group < p.K / kGroup; ++group) {
            Vector sum = hn::Zero(Floats());
            for (int64_t i = 0; i < kGroup; i += laneCount())
                sum = hn::Add(sum, hn::LoadU(Floats(), p.x + m * p.xStride + group * kGroup + i));
            sums[m * (p.K / kGroup) + group] = sumOf(sum);
        }
}

template <Storage storage>
HWY_ATTR void productOf(const SkinnyProduct& p, const float* sums, const std::byte* w, int64_t begin, int64_t end) {
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

/// Calls body(constant storage), for storages of fewer bits than f32.
template <typename Body> HWY_ATTR void withStorage(Storage storage, const Body& body) {
    switch (storage) {
    case Storage::F32:
        return;
    case Storage::F16:
        return body(std::integral_constant<Storage, Storage::F16>());
    case Storage::BF16:
        return body(std::integral_constant<Storage, Storage::BF16>());
    case Storage::Q8_0:
        return body(std::integral_constant<Storage, Storage::Q8_0>());
    case Storage::Q4_0:
        return body(std::integral_constant<Storage, Storage::Q4_0>());
    case Storage::Q4_K:
        return body(std::integral_constant<Storage, Storage::Q4_K>());
    }
}

void widenV(Storage storage, int64_t columns, const std::byte* row, float* out) {
    if (storage == Storage::F32) std::memcpy(out, row, static_cast<size_t>(columns) * sizeof(float));
    withStorage(storage, [&](auto kept) HWY_ATTR { widenAs<kept.value>(columns, row, out); });
}

/// widenTransposed() of floats, whose rows have any length.
void floatsTransposed(int64_t rows, int64_t columns, const float* w, float* out, int64_t stride) {
    constexpr int64_t kRows = 16, kColumns = 128; // at once
    const int64_t step = (columns + 3) / 4 * 4;
    for (int64_t row = 0; row < rows; row += kRows)
        for (int64_t column = 0; column < columns; column += kColumns) {
            const int64_t someRows = std::min(kRows, rows - row), some = std::min(kColumns, columns - column);
            const float* from = w + row * step + column;
            for (int64_t next = kRows; next < 2 * kRows; ++next)
                fetch(reinterpret_cast<const std::byte*>(from + next * step), some * 4);
            transpose(some, someRows, from, step, out + column * stride + row, stride);
        }
}

void widenTransposedV(Storage storage, int64_t rows, int64_t columns, const std::byte* stored, float* out,
                      int64_t stride) {
    if (storage == Storage::F32)
        return floatsTransposed(rows, columns, reinterpret_cast<const float*>(stored), out, stride);
    withStorage(storage,
                [&](auto kept) HWY_ATTR { widenTransposedAs<kept.value>(rows, columns, stored, out, stride); });
}

/// @pre storage is not f32, whose products skinnyProduct() computes
void compactProductV(const SkinnyProduct& product, Storage storage, const float* sums, const std::byte* w,
                     int64_t begin, int64_t end) {
    withStorage(storage, [&](auto kept) HWY_ATTR { productOf<kept.value>(product, sums, w, begin, end); });
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(widenV);
HWY_EXPORT(widenTransposedV);
HWY_EXPORT(groupSumsV);
HWY_EXPORT(compactProductV);

void widen(Storage storage, int64_t columns, const std::byte* row, float* out) {
    HWY_DYNAMIC_DISPATCH(widenV)(storage, columns, row, out);
}
void widenTransposed(Storage storage, int64_t rows, int64_t columns, const std::byte* stored, float* out,
                     int64_t stride) {
    HWY_DYNAMIC_DISPATCH(widenTransposedV)(storage, rows, columns, stored, out, stride);
}
void groupSums(const SkinnyProduct& product, std::vector<float>& sums) {
    sums.resize(static_cast<size_t>(product.rows * product.K / storageBlock(Storage::Q4_0)));
    HWY_DYNAMIC_DISPATCH(groupSumsV)(product, sums.data());
}
void prepareRows(const SkinnyProduct& product, Storage storage, CompactRows& rows) {
    rows.isInteger = (storage == Storage::Q4_0 || storage == Storage::Q4_K) && splitRows(product, rows.integers);
    if (!rows.isInteger && storage == Storage::Q4_K) groupSums(product, rows.sums);
}
void compactProduct(const SkinnyProduct& product, Storage storage, const CompactRows& rows, const std::byte* w,
                    int64_t begin, int64_t end) {
    if (rows.isInteger)
        return integerProduct(integerInstructions().front(), product, storage, rows.integers, w, begin, end);
    HWY_DYNAMIC_DISPATCH(compactProductV)(product, storage, rows.sums.data(), w, begin, end);
}

} // namespace attn::host
#endif
