#pragma once

#include "engine/attention/position/dependency_tree.h"
#include "engine/playground/playground_map.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A position part to show, and its sizes.
struct PositionQuery {
    AttentionSpec spec;  ///< its position and heads; its mask tells whether distances to later tokens count
    int64_t tokens = 64; ///< number of positions
    int64_t width = 16;  ///< D
    uint64_t seed = 1;   ///< seed of learned tensors and of the vector of every token
    bool operator==(const PositionQuery&) const = default;
};

/// The effect of a position part on artificial inputs, computed by its CPU reference. A picture exists if the part acts
/// at its stage, so new parts are supported automatically.
struct PositionPictures {
    /// Two features of a head that rotate together, for a token whose vector is 1 in the first and 0 elsewhere. Or two
    /// features of an encoding that move on a circle.
    struct Plane {
        int64_t first = 0, second = 0;
        std::vector<float> x, y; ///< [T]
    };

    PositionQuery query;
    bool isLearned = false; ///< training sets numbers of the part; the pictures show those that it starts from
    std::optional<DependencyTree> tree{};   ///< that the part reads
    std::optional<PlaygroundMap> encodings; ///< [1, 1, T, D] result of Stage::Inputs for a token of zeros
    std::vector<Plane> planes;          ///< effect of Stage::QueriesKeys on single features, else planes of `encodings`
    std::optional<PlaygroundMap> added; ///< [H, 1, 1, T] result of Stage::Bias for a score of 0, by distance
    std::optional<PlaygroundMap> factor; ///< [H, 1, 1, T] factor of Stage::Bias on a score, by distance
    std::vector<float> slopes;           ///< [H] slopes of `added` if it is linear in the distance for each head
    /// [H, 1, 1, T] score of two identical tokens by distance, with encodings, rotations and biases.
    PlaygroundMap similarity;
};

/// Computes the pictures. @throws Error as check(), or if the part does not allow the sizes
PositionPictures positionPictures(const PositionQuery& query);

} // namespace attn
