#pragma once

#include "engine/attention/slot.h"
#include "engine/core/citation.h"
#include "engine/core/param.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The stages through which an attention flows. A part acts at the stages for which it has a hook; within a stage parts
/// act in the order of their slots.
enum class Stage : uint8_t {
    Inputs,      ///< the stream that q and k (and v) are made of
    QueriesKeys, ///< q and k, before any score: rotations, norms
    Scores,      ///< sets the scores [B,H,T,S]
    Bias,        ///< changes the scores before the mask
    Mask,        ///< hides more cells than the mask's expression does, or weighs them
    Normalise,   ///< sets the pattern [B,H,T,S], or z where none is formed
    Weights,     ///< changes the pattern
    Output       ///< changes z [B,H,T,D], which is pattern . v unless it was set
};

/// Turns of pairs of features of queries and keys by angles that grow with the position.
struct Rotation {
    std::vector<double> frequencies; ///< [R/2] radians per position, of each pair
    bool isInterleaved = false;      ///< pairs are (2m, 2m+1), not (m, m + R/2)
};
/// For masks: the distances from a query at which keys are visible, before and after it.
struct MaskBand {
    int64_t behind = 0, ahead = 0;
};

class DependencyTree;
struct Part;
struct AttentionFlow;
struct BlockHooks;
struct FusedScores;
struct ReferenceFlow;

/// The work of a part at one stage: graph nodes, and the plain loops in double that define it.
struct Hook {
    Stage stage;
    void (*build)(AttentionFlow& flow, PartValues values);
    void (*reference)(ReferenceFlow& flow, PartValues values);
    /// Does the work of `build` without forming any cell, for hooks at Scores, Bias, Mask and Normalise. Null if the
    /// fused kernel has no such term: the spec then forms its scores.
    void (*fuse)(AttentionFlow& flow, PartValues values, FusedScores& fused) = nullptr;
};

/// The masks that a part supports.
enum class MaskSupport : uint8_t {
    Any,
    FullOrCausal, ///< running sums stop at the query, nothing finer
    CausalOnly,   ///< rows are read one after another
    FullOnly      ///< every position takes part in every other's result: never under a causal task
};

class BitRow;
struct MaskCall;

/// Why a part cannot work with its values, and the value of one parameter, or the list, with which it can.
struct PartProblem {
    std::string sentence;
    std::string_view param;
    double value = 0;
    std::vector<double> list{}; ///< of a part that takes one
};

/// What only masks have. Those that depend on the content have none of the functions.
struct MaskTraits {
    /// Sets the bits of the keys that one query sees in a row where none is set.
    /// @throws Error if the mask has no meaning for the call's size
    void (*row)(const MaskCall& call, int64_t query, BitRow& row) = nullptr;
    /// The table that `row` reads, computed once for the values. @throws Error if the values do not fit together
    std::vector<int64_t> (*prepare)(PartValues values) = nullptr;
    /// The band around every query that the mask shows, whatever the size; null for others.
    MaskBand (*band)(PartValues values) = nullptr;
    /// The parameter that says how wide the window is; empty for masks without one.
    std::string_view windowWidth{};
    /// Whether it works where the keys are those of another sequence: it compares no position of a query with one of a
    /// key.
    bool readsOtherSequence = false;
    /// The number of the last `params` that a term may omit. They then have their initial values.
    size_t optionalParams = 0;
};

/// What only positions have.
struct PositionTraits {
    bool isRelative = false;       ///< scores depend on the distance of query and key
    bool fitsWindow = false;       ///< "rows" and "cols" are those of the window that the tokens lie in
    bool namesSegments = false;    ///< "g" and "n" are the number and the length of a text's segments
    bool labelsCells = false;      ///< adds a vector by label to each key, which the block-sparse kernel reads
    bool multipliesScores = false; ///< what it does to scores is not a sum of terms
    DependencyTree (*tree)(PartValues values) = nullptr; ///< of those in a tree over the tokens: the tree
    /// The parameter [2 R + 1, D]. The row of the distance, up to R, is added to each value. Empty: none is.
    std::string_view addedToValues{};
    /// Of those that only rotate queries and keys: the rotation; null for others.
    Rotation (*rotation)(PartValues values, int64_t headWidth) = nullptr;
};

