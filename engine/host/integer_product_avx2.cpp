#include "engine/host/integer_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cstring>

#include <immintrin.h>

#define ATTN_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace attn::host {
namespace {

using Super = IntegerRows::Super;
constexpr int64_t kGroups = IntegerRows::kGroups, kSuper = IntegerRows::kSuper, kBundle = kSuper / 2;
constexpr int kDigits = IntegerRows::kDigits, kDigitBits = IntegerRows::kDigitBits;

ATTN_AVX2 inline __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

/// The factors of the numbers of eight groups, and the offsets that are subtracted.
struct Factors {
    __m256 scales, offsets;
};
ATTN_AVX2 inline __m256 eightBytes(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
template <Storage storage> ATTN_AVX2 inline Factors factorsOf(const std::byte* scales, int64_t super) {
    if constexpr (storage == Storage::Q4_0) { // numbers from -8 on
        const __m256 all = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(scales) + super));
        return {all, _mm256_mul_ps(all, _mm256_set1_ps(8))};
    }
    constexpr int64_t kBytes = 20;
    const std::byte* at = scales + super * kBytes;
    int32_t two = 0; // both factors, as f16
    std::memcpy(&two, at, sizeof(two));
    const __m128 by = _mm_cvtph_ps(_mm_cvtsi32_si128(two));
    return {_mm256_mul_ps(_mm256_broadcastss_ps(by), eightBytes(at + sizeof(two))),
            _mm256_mul_ps(_mm256_broadcastss_ps(_mm_movehdup_ps(by)), eightBytes(at + sizeof(two) + kGroups))};
}

/// The sums of each group of 128 numbers times a row of x, in two parts: groups 0 to 3, then groups 0 to 3 again.
ATTN_AVX2 inline __m256i groupSums(const __m256i (&numbers)[4], const Super& x, int64_t bundle) {
    __m256i all = _mm256_setzero_si256();
    for (int digit = 0; digit < kDigits; ++digit) {
        const int8_t* from = x.digits[static_cast<size_t>(digit)].data() + bundle * 32;
        __m256i sum = _mm256_maddubs_epi16(numbers[0], load(from)); // of eight products, each 15 * 64 at most
        for (int i = 1; i < 4; ++i) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(numbers[i], load(from + 64 * i)));
        const auto place = static_cast<int16_t>(1 << (kDigitBits * (kDigits - 1 - digit)));
        all = _mm256_add_epi32(all, _mm256_madd_epi16(sum, _mm256_set1_epi16(place)));
    }
    return all;
}

ATTN_AVX2 inline float sumOf(__m256 v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/// Multiplies `rows` rows of x with `count` rows of weights, beginning with row n.
template <Storage storage, int rows, int count> ATTN_AVX2 inline void multiplyRows(const IntegerFactors& f, int64_t n) {
    const SkinnyProduct& p = f.product;
    const std::byte* first = f.w + n * f.place.bytes;
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i transposed = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)); // bytes of words: those of a group together
    fetchAhead(first + count * f.place.scalesAt, count * (f.place.bytes - f.place.scalesAt));
    __m256 sums[count][rows];
    for (int c = 0; c < count; ++c)
        for (int m = 0; m < rows; ++m) sums[c][m] = _mm256_setzero_ps();
    const int64_t each = p.K / kSuper;
    for (int64_t super = 0; super < each; ++super) {
        const Super* x = f.x.supers.data() + super;
        fetchAhead(first + count * super * kSuper / 2, count * kSuper / 2);
        for (int c = 0; c < count; ++c) {
            const std::byte* w = first + c * f.place.bytes;
            const Factors ofWeights = factorsOf<storage>(w + f.place.scalesAt, super);
            __m256 factors[rows];
            for (int m = 0; m < rows; ++m) {
                const float* ofRow = x[m * each].factors.data();
                factors[m] = _mm256_mul_ps(ofWeights.scales, _mm256_load_ps(ofRow));
                sums[c][m] = _mm256_fmadd_ps(ofWeights.offsets, _mm256_load_ps(ofRow + kGroups), sums[c][m]);
            }
#pragma GCC unroll 2 // without it, q4_k takes a quarter longer
            for (int64_t bundle = 0; bundle < 2; ++bundle) {
                const std::byte* from = w + (super * kSuper + bundle * kBundle) / 2;
                __m256i numbers[4];
                for (int i = 0; i < 2; ++i) {
                    const __m256i both = _mm256_shuffle_epi8(load(from + 32 * i), transposed);
                    numbers[i] = _mm256_and_si256(both, low);
                    numbers[2 + i] = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
                }
                for (int m = 0; m < rows; ++m) {
                    const __m256 by = bundle == 0 ? _mm256_permute2f128_ps(factors[m], factors[m], 0x00)
                                                  : _mm256_permute2f128_ps(factors[m], factors[m], 0x11);
                    sums[c][m] =
                        _mm256_fmadd_ps(_mm256_cvtepi32_ps(groupSums(numbers, x[m * each], bundle)), by, sums[c][m]);
                }
            }
        }
    }
    for (int c = 0; c < count; ++c)
        for (int m = 0; m < rows; ++m) p.out[m * p.outStride + n + c] = p.scale * sumOf(sums[c][m]);
}

struct Avx2 {
    template <Storage storage, int rows>
    ATTN_AVX2 static void multiply(const IntegerFactors& f, int64_t begin, int64_t end) {
        constexpr int kCount = rows == 1 ? 2 : 1; // more sums at once do not fit into the registers
        int64_t n = begin;
        for (; n + kCount <= end; n += kCount) multiplyRows<storage, rows, kCount>(f, n);
        if (n < end) multiplyRows<storage, rows, 1>(f, n);
    }
};

} // namespace

void multiplyWithAvx2(const IntegerFactors& factors, int64_t begin, int64_t end) {
    multiplyWith<Avx2>(factors, begin, end);
}

} // namespace attn::host

#endif
