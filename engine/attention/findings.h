#pragma once

#include "engine/attention/slot.h"

#include <span>
#include <string_view>

namespace attn {

struct Part;

/// A claim of a part's paper that a run of this program reproduces, or does not.
struct Finding {
    Slot slot;
    std::string_view part;    ///< Part::id
    std::string_view claim;   ///< of the paper, in a sentence
    std::string_view result;  ///< the measurement, in a sentence with numbers
    std::string_view command; ///< prints or draws it
};

/// All findings, in the order of the slots.
std::span<const Finding> findings();
/// Null: none is recorded for the part.
const Finding* findingOf(const Part& part);

} // namespace attn
