#pragma once

#include "engine/ops/ops.h"

// Attention of a step whose rows continue several sequences. Which sequence a row belongs to, and where the keys of a
// sequence lie, is data.

namespace attn {

/// Rows of a page: keys of one sequence that lie one after another in the cache.
inline constexpr int64_t kPageRows = 32;

/// The sequences of a step, of which B may exist. @source Kwon et al. 2023, "Efficient Memory Management for Large
/// Language Model Serving with PagedAttention", arXiv:2309.06180, section 4.1
struct PagedSequences {
    Tensor sequence; ///< I32 [T], below B: that of each row
    Tensor pages; ///< I32 [B,N]: the page that holds rows kPageRows i and later of a sequence. Sequences may share some
    Tensor lengths; ///< I32 [B]: the number of keys of each, those of this step included
};

/// fusedAttention() in which a row sees only the keys of its own sequence. Rules of sequences and biases have no
/// meaning here; a row has the same bits whatever other rows are in the step.
/// @param inputs k and v [S,G,D] with S a multiple of kPageRows
Tensor pagedAttention(const AttentionInputs& inputs, const PagedSequences& sequences, Tensor gates,
                      const AttentionRule& rule);

/// Writes each live row of `value` over a row of a state. @param rows I32 [T], different; rows that the state does not
/// have are not written  @return the state after the write
Tensor assignRows(Tensor state, Tensor value, Tensor rows);

} // namespace attn
