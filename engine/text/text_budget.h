#pragma once

#include <cstddef>
#include <cstdint>

namespace attn {

/// The most steps of a normalizer, a pre-tokenizer or a decoder; the longest of known tokenizers have 30.
inline constexpr size_t kMostTextSteps = 256;

/// The memory and work that a tokenizer may spend on one text. Its file may be untrusted: eight chained replacements
/// can make a text 50^8 times longer, and an expression can try 2^n ways to match n letters.
class TextBudget {
public:
    /// @param textBytes length of the text
    explicit TextBudget(size_t textBytes) { addText(textBytes); }

    /// Widens the budget for more text.
    void addText(size_t bytes);
    /// Takes bytes by which a step makes the text longer. @throws Error if it becomes too long
    void grow(size_t bytes);
    /// Takes steps of an expression's search: parts tried and letters passed. @return false if there are not so many
    /// left
    bool takeSearch(uint64_t steps);

private:
    // Normalizers of known models at most triple a text, and bytes become two letters each.
    static constexpr size_t kGrowth = 32, kFirstGrowth = 256;
    // The expressions of known models try at most about thirty parts at each place.
    static constexpr uint64_t kFirstSearch = uint64_t{1} << 20, kSearch = 256;

    size_t growth_ = kFirstGrowth;
    uint64_t search_ = kFirstSearch;
};

} // namespace attn
