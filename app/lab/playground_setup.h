#pragma once

#include "engine/session/playground_session.h"

#include <QString>

namespace attn {

/// Where the playground's queries, keys and values come from.
struct InputChoice {
    enum class Kind { Random, Sentence, Picture };
    Kind kind = Kind::Random;
    int layer = 0;                                 ///< of the open model, for the sentence
    QString picture = QStringLiteral("landscape"); ///< a built-in one, or the path of a file
    int rows = 8, columns = 8;                     ///< of patches
    int doublings = 0;                             ///< of the number of random tokens
    int fromQuery = 0, fromKey = 0, across = 0;    ///< the part of a long pattern to see; across 0: all of it
    bool operator==(const InputChoice&) const = default;
};

/// Everything that a person sets in the playground, as undo and sessions keep it.
struct PlaygroundSetup {
    PlaygroundQuery query; ///< without numbers of its own
    InputChoice input{};
    bool operator==(const PlaygroundSetup&) const = default;
};

} // namespace attn
