#include "engine/host/integer_product.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/host/integer_kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <immintrin.h>

#define ATTN_INTEGERS __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,f16c")))

namespace attn::host {
namespace {

using Super = IntegerRows::Super;
constexpr int64_t kGroups = IntegerRows::kGroups, kSuper = IntegerRows::kSuper, kBundle = IntegerRows::kBundle;
constexpr int kDigitBits = IntegerRows::kDigitBits;

ATTN_INTEGERS inline __m512i load(const void* from) { return _mm512_loadu_si512(from); }

/// How the lanes of a vector belong to groups.
struct Lanes {
    __m512i transposed;    ///< of bytes of four words: those of a group together
    __m512i groups[2];     ///< of each lane, in the first and the second 128 numbers
    __m512i scaleOrOffset; ///< 0 in eight lanes, then 1
    __m512i twice;         ///< 0 to 7 in eight lanes, then again
    ATTN_INTEGERS Lanes() {
        alignas(64) std::array<int8_t, 64> bytes;
        alignas(64) std::array<int32_t, 16> group;
        for (size_t i = 0; i < 64; ++i) bytes[i] = static_cast<int8_t>(i % 4 * 4 + i / 4 % 4);
        for (size_t i = 0; i < 16; ++i) group[i] = static_cast<int32_t>(i % 4);
        transposed = load(bytes.data());
        groups[0] = load(group.data());
        groups[1] = _mm512_add_epi32(groups[0], _mm512_set1_epi32(4));
        for (size_t i = 0; i < 16; ++i) group[i] = static_cast<int32_t>(i / 8);
        scaleOrOffset = load(group.data());
        for (size_t i = 0; i < 16; ++i) group[i] = static_cast<int32_t>(i % 8);
        twice = load(group.data());
    }
};

/// The factors of the scales of eight groups, then those of their offsets.
template <Storage storage>
ATTN_INTEGERS inline __m512 factorsOf(const std::byte* scales, int64_t super, const Lanes& lanes) {
    if constexpr (storage == Storage::Q4_0) { // numbers from -8 on
        const auto* halves = reinterpret_cast<const __m128i*>(scales) + super;
        const __m512 both =
            _mm512_permutexvar_ps(lanes.twice, _mm512_castps256_ps512(_mm256_cvtph_ps(_mm_loadu_si128(halves))));
        return _mm512_mask_mul_ps(both, 0xff00, both, _mm512_set1_ps(8));
    }
    constexpr int64_t kBytes = 20;
    int32_t two = 0; // both factors, as f16
    std::memcpy(&two, scales + super * kBytes, sizeof(two));
    const auto* sizes = reinterpret_cast<const __m128i*>(scales + super * kBytes + sizeof(two));
    const __m512 by = _mm512_castps128_ps512(_mm_cvtph_ps(_mm_cvtsi32_si128(two)));
    return _mm512_mul_ps(_mm512_permutexvar_ps(lanes.scaleOrOffset, by),
                         _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(sizes))));
}

/// The sum of the lanes of each of four vectors.
ATTN_INTEGERS inline __m128 sumsOf(__m512 a, __m512 b, __m512 c, __m512 d) {
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)),
                 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)),
                 all = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(1, 0, 1, 0)),
                                     _mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(3, 2, 3, 2)));
    const __m256 half =
        _mm256_add_ps(_mm512_castps512_ps256(all), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(all), 1)));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/// `rows` of x against `count` rows of weights from row n on.
