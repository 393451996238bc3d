#pragma once

#include "engine/attention/site_attention.h"

#include <string_view>

namespace attn {

/// What a state of a step keeps, by its name.
enum class StateKind : uint8_t {
    Rows,    ///< a row for every token: keys, values, queries for views, positions
    Running, ///< numbers that sum up the tokens so far: AttentionFlow::state()
    Source   ///< the keys or values of a source: holdKeys()
};
StateKind stateKind(std::string_view name);

/// The memory of a site without the fused kernel from token to token: keys and values in a cache, or only the states of
/// its parts.
class StepMemory {
public:
    /// Lets the flow read and write the cache. All arguments must outlive the flow's use.
    StepMemory(const AttentionSite& site, AttentionFlow& flow);

private:
    Tensor keys(const char* letter, Tensor rows);
    Tensor products();
    Tensor mix(Tensor weights);
    Tensor attention(const AttentionRule& rule, Tensor bias);
    AttentionInputs inputs() const;

    const AttentionSite& site_;
    AttentionFlow& flow_;
    Tensor keys_, values_; ///< [capacity,G,D]
};

/// Writes the rows of a step into a cache of the site. @param rows [T,heads,D]  @param live of the cache's rows
/// @return the cache, [capacity,heads,D]
Tensor cached(const AttentionSite& site, const char* letter, Tensor rows, std::optional<StepScalar> live,
              std::vector<std::pair<std::string, Tensor>>& updates);

/// [1,heads,T,D] -> [T,heads,D]
Tensor byToken(Tensor x);

} // namespace attn
