#pragma once

#include "engine/data/draws.h"

#include <string>
#include <vector>

namespace attn::stories {

/// A story, and the places where only one pronoun is right.
struct Story {
    struct Slot {
        size_t at;       ///< byte offset of the pronoun
        Split split;     ///< split of this combination of a person or thing with a sentence
        bool isInvented; ///< refers to a person with an invented name
    };
    std::string text;
    std::vector<Slot> slots{};
};

/// Writes a story. @param inventedShare probability that the first person has an invented name, spelt in letters
Story write(Draws& draws, double inventedShare);

/// All tokens of the stories except single letters: words with the space before them, punctuation, and words after a
/// quotation mark. Sorted.
std::vector<std::string> vocabulary();
/// A space and the letters that spell invented names.
std::vector<std::string> letters();

} // namespace attn::stories
