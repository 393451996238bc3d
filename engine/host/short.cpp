#include "engine/host/short.h"

#include "engine/core/storage.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/short.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

// Computes with integers, because not every processor converts, and those that do treat NaN differently.
using Words = hn::RebindToUnsigned<Floats>;
using Word = hn::Vec<Words>;
using Shorts = hn::Rebind<uint16_t, Words>;

HWY_ATTR HWY_INLINE Word word(uint32_t value) { return hn::Set(Words(), value); }

HWY_ATTR HWY_INLINE Word brains(Word bits) {
    const Word odd = hn::And(hn::ShiftRight<16>(bits), word(1));
    const Word rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(word(0x7fff), odd)));
    const auto isNone = hn::Gt(hn::And(bits, word(0x7fffffff)), word(0x7f800000));
    return hn::IfThenElse(isNone, hn::Or(hn::ShiftRight<16>(bits), word(0x40)), rounded);
}

HWY_ATTR HWY_INLINE Word halves(Word bits) {
    const Word size = hn::And(bits, word(0x7fffffff)), sign = hn::And(hn::ShiftRight<16>(bits), word(0x8000));
    const Word odd = hn::And(hn::ShiftRight<13>(size), word(1));
    const Word normal = hn::ShiftRight<13>(hn::Sub(hn::Add(size, hn::Add(word(0xfff), odd)), word(0x38000000)));
    // The last digit of 0.5 is the smallest half, so that the addition rounds to a multiple of it.
    const auto sum = hn::Add(hn::BitCast(Floats(), size), hn::Set(Floats(), 0.5f));
    const Word small = hn::Sub(hn::BitCast(Words(), sum), word(0x3f000000));
    Word half = hn::IfThenElse(hn::Lt(size, word(0x38800000)), small, normal);
    half = hn::IfThenElse(hn::Gt(size, word(0x477fffff)), word(0x7c00), half);
    half = hn::IfThenElse(hn::Gt(size, word(0x7f800000)), word(0x7e00), half);
    return hn::Or(half, sign);
}

HWY_ATTR HWY_INLINE Vector floatsOfHalves(Word half) {
    const Word sign = hn::ShiftLeft<16>(hn::And(half, word(0x8000))), size = hn::And(half, word(0x7fff)),
               shifted = hn::ShiftLeft<13>(size);
    const Word normal = hn::Add(shifted, word(112u << 23)), large = hn::Or(shifted, word(0x7f800000));
    const auto whole = hn::ConvertTo(Floats(), hn::BitCast(hn::RebindToSigned<Floats>(), size));
    const Word small = hn::BitCast(Words(), hn::Mul(whole, hn::Set(Floats(), 0x1p-24f)));
    Word bits = hn::IfThenElse(hn::Lt(size, word(0x400)), small, normal);
    bits = hn::IfThenElse(hn::Gt(size, word(0x7bff)), large, bits);
    return hn::BitCast(Floats(), hn::Or(bits, sign));
}

void narrowV(bool isBrain, int64_t count, const float* x, uint16_t* out) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Words()));
    const auto all = [&](auto convert) HWY_ATTR {
        int64_t i = 0;
        for (; i + lanes <= count; i += lanes)
            hn::StoreU(hn::TruncateTo(Shorts(), convert(hn::BitCast(Words(), hn::LoadU(Floats(), x + i)))), Shorts(),
                       out + i);
        for (; i < count; ++i) out[i] = isBrain ? brainOf(x[i]) : halfOf(x[i]);
    };
    if (isBrain)
        all([](Word bits) HWY_ATTR { return brains(bits); });
    else
        all([](Word bits) HWY_ATTR { return halves(bits); });
}

void widenV(bool isBrain, int64_t count, const uint16_t* x, float* out) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Words()));
    const auto all = [&](auto convert) HWY_ATTR {
        int64_t i = 0;
        for (; i + lanes <= count; i += lanes)
            hn::StoreU(convert(hn::PromoteTo(Words(), hn::LoadU(Shorts(), x + i))), Floats(), out + i);
        for (; i < count; ++i) out[i] = isBrain ? floatOfBrain(x[i]) : floatOfHalf(x[i]);
    };
    if (isBrain)
        all([](Word brain) HWY_ATTR { return hn::BitCast(Floats(), hn::ShiftLeft<16>(brain)); });
    else
        all([](Word half) HWY_ATTR { return floatsOfHalves(half); });
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {

HWY_EXPORT(narrowV);
HWY_EXPORT(widenV);

void narrow(bool isBrain, int64_t count, const float* x, uint16_t* out) {
    HWY_DYNAMIC_DISPATCH(narrowV)(isBrain, count, x, out);
}
void widen(bool isBrain, int64_t count, const uint16_t* x, float* out) {
    HWY_DYNAMIC_DISPATCH(widenV)(isBrain, count, x, out);
}

} // namespace attn::host
#endif
