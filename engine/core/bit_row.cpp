#include "engine/core/bit_row.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace attn {
namespace {

constexpr uint64_t kAll = ~uint64_t{0};
/// The bits from `bit` upwards, and those below it; `bit` is at most 64.
constexpr uint64_t bitsFrom(int64_t bit) { return bit >= 64 ? 0 : kAll << bit; }
constexpr uint64_t bitsBelow(int64_t bit) { return ~bitsFrom(bit); }

} // namespace

int64_t BitRow::count() const {
    int64_t total = 0;
    for (uint64_t word : words_) total += std::popcount(word);
    return total;
}

bool BitRow::anyFrom(int64_t begin) const {
    begin = std::max<int64_t>(begin, 0);
    if (begin >= length_) return false;
    const auto first = static_cast<size_t>(begin / 64);
    if ((words_[first] & bitsFrom(begin % 64)) != 0) return true;
    return std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(first) + 1, words_.end(),
                       [](uint64_t word) { return word != 0; });
}

void BitRow::reset(int64_t length) {
    assert(length >= 0);
    length_ = length;
    words_.assign(static_cast<size_t>((length + 63) / 64), 0);
}

void BitRow::setRange(int64_t begin, int64_t end) {
    begin = std::max<int64_t>(begin, 0);
    end = std::min(end, length_);
    if (begin >= end) return;
    const auto first = static_cast<size_t>(begin / 64), last = static_cast<size_t>((end - 1) / 64);
    const uint64_t head = bitsFrom(begin % 64), tail = bitsBelow((end - 1) % 64 + 1);
    if (first == last) {
        words_[first] |= head & tail;
        return;
    }
    words_[first] |= head;
    for (size_t w = first + 1; w < last; ++w) words_[w] = kAll;
    words_[last] |= tail;
}

void BitRow::setEvery(int64_t begin, int64_t end, int64_t step, int64_t width) {
    assert(step > 0);
    if (begin < 0) begin += -begin / step * step; // a run that reaches over 0 is kept
    end = std::min(end, length_);
    const int64_t start = std::max<int64_t>(begin, 0);
    if (start >= end) return;
    if (step >= 64) {
        for (int64_t run = begin; run < end; run += step) setRange(run, std::min(run + width, end));
        return;
    }
    // Two words with runs from their first bit on. Each word of the row is 64 bits of them.
    uint64_t comb[2] = {0, 0};
    for (int64_t bit = 0; bit < 128; ++bit)
        if (bit % step < width) comb[bit / 64] |= uint64_t{1} << bit % 64;
    const int64_t first = start / 64, last = (end - 1) / 64;
    int64_t phase = (first * 64 - begin) % step; // where in its period a word begins
    if (phase < 0) phase += step;
    for (int64_t w = first; w <= last; ++w, phase = (phase + 64) % step) {
        uint64_t word = comb[0] >> phase | (phase == 0 ? 0 : comb[1] << (64 - phase));
        if (w == first) word &= bitsFrom(start % 64);
        if (w == last) word &= bitsBelow((end - 1) % 64 + 1);
        words_[static_cast<size_t>(w)] |= word;
    }
}

void BitRow::complement() {
    for (uint64_t& word : words_) word = ~word;
    if (length_ % 64 != 0) words_.back() &= bitsBelow(length_ % 64);
}

BitRow& BitRow::operator&=(const BitRow& other) {
    assert(length_ == other.length_);
    for (size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
    return *this;
}

BitRow& BitRow::operator|=(const BitRow& other) {
    assert(length_ == other.length_);
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    return *this;
}

} // namespace attn
