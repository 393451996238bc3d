#pragma once

#include "engine/attention/site_attention.h"
#include "engine/ops/paged_attention.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// The inputs of a step whose rows continue several sequences: those of PagedSequences, and the row of the cache in
/// which each row of the step is kept, I32 [T].
namespace paged_inputs {
inline constexpr const char *kSequences = "row_sequences", *kPages = "sequence_pages", *kLengths = "sequence_lengths",
                            *kRows = "cache_rows";
} // namespace paged_inputs

/// Whether each row of a step says which sequence it continues.
inline bool isPaged(const AttentionSite& site) { return site.cacheCapacity > 0 && site.sequence == 1; }
/// The inputs of such a step. @param rows of it, with their live length  @param keys most of a sequence
PagedSequences pagedSequences(Tensor rows, int64_t keys);
/// Writes the rows of such a step into a state of so many rows. @return the state
Tensor keptInPages(const std::string& name, int64_t capacity, Tensor rows,
                   std::vector<std::pair<std::string, Tensor>>& updates);

/// Writes the rows of a step into a cache of the site. @param rows [T,heads,D]  @param live of the cache's rows
/// @return the cache, [capacity,heads,D]
Tensor cached(const AttentionSite& site, const char* letter, Tensor rows, std::optional<StepScalar> live,
              std::vector<std::pair<std::string, Tensor>>& updates);

/// [1,heads,T,D] -> [T,heads,D]
Tensor byToken(Tensor x);

} // namespace attn
