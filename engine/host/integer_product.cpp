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
constexpr int64_t kSuper = IntegerRows::kSuper;
constexpr int kDigits = IntegerRows::kDigits, kDigitBits = IntegerRows::kDigitBits;

ATTN_INTEGERS inline __m512i load(const void* from) { return _mm512_loadu_si512(from); }

/// How the lanes of a vector belong to groups.
struct Lanes {
    __m512i transposed;    ///< order of the bytes of four words: those of a group together
    __m512i groups;        ///< group of each lane of the sums
    __m512i scaleOrOffset; ///< 0 in eight lanes, then 1
    __m512i twice;         ///< 0 to 7 in eight lanes, then again
    ATTN_INTEGERS Lanes() {
        alignas(64) std::array<int8_t, 64> bytes;
        alignas(64) std::array<int32_t, 16> group;
        for (size_t i = 0; i < 64; ++i) bytes[i] = static_cast<int8_t>(i % 4 * 4 + i / 4 % 4);
        transposed = load(bytes.data());
        for (size_t i = 0; i < 16; ++i) group[i] = static_cast<int32_t>(i / 8 * 4 + i % 4);
        groups = load(group.data());
        for (size_t i = 0; i < 16; ++i) group[i] = static_cast<int32_t>(i / 8);
        scaleOrOffset = load(group.data());
        for (size_t i = 0; i < 16; ++i) group[i] = static_cast<int32_t>(i % 8);
        twice = load(group.data());
    }
};

/// The scales of eight groups as factors, then their offsets.
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

/// Half of the bytes of 256 numbers: those of words 8 * half to 8 * half + 7 of the first 128, then of the other 128.
/// In each lane, the bytes of a group.
ATTN_INTEGERS inline __m512i bytesOf(const std::byte* numbers, int half, const Lanes& lanes) {
    const auto* from = reinterpret_cast<const __m256i*>(numbers) + half;
    const __m512i first = _mm512_castsi256_si512(_mm256_loadu_si256(from));
    return _mm512_shuffle_epi8(_mm512_mask_broadcast_i64x4(first, 0xf0, _mm256_loadu_si256(from + 2)),
                               lanes.transposed);
}

/// The lower half bytes, or the higher ones.
ATTN_INTEGERS inline __m512i numbersOf(__m512i bytes, bool high) {
    return _mm512_and_si512(high ? _mm512_srli_epi16(bytes, 4) : bytes, _mm512_set1_epi8(15));
}

/// The sums of eight groups of `count` rows of weights times one row of x, each in two lanes. Each digit has separate
/// sums until the end: they wait less for each other, and the numbers are needed only once.
template <int count>
ATTN_INTEGERS inline void multiplyGroups(const std::byte* w, int64_t stride, const Super& x, const Lanes& lanes,
                                         __m512i (&sums)[count]) {
    __m512i ofDigits[kDigits][count];
    for (auto& ofDigit : ofDigits)
        for (__m512i& sum : ofDigit) sum = _mm512_setzero_si512();
    for (int half = 0; half < 2; ++half) {
        __m512i bytes[count];
        for (int c = 0; c < count; ++c) bytes[c] = bytesOf(w + c * stride, half, lanes);
        for (int high = 0; high < 2; ++high)
            for (int c = 0; c < count; ++c) {
                const __m512i numbers = numbersOf(bytes[c], high == 1);
                for (size_t digit = 0; digit < kDigits; ++digit)
                    ofDigits[digit][c] = _mm512_dpbusd_epi32(ofDigits[digit][c], numbers,
                                                             load(x.digits[digit].data() + (2 * high + half) * 64));
            }
    }
    for (int c = 0; c < count; ++c) {
        sums[c] = ofDigits[0][c];
        for (int digit = 1; digit < kDigits; ++digit)
            sums[c] = _mm512_add_epi32(_mm512_slli_epi32(sums[c], kDigitBits), ofDigits[digit][c]);
    }
}

/// Multiplies `rows` rows of x, which are `each` * 256 numbers apart.
template <int rows, int count>
ATTN_INTEGERS inline void multiplyGroups(const std::byte* w, int64_t stride, const Super* x, int64_t each,
                                         const Lanes& lanes, __m512i (&sums)[rows][count]) {
    if constexpr (rows == 1) return multiplyGroups(w, stride, *x, lanes, sums[0]);
    __m512i numbers[4][count];
    for (int half = 0; half < 2; ++half)
        for (int c = 0; c < count; ++c) {
            const __m512i bytes = bytesOf(w + c * stride, half, lanes);
            for (int high = 0; high < 2; ++high) numbers[2 * high + half][c] = numbersOf(bytes, high == 1);
        }
    for (int m = 0; m < rows; ++m) {
        auto& sum = sums[m];
        for (__m512i& ofColumn : sum) ofColumn = _mm512_setzero_si512();
        for (const auto& digit : x[m * each].digits) {
            for (__m512i& ofColumn : sum) ofColumn = _mm512_slli_epi32(ofColumn, kDigitBits);
            for (int part = 0; part < 4; ++part) {
                const __m512i ofRow = load(digit.data() + part * 64);
                for (int c = 0; c < count; ++c) sum[c] = _mm512_dpbusd_epi32(sum[c], numbers[part][c], ofRow);
            }
        }
    }
}

/// Multiplies `rows` rows of x with `count` rows of weights, beginning with row n.
template <Storage storage, int rows, int count>
ATTN_INTEGERS inline void multiply(const IntegerFactors& f, int64_t n, const Lanes& lanes) {
    const SkinnyProduct& p = f.product;
    const std::byte* first = f.w + n * f.place.bytes;
    fetchAhead(first + count * f.place.scalesAt, count * (f.place.bytes - f.place.scalesAt));
    __m512 sums[rows][count];
    for (auto& row : sums)
        for (__m512& sum : row) sum = _mm512_setzero_ps();
    const int64_t each = p.K / kSuper;
    for (int64_t super = 0; super < each; ++super) {
        const Super* x = f.x.supers.data() + super;
        constexpr int64_t kBytes = kSuper / 2;
        fetchAhead(first + count * super * kBytes, count * kBytes);
        __m512i dots[rows][count];
        multiplyGroups<rows>(first + super * kBytes, f.place.bytes, x, each, lanes, dots);
        for (int c = 0; c < count; ++c) {
            const __m512 ofWeights = factorsOf<storage>(first + c * f.place.bytes + f.place.scalesAt, super, lanes);
            for (int m = 0; m < rows; ++m) {
                const __m512 factors = _mm512_mul_ps(ofWeights, _mm512_load_ps(x[m * each].factors.data()));
                const __m512 sum = _mm512_mask_add_ps(sums[m][c], 0xff00, sums[m][c], factors); // offsets
                sums[m][c] =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[m][c]), _mm512_permutexvar_ps(lanes.groups, factors), sum);
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
        constexpr int kCount = rows == 1 ? 4 : 2; // fewer wait for each other's sums; more need more registers
        const Lanes lanes;
        int64_t n = begin;
        for (; n + kCount <= end; n += kCount) host::multiply<storage, rows, kCount>(f, n, lanes);
        for (; n < end; ++n) host::multiply<storage, rows, 1>(f, n, lanes);
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
