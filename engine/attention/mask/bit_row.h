#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// The keys that one query sees, a bit each in words of 64: masks are worked out row by row, so that the memory they
/// take never grows with T x S. Bits beyond the length are always 0. Ranges are half open and may reach beyond either
/// end.
class BitRow {
public:
    /// @param length S, the number of keys; none is set
    explicit BitRow(int64_t length = 0) { reset(length); }

    int64_t size() const { return length_; }
    /// Key 64 w + b is bit b of word w.
    std::span<const uint64_t> words() const { return words_; }
    bool test(int64_t key) const { return (words_[static_cast<size_t>(key / 64)] >> (key % 64) & 1) != 0; }
    int64_t count() const;
    bool any() const { return anyFrom(0); }
    /// Whether a key at or after `begin` is set.
    bool anyFrom(int64_t begin) const;
    /// Calls `visit(key)` for every key that is set, in rising order.
    template <class Visit> void forEach(Visit visit) const {
        for (size_t w = 0; w < words_.size(); ++w)
            for (uint64_t word = words_[w]; word != 0; word &= word - 1)
                visit(static_cast<int64_t>(w) * 64 + __builtin_ctzll(word));
    }

    /// Another length, nothing set.
    void reset(int64_t length);
    /// @param key from 0 to size() - 1
    void set(int64_t key) { words_[static_cast<size_t>(key / 64)] |= uint64_t{1} << (key % 64); }
    void setRange(int64_t begin, int64_t end);
    /// Sets runs of `width` keys that begin at begin, begin + step, ..., as far as they are before `end`.
    /// @param step 1 or more
    void setEvery(int64_t begin, int64_t end, int64_t step, int64_t width = 1);
    /// Sets what was not set, and the other way round.
    void complement();
    /// @param other of the same size
    BitRow& operator&=(const BitRow& other);
    BitRow& operator|=(const BitRow& other);
    bool operator==(const BitRow&) const = default;

private:
    std::vector<uint64_t> words_;
    int64_t length_ = 0;
};

} // namespace attn
