#pragma once

#include "tests/support/catch.h"

namespace attn::test {

/// Damages files the way disks, downloads, editors and ill will do. The same seed gives the same damage.
class Mutator {
public:
    explicit Mutator(uint32_t seed) : random_(seed) {}

    size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

    /// One to three mutations.
    std::string operator()(std::string text) {
        for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) mutate(text);
        return text;
    }

private:
    void mutate(std::string& text) {
        const size_t at = below(text.size()), length = std::min(1 + below(12), text.size() - at);
        switch (below(10)) {
        case 0:
            text[at] = static_cast<char>(random_());
            break;
        case 1:
            text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
            break;
        case 2:
            text.erase(at, length);
            break;
        case 3:
            text.insert(at, text.substr(below(text.size()), 1 + below(20)));
            break;
        case 4:
            text.insert(at, kPieces[below(kPieces.size())]);
            break;
        case 5:
            if (below(4) == 0) text.resize(at);
            break;
        default:
            swapNumber(text, at); // keeps the JSON whole, so that what reads it is tested
        }
    }

    void swapNumber(std::string& text, size_t at) {
        const auto isDigit = [](unsigned char c) { return std::isdigit(c) != 0; };
        const auto begin = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), isDigit);
        text.replace(begin, std::find_if_not(begin, text.end(), isDigit), numbers_[below(numbers_.size())]);
    }

    static std::vector<std::string> words(const char* text) {
        std::istringstream stream(text);
        return {std::istream_iterator<std::string>(stream), {}};
    }

    const std::vector<std::string> numbers_ =
        words("0 -1 1 2 3 5 8 64 1000 65536 1e9 2147483648 9007199254740993 9223372036854775807 18446744073709551615 "
              "99999999999999999999 0.5 1e-300 1e308 1e999 null true \"7\" [] {} [[[[1]]]]");
    static constexpr std::array kPieces{"null", "-", "[",    "]",    "{",   "}",     "\"",  "\\", "\\u0000", "\\ud800",
                                        ",",    ":", "\xff", "\xc3", "F32", "shape", "NaN", "(",  "*",       " "};
    std::mt19937 random_;
};

} // namespace attn::test
