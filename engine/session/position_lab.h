#pragma once

#include "engine/session/playground_map.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// Which position part to look at, and on how much.
struct PositionQuery {
    AttentionSpec spec;  ///< its position, and its heads; its mask says whether distances ahead count
    int64_t tokens = 64; ///< places
    int64_t width = 16;  ///< D
    uint64_t seed = 1;   ///< of what the part would learn, and of the vector that every token has
    bool operator==(const PositionQuery&) const = default;
};

/// What a position part does to made-up inputs, worked out by its own reference: each picture is there if the part acts
/// at its stage, so that a new part shows itself.
struct PositionPictures {
    /// Two features of one head that turn together, of a token whose vector is 1 in the first and 0 elsewhere; or two
    /// of an encoding that go round a circle.
    struct Plane {
        int64_t first = 0, second = 0;
        std::vector<float> x, y; ///< [T]
    };

    PositionQuery query;
    std::optional<PlaygroundMap> encodings; ///< [1, 1, T, D] what Stage::Inputs makes of a token of zeros
    std::vector<Plane> planes;              ///< what Stage::QueriesKeys does to single features, else of `encodings`
    std::optional<PlaygroundMap> added;     ///< [H, 1, 1, T] what Stage::Bias makes of a score of 0, by distance back
    std::optional<PlaygroundMap> factor;    ///< [H, 1, 1, T] what Stage::Bias multiplies a score with
    std::vector<float> slopes; ///< [H] of `added` where it is a straight line of the distance for each head
    /// [H, 1, 1, T] the score of the last token with an equal one, by distance back: encodings, rotations and biases
    /// together.
    PlaygroundMap similarity;
};

/// @throws Error as check(), and as the part for sizes that it does not take
PositionPictures positionPictures(const PositionQuery& query);

} // namespace attn
