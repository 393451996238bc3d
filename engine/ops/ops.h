#pragma once

#include "engine/graph/graph.h"
#include "engine/host/activation.h"

#include <optional>
#include <string>

// The operations, as functions that add a node to the graph of their inputs. Tensors are row-major; on the device, the
// last axis is padded to 4 floats. All functions throw Error if shapes do not fit.

namespace attn {

/// Takes rows of a table. @param ids I32 [T]  @param table [V,C]  @return [T,C]; ids outside 0..V-1 are clamped
Tensor embedding(Tensor ids, Tensor table);

struct MatmulOptions {
    std::optional<Tensor> bias;               ///< [N]
    std::optional<Tensor> residual;           ///< [M,N], added last
    Activation activation = Activation::None; ///< after the bias
    double scale = 1;                         ///< factor of the product, before the bias
    bool keepsArgument = false;               ///< adds the activation's argument as a second output, for the gradient
};
/// x . w^T with weights in [out, in] layout. @param x [...,K]  @param w [N,K]  @return [...,N]
Tensor matmul(Tensor x, Tensor w, const MatmulOptions& options = {});

/// a + b and a * b, element by element; different shapes are broadcast (binary() in tensor_ops.h).
Tensor add(Tensor a, Tensor b);
Tensor multiply(Tensor a, Tensor b);
/// silu(gate) * up, for tensors of one shape. @source Shazeer 2020, "GLU Variants Improve Transformer",
/// arXiv:2002.05202
Tensor swiglu(Tensor gate, Tensor up);
/// An activation, element by element.
Tensor activate(Tensor x, Activation activation);

/// factor * x
Tensor scale(Tensor x, double factor);
/// The sum of all elements. @return [1]
Tensor sum(Tensor x);
/// Repeats one number in every element of `shape`. @param x [1]
Tensor expand(Tensor x, Shape shape);
/// A constant tensor. @param dtype integers can only be 0
Tensor fill(Graph& graph, Shape shape, double value, DType dtype = DType::F32);

/// (x - mean) / sqrt(var + eps) * w + b over the last axis. @source Ba et al. 2016, arXiv:1607.06450
Tensor layerNorm(Tensor x, Tensor w, Tensor b, double epsilon);
/// x / sqrt(mean(x^2) + eps) * w over the last axis. @source Zhang and Sennrich 2019, arXiv:1910.07467
Tensor rmsNorm(Tensor x, Tensor w, double epsilon);

/// Softmax over the last axis. Entries at or below kMasked count as absent; a row with no other entries becomes zeros,
/// or NaN if one is NaN or below 10 kMasked, as no sum of masks is: a score that has overflowed is not hidden.
Tensor softmax(Tensor x);
/// The score of a hidden cell.
inline constexpr double kMasked = -1e30;

struct Rotated {
    Tensor q, k;
};
/// Rotates pairs of the first R features of each head by the position's angles; the other features stay unchanged.
/// @param q         [T,H,D]
/// @param k         [T,G,D]
/// @param table     [P,R]: for each position, R/2 cosines and then R/2 sines
/// @param positions I32 [T], below P
/// @param interleaved pairs are (2i, 2i+1) instead of (i, i + R/2)
/// @source Su et al. 2021, "RoFormer", arXiv:2104.09864, section 3.4
Rotated rotary(Tensor q, Tensor k, Tensor table, Tensor positions, bool interleaved);

/// The keys that a query may see, and the scale of the scores. Positions are data, not indices. A key must meet all of
/// the conditions.
struct AttentionRule {
    double scale = 1;
    bool causal = true; ///< its position is not after the query's
    int64_t window = 0; ///< unless 0: queryPosition - keyPosition < window
    /// Unless 0: the rows of each of several consecutive sequences, a multiple of 4; both are in the same sequence.
    int64_t sequence = 0;
    bool operator==(const AttentionRule&) const = default;
};
/// The tensors of one attention with H query heads and G key/value heads (H is a multiple of G).
struct AttentionInputs {
    Tensor q;             ///< [T,H,D]
    Tensor k;             ///< [S,G,D]; if it has a live length, only that many keys exist
    Tensor v;             ///< [S,G,D]; scores do not use it
    Tensor queryPosition; ///< I32 [T]
    Tensor keyPosition;   ///< I32 [S]
    /// For fusedAttention() without a gradient: added to the scores. [H,N] by the key's position minus the query's,
    /// from -(N - 1) / 2 on, where N is odd; no difference may be larger. Null for none
    Tensor bias{};
};
/// q.k * scale; kMasked where a key is invisible. @return [H,T,S]
Tensor attentionScores(const AttentionInputs& inputs, const AttentionRule& rule);
/// pattern . v for each head. @param pattern [H,T,S]  @param like [T,H,D]: gives the result's shape
/// @return [T,H,D]
Tensor attentionMix(Tensor pattern, Tensor v, Tensor like);
/// attentionMix of the softmax of attentionScores plus bias, without storing either; each head's output is multiplied
/// by its gate.
/// @param gates [H]
/// @source Dao et al. 2022, "FlashAttention", arXiv:2205.14135, algorithm 1 (forward)
Tensor fusedAttention(const AttentionInputs& inputs, Tensor gates, const AttentionRule& rule);

/// The maximum of each row of scores and 1 / the sum of exp(score - maximum), for the queries in a tile's window; other
/// rows are undefined.
/// @param window as in patternTile  @return [H,T,4]: maximum, 1/sum, 0, 0; all 0 for an empty row
Tensor attentionRowStatistics(const AttentionInputs& inputs, Tensor window, const AttentionRule& rule);
/// The part of a pattern in a window, at display resolution, computed from q, k and row statistics. Nothing of size T x
/// S is stored.
/// @param window I32 [8]: queryBegin, queryEnd, keyBegin, keyEnd, rows, columns, firstHead, aggregate (0: each head
/// from
///               firstHead on, 1: mean, 2: maximum of all heads)
/// @param heads  how many heads to draw; 1 if aggregate is not 0
/// @return [heads, size, size]: the largest attention weight that a pixel covers; pixels beyond rows, columns
/// are 0
Tensor patternTile(const AttentionInputs& inputs, Tensor statistics, Tensor window, const AttentionRule& rule,
                   int64_t heads, int64_t size);

/// The last live row. @param x [T,C]  @return [1,C]
Tensor lastRow(Tensor x);

/// The same elements with other extents; free if the padding agrees.
Tensor reshape(Tensor x, Shape shape);

/// Writes `value` over rows [at, at + live rows) of a state. @return the state after the write
Tensor assign(Tensor state, Tensor value, StepScalar at);

struct TopK {
    Tensor values;
    Tensor indices;
};
/// Finds the k largest elements of each row and their columns, largest first; of equals, the lower column first. The
/// gradient of the values goes to the elements that were found.
/// @param x [R,C]  @return values [R,k] and indices I32 [R,k]
TopK topK(Tensor x, int64_t k);

} // namespace attn
