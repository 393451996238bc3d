#pragma once

#include "engine/host/attention.h"
#include "engine/host/product.h"

#include <cstddef>
#include <cstdint>

// Code that the kernels of attention share: the scores of a block of queries and keys, and operations on each row of
// them.

namespace attn::host {

inline constexpr float kHiddenScore = -1e30f;
/// The least maximum of a row: exp(kHiddenScore - kLeastMaximum) is 0.
inline constexpr float kLeastMaximum = -1e29f;

/// Numbers, positions or rows [begin, end).
struct Rows {
    int64_t begin = 0, end = 0;
    int64_t count() const { return end - begin; }
};

/// How much of a block of keys a block of queries sees.
enum class Sight { Nothing, Part, All };

/// The least and the largest of the positions of `rows`, or of every `step`th of them.
Rows positionsOf(const int32_t* positions, Rows rows, int64_t step = 1);
/// @param queries the range of the queries' positions
Sight sightOf(const Attention& of, Rows queries, Rows keys);
/// The keys of the sequence that a query belongs to.
Rows keysFor(const Attention& of, int64_t query);

/// Queries of a head that lie `step` apart, against consecutive keys.
struct ScoreBlock {
    int64_t head = 0, query = 0, step = 1, queries = 0;
    Rows keys{};
};
/// The scores [queries, keys] of a block; those of hidden cells are kHiddenScore. @param stride of the scores
void scoreBlock(const Attention& of, const ScoreBlock& block, Sight sight, float* scores, int64_t stride);
/// scoreBlock() in which each score has the same bits for any number of queries and keys beside it.
/// @param scores with room for steadyColumns(keys); those after the block's are undefined
void steadyScores(const Attention& of, const ScoreBlock& block, Sight sight, float* scores, int64_t stride);
/// Rows of keys or of values, followed by rows of zeros: where they are if `places` rows are given, else a copy.
/// @param rows those of one group  @param step floats from one to the next  @param width floats of a row
/// @param which of scratch()
Factor padded(const float* rows, int64_t count, int64_t places, int64_t step, int64_t width, int which);
/// Adds the rule's bias and slopes to products q . k * scale, and hides cells.
void applyRule(const Attention& of, int64_t head, int64_t query, Rows keys, Sight sight, float* scores);
/// Hides up to 32 keys whose bits are not set.
void hideUnset(uint32_t bits, int64_t keys, float* scores);

/// Turns a row of scores into exponentials and updates the row's maximum and sum. @return the factor of what was summed
/// before
float advance(int64_t keys, float* scores, float* maximum, float* sum);
/// Turns a row of scores into exp(score - maximum) * inverse.
void weigh(int64_t keys, float maximum, float inverse, float* scores);
/// Adds what weigh() would give to a row of sums.
void addWeights(int64_t keys, float maximum, float inverse, const float* scores, float* sums);
/// The larger of each score - maximum + shift and what `largest` holds, in place of the latter.
void keepLargest(int64_t keys, float maximum, float shift, const float* scores, float* largest);
/// From a row of scores and one of products dz . v: the pattern, and the gradient of the scores in place of the
/// products. @param gate of the head  @param delta z . dz
void patternGradient(int64_t keys, float maximum, float inverse, float gate, float delta, float scale, float* scores,
                     float* products);
float dot(int64_t count, const float* a, const float* b);

/// Memory of this thread that the next call with the same number overwrites. @param which 0 to 7
float* scratch(size_t floats, int which);

} // namespace attn::host
