#pragma once

#include "engine/graph/op.h"
#include "engine/host/attention.h"
#include "engine/ops/ops.h"

#include <optional>
#include <span>
#include <vector>

// The plain-loop meaning of masked softmax attention, shared by the ops that compute parts of it.

namespace attn {

/// The rule in a node's attributes.
AttentionRule ruleOf(const Attributes& attributes);
/// The attributes of a node that follows a rule. The keys, or else their positions, give the number of live keys.
Attributes ruleAttributes(const AttentionRule& rule, const AttentionInputs& inputs);
/// Whether row t of the queries sees row s of the keys.
bool isVisible(const AttentionRule& rule, const ReferenceTensor& queryPosition, const ReferenceTensor& keyPosition,
               int64_t t, int64_t s);

/// Checks q [T,H,D], k [S,G,D], I32 positions [T] and [S]. @throws Error with the shapes
void requireAttention(std::span<const TensorType> qkPositions, std::string_view op);

/// The push constants that every attention kernel starts with: T, S, H, G, D/4 (padded), scale, window, causal, the
/// live slots of q and of the keys, sequence. @param types of a node with q and k first and the attributes of a rule
std::vector<uint32_t> attentionPush(const OpTypes& types);

/// The number of tiles that the kernels for small subgroups work on (attention_tile.glsl). A tile has eight rows of one
/// sequence.
int64_t rowTiles(const AttentionRule& rule, int64_t rows);

/// The number of keys that exist in this step, from the node's liveKeys attribute.
int64_t liveKeys(const ReferenceCall& call, int64_t capacity);

/// The problem of a node whose inputs begin with q, k, v, positions of queries and keys, and gates, for the host's
/// kernels. Of seven inputs, the last is a bias. Nodes without values have q, k and the positions first.
class HostAttention {
public:
    explicit HostAttention(const OpTypes& types, bool hasValues = true);
    host::Attention of(const HostRun& run) const;

private:
    TensorType queries_;
    Shape keys_;
    std::optional<Shape> bias_;
    AttentionRule rule_;
    size_t liveKeys_;
    bool hasValues_;
};

/// One row of scores over all keys; kMasked where a key is invisible or not live.
std::vector<double> referenceScores(const ReferenceCall& call, const ReferenceTensor& q, const ReferenceTensor& k,
                                    const ReferenceTensor& queryPosition, const ReferenceTensor& keyPosition, int64_t t,
                                    int64_t head);

struct RowStatistics {
    double maximum = 0;
    double inverseSum = 0; ///< 0 if the row sees nothing
};
RowStatistics statisticsOf(std::span<const double> scores);
double probabilityOf(double score, const RowStatistics& row);

} // namespace attn
