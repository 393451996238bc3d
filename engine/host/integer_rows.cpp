#include "engine/host/integer_rows.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <hwy/targets.h>

#include <immintrin.h>

#define ATTN_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace attn::host {
namespace {

using Super = IntegerRows::Super;
constexpr int64_t kGroup = IntegerRows::kGroup, kGroups = IntegerRows::kGroups, kSuper = IntegerRows::kSuper;
constexpr int kDigits = IntegerRows::kDigits, kDigitBits = IntegerRows::kDigitBits;
constexpr float kMost = 63 << (kDigitBits * (kDigits - 1)); ///< the largest number that the digits hold
constexpr int64_t kTogether = 4;                            ///< groups whose digits lie together

/// Combines eight parts of each of eight groups: their sums, or their largest values.
template <bool isSum> ATTN_AVX2 inline __m256 either(__m256 a, __m256 b) {
    return isSum ? _mm256_add_ps(a, b) : _mm256_max_ps(a, b);
}
template <bool isSum> ATTN_AVX2 inline __m256 ofEachGroup(const __m256 (&parts)[kGroups]) {
    __m256 two[4], four[2]; // of so many groups each
    for (int i = 0; i < 4; ++i)
        two[i] = either<isSum>(_mm256_unpacklo_ps(parts[2 * i], parts[2 * i + 1]),
                               _mm256_unpackhi_ps(parts[2 * i], parts[2 * i + 1]));
    for (int i = 0; i < 2; ++i)
        four[i] = either<isSum>(_mm256_shuffle_ps(two[2 * i], two[2 * i + 1], 0x44),
                                _mm256_shuffle_ps(two[2 * i], two[2 * i + 1], 0xee));
    return either<isSum>(_mm256_permute2f128_ps(four[0], four[1], 0x20),
                         _mm256_permute2f128_ps(four[0], four[1], 0x31));
}

/// Packs 32 integers into bytes. In each half, four bytes come from each vector in turn.
ATTN_AVX2 inline __m256i bytesOf(const __m256i (&integers)[4]) {
    return _mm256_packs_epi16(_mm256_packs_epi32(integers[0], integers[1]),
                              _mm256_packs_epi32(integers[2], integers[3]));
}

/// The digits of a group, the highest first, in the order of bytesOf().
ATTN_AVX2 inline void digitsOf(const float* x, float by, __m256i (&digits)[kDigits]) {
    // Half a digit more makes the lower digits positive.
    constexpr int kHalf = 1 << (kDigitBits - 1), kMask = 2 * kHalf - 1;
    __m256i integers[4], low[4];
    for (int i = 0; i < 4; ++i)
        integers[i] =
            _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(by))),
                             _mm256_set1_epi32(kHalf | kHalf << kDigitBits));
    for (int digit = kDigits - 1; digit > 0; --digit) {
        for (int i = 0; i < 4; ++i) {
            low[i] = _mm256_and_si256(integers[i], _mm256_set1_epi32(kMask));
            integers[i] = _mm256_srai_epi32(integers[i], kDigitBits);
        }
        digits[digit] = _mm256_sub_epi8(bytesOf(low), _mm256_set1_epi8(kHalf));
    }
    digits[0] = bytesOf(integers);
}

/// Writes one digit of four groups, four bytes of each in turn.
ATTN_AVX2 inline void store(__m256i a, __m256i b, __m256i c, __m256i d, int8_t* to) {
    const __m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
    const __m256i abHigh = _mm256_unpackhi_epi32(a, b), cdHigh = _mm256_unpackhi_epi32(c, d);
    auto* out = reinterpret_cast<__m256i*>(to);
    _mm256_store_si256(out, _mm256_unpacklo_epi64(ab, cd));
    _mm256_store_si256(out + 2, _mm256_unpackhi_epi64(ab, cd));
    _mm256_store_si256(out + 4, _mm256_unpacklo_epi64(abHigh, cdHigh));
    _mm256_store_si256(out + 6, _mm256_unpackhi_epi64(abHigh, cdHigh));
}