template <Storage storage, int rows, int count>
ATTN_INTEGERS inline void multiply(const SkinnyProduct& p, const IntegerRows& x, const std::byte* w,
                                   const StoredRow& place, int64_t n, const Lanes& lanes) {
    const std::byte* first = w + n * place.bytes;
    const __m512i low = _mm512_set1_epi8(15);
    fetchAhead(first + count * place.scalesAt, count * (place.bytes - place.scalesAt));
    __m512 sums[rows][count];
    for (auto& row : sums)
        for (__m512& sum : row) sum = _mm512_setzero_ps();
    const int64_t each = p.K / kSuper;
    for (int64_t super = 0; super < each; ++super) {
        const Super* ofRows = x.supers.data() + super;
        __m512 factors[rows][count];
        for (int c = 0; c < count; ++c) {
            const __m512 ofWeights = factorsOf<storage>(first + c * place.bytes + place.scalesAt, super, lanes);
            for (int m = 0; m < rows; ++m) {
                factors[m][c] = _mm512_mul_ps(ofWeights, _mm512_load_ps(ofRows[m * each].factors.data()));
                sums[m][c] = _mm512_mask_add_ps(sums[m][c], 0xff00, sums[m][c], factors[m][c]); // offsets
            }
        }
        for (int64_t bundle = 0; bundle < 2; ++bundle) {
            const int64_t at = super * kSuper + bundle * kBundle;
            fetchAhead(first + count * at / 2, count * kBundle / 2);
            __m512i half[2][count];
            for (int c = 0; c < count; ++c) {
                const __m512i both = _mm512_shuffle_epi8(load(first + c * place.bytes + at / 2), lanes.transposed);
                half[0][c] = _mm512_and_si512(both, low);
                half[1][c] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
            }
            for (int m = 0; m < rows; ++m) {
                __m512i sum[count];
                for (__m512i& ofColumn : sum) ofColumn = _mm512_setzero_si512();
                for (const auto& digit : ofRows[m * each].digits[static_cast<size_t>(bundle)]) {
                    const __m512i halfOfRow[2] = {load(digit.data()), load(digit.data() + kBundle / 2)};
                    for (int c = 0; c < count; ++c) {
                        sum[c] = _mm512_slli_epi32(sum[c], kDigitBits);
                        sum[c] = _mm512_dpbusd_epi32(sum[c], half[0][c], halfOfRow[0]);
                        sum[c] = _mm512_dpbusd_epi32(sum[c], half[1][c], halfOfRow[1]);
                    }
                }
                for (int c = 0; c < count; ++c)
                    sums[m][c] =
                        _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[c]),
                                        _mm512_permutexvar_ps(lanes.groups[bundle], factors[m][c]), sums[m][c]);
            }
        }
    }
    for (int m = 0; m < rows; ++m) { // added in the same order for each count
        const auto& of = sums[m];
        const __m128 four = sumsOf(of[0], of[1 % count], of[2 % count], of[3 % count]);
        alignas(16) float out[4];
        _mm_store_ps(out, _mm_mul_ps(four, _mm_set1_ps(p.scale)));
        std::copy_n(out, count, p.out + m * p.outStride + n);
    }
}

struct Avx512 {
    template <Storage storage, int rows>
    ATTN_INTEGERS static void multiply(const IntegerFactors& f, int64_t begin, int64_t end) {
        constexpr int kTogether = rows == 1 ? 4 : 2; // wait less for each other's sums; more need more registers
        const Lanes lanes;
        int64_t n = begin;
        for (; n + kTogether <= end; n += kTogether)
            host::multiply<storage, rows, kTogether>(f.product, f.x, f.w, f.place, n, lanes);
        for (; n < end; ++n) host::multiply<storage, rows, 1>(f.product, f.x, f.w, f.place, n, lanes);
    }
};

} // namespace

void integerProduct(IntegerInstructions instructions, const SkinnyProduct& product, Storage storage,
                    const IntegerRows& rows, const std::byte* w, int64_t begin, int64_t end) {
    const IntegerFactors factors{product, rows, w, storage};
    if (instructions == IntegerInstructions::Avx2)
        multiplyWithAvx2(factors, begin, end);
    else
        multiplyWith<Avx512>(factors, begin, end);
}

} // namespace attn::host

#else

namespace attn::host {

void integerProduct(IntegerInstructions, const SkinnyProduct&, Storage, const IntegerRows&, const std::byte*, int64_t,
                    int64_t) {}

} // namespace attn::host

#endif
