#pragma once

#include "engine/playground/pattern_window.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

class AttentionRun;

/// Matrices that an attention computed, or its mask.
struct PlaygroundMap {
    std::string name;   ///< name in AttentionRun; "mask": the cells of the mask
    int64_t heads = 1;  ///< 1 if heads do not differ
    int64_t planes = 1; ///< per head: channels of AFT, steps of a recurrence
    int64_t rows = 0, columns = 0;
    std::vector<float> values;             ///< [heads, planes, rows, columns]; NaN where the mask hides a cell
    std::optional<PatternWindow> window{}; ///< the window of the pattern; none: the whole pattern
    /// One matrix. @param head, plane limited to the last one  @return [rows, columns]
    std::span<const float> at(int64_t head, int64_t plane = 0) const;
    bool hasShapeOf(const PlaygroundMap& other) const {
        return heads == other.heads && planes == other.planes && rows == other.rows && columns == other.columns &&
               window == other.window;
    }
};

/// The map of a name. @return null: there is none
const PlaygroundMap* findMap(std::span<const PlaygroundMap> maps, std::string_view name);

/// The results of an attention in order of computation, with the cells of the mask.
std::vector<PlaygroundMap> mapsOf(const AttentionRun& run, const AttentionSpec& spec, int64_t queries, int64_t keys);

/// The window of the pattern that an AttentionRun::ofWindow() computed.
PlaygroundMap windowMap(const AttentionRun& run, const AttentionSpec& spec, const PatternWindow& window);

} // namespace attn
