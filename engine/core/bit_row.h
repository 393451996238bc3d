#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// The keys that one query sees, one bit each in words of 64. Masks are computed row by row, so their memory never
/// grows with T x S. Bits beyond the length are always 0. Ranges are half open and may reach beyond either end.
class BitRow {
public:
    /// @param length S, the number of keys; none is set
    explicit BitRow(int64_t length = 0) { reset(length); }

    int64_t size() const { return length_; }
    /// Key 64 w + b is bit b of word w.
    std::span<const uint64_t> words() const { return words_; }
    /// Whether a key is set. @param key from 0 to size() - 1
    bool test(int64_t key) const { return (words_[static_cast<size_t>(key / 64)] >> (key % 64) & 1) != 0; }
    int64_t count() const; ///< of keys that are set
    bool any() const { return anyFrom(0); }
    /// Whether a key at or after `begin` is set.
    bool anyFrom(int64_t begin) const;
    /// Calls `visit(key)` for every key that is set, in ascending order.
    template <class Visit> void forEach(Visit visit) const {
        for (size_t w = 0; w < words_.size(); ++w)
            for (uint64_t word = words_[w]; word != 0; word &= word - 1)
                visit(static_cast<int64_t>(w) * 64 + __builtin_ctzll(word));
    }

    /// Changes the length and clears all keys.
    void reset(int64_t length);
    /// Sets a key. @param key from 0 to size() - 1
    void set(int64_t key) { words_[static_cast<size_t>(key / 64)] |= uint64_t{1} << (key % 64); }
    /// Sets the keys [begin, end).
    void setRange(int64_t begin, int64_t end);
    /// Sets runs of `width` keys that begin at begin, begin + step, ...; keys from `end` on stay as they are.
    /// @param step 1 or more
    void setEvery(int64_t begin, int64_t end, int64_t step, int64_t width = 1);
    /// Inverts every key.
    void complement();
    /// Intersection and union. @param other of the same size
    BitRow& operator&=(const BitRow& other);
    BitRow& operator|=(const BitRow& other);
    bool operator==(const BitRow&) const = default;

private:
    std::vector<uint64_t> words_;
    int64_t length_ = 0;
};

} // namespace attn
