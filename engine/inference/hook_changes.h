#pragma once

#include "engine/inference/changes.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Changes to rows of hooks, as numbers: x becomes keep * x + values.
class HookChanges {
public:
    struct Rows {
        int head = -1;     ///< head, for hooks with heads; -1: all
        int position = -1; ///< token; -1: all
        float keep = 1;
        std::vector<float> values{}; ///< [rows, width of the hook]; empty: adds nothing
        int64_t rows = 0;
        /// Token i uses row i, and tokens after the last row do not change. False: all tokens use row 0.
        bool isByToken = false;
    };

    /// Allows changes to a hook. @param heads 1 for hooks without heads  @param width of all heads together
    void declare(const std::string& hook, int64_t heads, int64_t width);
    void add(const std::string& hook, Rows rows); ///< applied after earlier ones
    void set(PatternChange change) { patterns_[{change.site, change.head}] = std::move(change); }

    bool empty() const { return hooks_.empty() && patterns_.empty(); }
    std::set<std::string> hooks() const;
    const std::map<std::pair<int, int>, PatternChange>& patterns() const { return patterns_; } ///< by layer and head
    bool changesPatternOf(int layer) const;
    std::set<int> patternLayers() const;

    /// Writes the factors and terms for `count` tokens from `first` on. @param stride of a head's row, in floats
    void write(const std::string& hook, size_t first, size_t count, size_t stride, std::span<float> kept,
               std::span<float> added) const;

private:
    struct Hook {
        int64_t heads = 1, width = 1;
        std::vector<Rows> rows;
    };
    std::map<std::string, Hook> hooks_;
    std::map<std::pair<int, int>, PatternChange> patterns_;
};

/// The attention weights that a change sets for a query; empty if it does not change the row.
/// @param keys the token at each place of the row, or kHidden. Weight on hidden tokens is distributed to the visible
/// ones in
///             proportion. Without visible tokens the row does not change.
/// @return one weight per place
std::vector<float> changedPatternRow(const PatternChange& change, int query, std::span<const int> keys);
inline constexpr int kHidden = -1;

} // namespace attn