ATTN_AVX2 bool split(const float* x, Super& super) {
    __m256 largest[kGroups], sums[kGroups];
    const __m256 sign = _mm256_set1_ps(-0.0f);
    for (int64_t group = 0; group < kGroups; ++group) {
        const float* from = x + group * kGroup;
        largest[group] = sums[group] = _mm256_setzero_ps();
        for (int64_t i = 0; i < kGroup; i += 8) {
            const __m256 value = _mm256_loadu_ps(from + i);
            largest[group] = _mm256_max_ps(largest[group], _mm256_andnot_ps(sign, value));
            sums[group] = _mm256_add_ps(sums[group], value);
        }
    }
    constexpr float kLeast = 1e-30f, kLargest = 1e30f;
    const __m256 most = ofEachGroup<false>(largest), sum = ofEachGroup<true>(sums), zero = _mm256_setzero_ps();
    const __m256 isZero = _mm256_cmp_ps(most, zero, _CMP_EQ_OQ);
    const __m256 fits = _mm256_and_ps(_mm256_cmp_ps(_mm256_sub_ps(sum, sum), zero, _CMP_EQ_OQ),
                                      _mm256_cmp_ps(most, _mm256_set1_ps(kLargest), _CMP_LE_OQ));
    const __m256 isLarge = _mm256_or_ps(isZero, _mm256_cmp_ps(most, _mm256_set1_ps(kLeast), _CMP_GE_OQ));
    if (_mm256_movemask_ps(_mm256_and_ps(fits, isLarge)) != 0xff) return false;
    _mm256_store_ps(super.factors.data(), _mm256_div_ps(most, _mm256_set1_ps(kMost)));
    _mm256_store_ps(super.factors.data() + kGroups, _mm256_xor_ps(sum, sign));
    alignas(32) std::array<float, kGroups> by;
    _mm256_store_ps(by.data(), _mm256_andnot_ps(isZero, _mm256_div_ps(_mm256_set1_ps(kMost), most)));
    for (size_t half = 0; half < 2; ++half) {
        __m256i digits[kTogether][kDigits];
        for (size_t i = 0; i < kTogether; ++i) {
            const size_t group = half * kTogether + i;
            digitsOf(x + group * kGroup, by[group], digits[i]);
        }
        for (size_t digit = 0; digit < kDigits; ++digit)
            store(digits[0][digit], digits[1][digit], digits[2][digit], digits[3][digit],
                  super.digits[digit].data() + half * 32);
    }
    return true;
}

} // namespace

std::span<const IntegerInstructions> integerInstructions() {
    static constexpr std::array kAll{IntegerInstructions::Avx512Vnni, IntegerInstructions::Avx2};
    static const size_t count = [] {
        const int64_t has = hwy::SupportedTargets();
        if ((has & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512vnni") != 0) return size_t{2};
        return size_t{(has & HWY_AVX2) != 0};
    }();
    return std::span(kAll).last(count);
}

bool splitRows(const SkinnyProduct& product, IntegerRows& rows) {
    if (integerInstructions().empty() || product.K % kSuper != 0) return false;
    const int64_t each = product.K / kSuper;
    if (const auto count = static_cast<size_t>(product.rows * each); rows.supers.size() < count)
        rows.supers.resize(count);
    for (int64_t m = 0; m < product.rows; ++m)
        for (int64_t i = 0; i < each; ++i)
            if (!split(product.x + m * product.xStride + i * kSuper, rows.supers[static_cast<size_t>(m * each + i)]))
                return false;
    return true;
}

} // namespace attn::host

#else

namespace attn::host {

std::span<const IntegerInstructions> integerInstructions() { return {}; }
bool splitRows(const SkinnyProduct&, IntegerRows&) { return false; }

} // namespace attn::host

#endif
