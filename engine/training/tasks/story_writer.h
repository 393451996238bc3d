#pragma once

#include "engine/training/tasks/draws.h"

#include <string>
#include <vector>

namespace attn::stories {

/// A story and its places where only one pronoun is right.
struct Story {
    struct Slot {
        size_t at;       ///< byte offset of the pronoun
        Split split;     ///< where this combination of a person or thing with a sentence may be trained on or asked
        bool isInvented; ///< stands for a person whose name is invented
    };
    std::string text;
    std::vector<Slot> slots{};
};

/// @param inventedShare of stories whose first person has an invented name, which has to be spelt
Story write(Draws& draws, double inventedShare);

/// Every token of the stories but single letters: words with the space before them, punctuation, words after a
/// quotation mark. Sorted.
std::vector<std::string> vocabulary();
/// A space and the letters, which spell invented names.
std::vector<std::string> letters();

} // namespace attn::stories