/// What only scores have.
struct ScoreTraits {
    /// Of scores that are q.k times a factor: the factor for a head width; null for other scores.
    double (*dotScale)(PartValues values, int64_t headWidth) = nullptr;
};

/// What only normalisers and mixers have, which mix the rows.
struct MixTraits {
    MaskSupport masks = MaskSupport::Any;
    /// Of those that support few masks: the part of the same slot that does the same under a causal mask; null if there
    /// is none.
    const Part* causalForm = nullptr;
    bool usesScores = true;           ///< false where q and k meet in another way than score and bias
    bool isSoftmax = false;           ///< weights are the softmax of the scores
    bool approximatesSoftmax = false; ///< on average
    bool replacesAttention = false;   ///< of mixers: no pattern mixes the values
    bool mixesStream = false;         ///< of mixers: acts on the rows of the stream, without projections and heads
    bool ignoresZeroRows = false;     ///< without scores: rows of zeros change no other row
    bool keepsState = false;          ///< under a causal mask, a running state replaces the keys
    bool needsSharedQueryKey = false; ///< works only on queries that are also keys
    /// Of those in which a query meets only some of the keys that the mask shows: the number of pairs in a head. If the
    /// content chooses them, this is the largest number, or about the number under a causal mask. Null: all pairs that
    /// the mask shows.
    double (*pairs)(PartValues values, int64_t tokens, bool isCausal) = nullptr;
};

/// One mechanism of the literature that combines with others: a value. It is in the interface, in the listings and in
/// the tests by being in the catalogue.
struct Part {
    std::string_view id; ///< "alibi"; unique in its slot
    Slot slot;
    std::string_view title;
    std::string_view idea;    ///< two sentences
    std::string_view formula; ///< one line, in the letters of the conventions
    Citation source;
    std::span<const Param> params{};
    std::string_view time, memory; ///< growth with T (and S, D, w ...), as in "O(T^2 D)"

    std::string_view caution{}; ///< a sentence where a part leaks what a mask hides, as in its own paper
    /// A complete composition in which to train the part, if alone it would hide every key from some tokens, or if its
    /// paper combines it with others. Empty for other parts.
    std::string_view whole{};
    std::vector<Hook> hooks{};

    MaskTraits mask{};
    PositionTraits position{};
    ScoreTraits score{};
    MixTraits mix{};
    /// The functions of a part of the block around the attention, for the slots from Norm on.
    const BlockHooks* block = nullptr;

    /// The last of `params` describes the members of a list of any length from 1.
    bool takesList = false;
    std::span<const double> initialList{}; ///< the list to begin with
    /// Checks the values for a head width. @return nothing if they work
    std::optional<PartProblem> (*checkValues)(PartValues values, int64_t headWidth) = nullptr;

    bool sharesQueryKey = false;    ///< of heads: keys are made of the queries and have no projection of their own
    bool knowsGrid = false;         ///< "leading" is the number of tokens before the patches of a picture
    bool actsOnScores = false;      ///< of positions, heads and projections: needs a normaliser that uses scores
    bool stopsStates = false;       ///< of memories: reads keys and values of states through which nothing is learned
    bool mixesHeads = false;        ///< cannot be fused into a kernel that works head by head
    bool needsEqualLengths = false; ///< self-attention only: S = T
    bool isRandom = false;          ///< draws from a seed among its values
    bool readsLaterRows = false;    ///< later tokens change which keys a query sees
};

/// MixTraits::pairs of a part in which no query meets a single key.
inline double noPairs(PartValues, int64_t, bool) { return 0; }

} // namespace attn
