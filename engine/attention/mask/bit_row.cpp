#include "engine/attention/mask/bit_row.h"

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

void BitRow::setEvery(int64_t begin, int64_t end, int64_t step) {
    assert(step > 0);
    if (begin < 0) begin += (-begin + step - 1) / step * step;
    end = std::min(end, length_);
    if (step >= 64) {
        for (int64_t key = begin; key < end; key += step) set(key);
        return;
    }
    uint64_t comb = 0; // a word whose stride begins at its first bit
    for (int64_t bit = 0; bit < 64; bit += step) comb |= uint64_t{1} << bit;
    for (int64_t key = begin; key < end;) {
        const int64_t word = key / 64, next = (word + 1) * 64;
        words_[static_cast<size_t>(word)] |= comb << (key % 64) & bitsBelow(std::min<int64_t>(end - word * 64, 64));
        key += (next - key + step - 1) / step * step;
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
