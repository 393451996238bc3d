#pragma once

#include "engine/host/function.h"
#include "engine/ops/ops.h"

#include <cstdint>
#include <span>
#include <vector>

// General operations on whole tensors of up to 5 axes, from which attention mechanisms are composed. Negative axes
// count from the last. Tensors are F32 unless stated otherwise. All functions throw Error if shapes do not fit or an
// input has a live length. All have gradients unless stated otherwise.

namespace attn {

// Products ------------------------------------------------------------------------------------------------------------

struct BatchedMatmulOptions {
    bool transposeA = false; ///< a is [...,K,M]
    bool transposeB = false; ///< b is [...,N,K]
    double scale = 1;        ///< factor of the product
};
/// Multiplies matrices; leading axes are broadcast as in binary(). @param a [...,M,K]  @param b [...,K,N]
/// @return [...,M,N]
Tensor batchedMatmul(Tensor a, Tensor b, const BatchedMatmulOptions& options = {});

// Rearranging (F32 and I32) -------------------------------------------------------------------------------------------

/// Reorders axes: axis i of the result is axis order[i] of x.
Tensor permute(Tensor x, std::vector<int> order);
/// Takes indices begin .. begin + length - 1 of one axis.
Tensor slice(Tensor x, int axis, int64_t begin, int64_t length);
/// Adds zeros before and after one axis.
Tensor pad(Tensor x, int axis, int64_t before, int64_t after);
/// Joins tensors along an axis; their other axes must agree.
Tensor concatenate(std::span<const Tensor> tensors, int axis);
/// Repeats x along axes that it lacks or that have extent 1. Axes are aligned at the last.
Tensor broadcast(Tensor x, Shape shape);

// Element by element --------------------------------------------------------------------------------------------------

/// Applies a function to every element.
Tensor unary(Tensor x, Unary function);
/// factor * x + offset
Tensor affine(Tensor x, double factor, double offset);
/// min(max(x, low), high); slope 1 from low to high, both included, and 0 outside
Tensor clamp(Tensor x, double low, double high);

/// Applies a function to pairs of elements. Axes are aligned at the last; a tensor is repeated along axes that it lacks
/// or that have extent 1.
Tensor binary(Tensor a, Tensor b, Binary function);
/// Takes a where the condition is not 0, else b; shapes are broadcast as in binary(). The condition has no gradient,
/// and elements that are not chosen get gradient 0.
Tensor select(Tensor condition, Tensor a, Tensor b);

/// I32 to F32; exact below 2^24. No gradient.
Tensor toReal(Tensor x);
/// F32 to I32, rounded down. No gradient.
Tensor toInteger(Tensor x);
/// x without a gradient; free.
Tensor stopGradient(Tensor x);

/// Turns columns by distance into columns by key: result[..,t,s] = x[..,t, s - t + T - 1].
/// @param x [...,T,T+S-1]: the distance s - t rises from -(T - 1) to S - 1  @return [...,T,S]
Tensor diagonals(Tensor x, int64_t keys);
/// Turns columns by key into columns by distance, with zeros where no key has the distance. @param x [...,T,S]  @return
/// [...,T,T+S-1]
Tensor undiagonals(Tensor x);

// Reductions and running sums -----------------------------------------------------------------------------------------

enum class Reduction : uint8_t {
    Sum,
    Mean,
    Maximum ///< equal maxima share the gradient
};
/// Reduces the given axes, which keep extent 1.
Tensor reduce(Tensor x, Reduction reduction, const std::vector<int>& axes);
/// The logarithm of the sum of exp over the last axis, without overflow. @param x [...,C]  @return [...,1]
Tensor logSumExp(Tensor x);

struct CumulativeOptions {
    bool exclusive = false; ///< excludes the element itself
    bool reverse = false;   ///< from the last element to the first
};
/// Running sums along an axis. They cost least along axes other than the last.
Tensor cumulativeSum(Tensor x, int axis, const CumulativeOptions& options = {});

// By index ------------------------------------------------------------------------------------------------------------

/// result[n..,r,:] = x[n..,ids[n..,r],:], zeros where an id is below 0 or not below S.
/// @param x   [N...,S,C], or [S,C] for all N  @param ids I32 [N...,R]  @return [N...,R,C]
Tensor take(Tensor x, Tensor ids);
/// Rows that lie in pages, in the order of a table: row r of sequence b is row r % S of page table[b, r / S]; zeros
/// where a page is below 0 or not below P. Costs least where C is a multiple of 4.
/// @param pages [P,S,C]  @param table I32 [B,L]  @return [B, L S, C]
/// @source Kwon et al. 2023, "PagedAttention", arXiv:2309.06180, section 4.1
Tensor gatherPages(Tensor pages, Tensor table);
/// result[n..,s,:] = the sum of x[n..,r,:] over r with ids[n..,r] = s, in ascending r, so the result is always the same
/// to the bit.
/// @param x [N...,R,C]  @param ids I32 [N...,R]  @return [N...,S,C]
Tensor put(Tensor x, Tensor ids, int64_t S);

/// The column of the largest element of each row; of equals, the lowest column. No gradient.
/// @param x [...,C]  @return I32 [...], [1] for one row
Tensor argmax(Tensor x);
/// The columns of each row in ascending order of their elements; equals in order of column, NaN last. No gradient.
/// @param x [...,C]  @return I32 [...,C]
Tensor sortOrder(Tensor x);
/// result[..., order[..., i]] = i. No gradient.
/// @param order I32 [...,C], each row a permutation of 0..C-1 (else the result is undefined)  @return I32 [...,C]
Tensor inverseOrder(Tensor order);

} // namespace attn
