#pragma once

#include "engine/attention/pattern_window.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

class AttentionRun;

/// Matrices of one kind that an attention formed, or its mask.
struct PlaygroundMap {
    std::string name;   ///< as AttentionRun names it; "mask" for the cells of the mask's expression
    int64_t heads = 1;  ///< 1 where heads do not differ
    int64_t planes = 1; ///< of each head: the channels of AFT, the steps of a recurrence
    int64_t rows = 0, columns = 0;
    std::vector<float> values;             ///< [heads, planes, rows, columns]; NaN where a mask hides the cell
    std::optional<PatternWindow> window{}; ///< that the cells are of, where they are not all there are
    /// @param head, plane any number: the last that there is, at most  @return [rows, columns]
    std::span<const float> at(int64_t head, int64_t plane = 0) const;
    bool hasShapeOf(const PlaygroundMap& other) const {
        return heads == other.heads && planes == other.planes && rows == other.rows && columns == other.columns &&
               window == other.window;
    }
};

/// @return null: there is none
const PlaygroundMap* findMap(std::span<const PlaygroundMap> maps, std::string_view name);

/// What an attention formed when it ran, in the order in which it forms it, with the mask's cells.
std::vector<PlaygroundMap> mapsOf(const AttentionRun& run, const AttentionSpec& spec, int64_t queries, int64_t keys);

/// The part of the pattern that an AttentionRun::ofWindow formed.
PlaygroundMap windowMap(const AttentionRun& run, const AttentionSpec& spec, const PatternWindow& window);

} // namespace attn
