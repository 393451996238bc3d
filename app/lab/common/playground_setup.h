#pragma once

#include "engine/session/playground_session.h"

#include <QString>

namespace attn {

/// The source of the playground's queries, keys and values.
struct InputChoice {
    enum class Kind { Random, Sentence, Picture };
    Kind kind = Kind::Random;
    int layer = 0;                                 ///< layer of the open model, for the sentence
    QString picture = QStringLiteral("landscape"); ///< a built-in picture, or the path of a file
    int rows = 8, columns = 8;                     ///< number of patches
    int doublings = 0;                             ///< how many times the number of random tokens is doubled
    int fromQuery = 0, fromKey = 0, across = 0;    ///< visible part of a long pattern; across 0: all of it
    bool operator==(const InputChoice&) const = default;
};

/// Names of the playground's tabs in session files and lessons, in their order.
inline constexpr const char* kPlaygroundTabs[] = {"maps",      "gallery", "paint", "cards",
                                                  "positions", "cost",    "tiles", "linear"};

/// All settings of the playground, as in undo steps and session files.
struct PlaygroundSetup {
    PlaygroundQuery query; ///< without its input arrays
    InputChoice input{};
    bool operator==(const PlaygroundSetup&) const = default;
};

} // namespace attn
