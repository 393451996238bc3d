#pragma once

#include "engine/session/edits.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Changes to rows of hooks, worked out to numbers: x becomes keep * x + values.
class HookEdits {
public:
    struct Rows {
        int head = -1;     ///< of hooks with heads; -1: all
        int position = -1; ///< token; -1: all
        float keep = 1;
        std::vector<float> values{}; ///< [rows, width of the hook]; empty: nothing is added
        int64_t rows = 0;
        bool isByToken = false; ///< each token has the row of its number, and those beyond the last stay as they are;
                                ///< else there is one row for all
    };

    /// The hook may be edited from now on. @param heads 1 for hooks without  @param width of all heads together
    void declare(const std::string& hook, int64_t heads, int64_t width);
    void add(const std::string& hook, Rows rows); ///< after those that are there
    void set(PatternEdit edit) { patterns_[{edit.layer, edit.head}] = std::move(edit); }

    bool empty() const { return hooks_.empty() && patterns_.empty(); }
    std::set<std::string> hooks() const;
    const std::map<std::pair<int, int>, PatternEdit>& patterns() const { return patterns_; } ///< by layer and head
    bool editsPatternOf(int layer) const;
    std::set<int> patternLayers() const;

    /// Kept and added numbers of `count` tokens from `first` on. @param stride of a head's row, in floats
    void write(const std::string& hook, size_t first, size_t count, size_t stride, std::span<float> kept,
               std::span<float> added) const;

private:
    struct Hook {
        int64_t heads = 1, width = 1;
        std::vector<Rows> rows;
    };
    std::map<std::string, Hook> hooks_;
    std::map<std::pair<int, int>, PatternEdit> patterns_;
};

/// The weights that an edit gives a query; empty where it leaves the row as it is.
/// @param keys the token at each place of the row; kHidden where the query sees none. What an edit gives to tokens that
///             are not seen goes to those that are, in proportion; where none is seen the row stays as it is.
/// @return one for each of the places
std::vector<float> editedRow(const PatternEdit& edit, int query, std::span<const int> keys);
inline constexpr int kHidden = -1;
/// The keys of a query that sees those from `begin` on and before `end`, as long as that.
std::vector<int> keysBetween(int begin, int end);

} // namespace attn
