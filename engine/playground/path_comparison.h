#pragma once

#include "engine/playground/attention_run.h"
#include "engine/playground/playground_map.h"

#include <optional>

namespace attn {

/// How the output of an attention is computed.
enum class AttentionPath : uint8_t {
    Formed, ///< all scores and weights lie in memory
    Tiled   ///< the fused kernel walks over tiles of 8 queries by 32 keys and keeps a running maximum and sum
};

/// Bytes between operations and device memory, if each dispatch reads each of its inputs once and writes its outputs.
struct Traffic {
    double read = 0, written = 0;
    double total() const { return read + written; }
    bool operator==(const Traffic&) const = default;
};

/// The bytes that both paths of an attention move to compute its output, from their plans.
/// @source Rabe and Staats 2021, "Self-attention Does Not Need O(n^2) Memory", arXiv:2112.05682, section 2; Dao et al.
/// 2022, "FlashAttention", arXiv:2205.14135, section 3.2
struct PathTraffic {
    Traffic tiles, formed;
    /// The bytes that the tiles read if no cache keeps keys and values between blocks of queries.
    double uncachedRead = 0;
    /// The tiles that the kernel walks over, [heads, 1, blocks of queries, blocks of keys]: the share of its cells that
    /// the mask shows; NaN for a tile that is left out.
    PlaygroundMap walked;
};

/// @return nothing if the fused kernel cannot compute the spec  @throws Error as check()
std::optional<PathTraffic> pathTraffic(const AttentionSpec& spec, const AttentionSizes& sizes);

/// The outputs of both paths, compared.
struct PathComparison {
    PathTraffic traffic;
    PlaygroundMap output;                            ///< "z" by tiles, [H, 1, T, D]
    double largestDifference = 0, largestOutput = 0; ///< of absolute values
};

/// Compares an output that was computed from a whole pattern with that of the tiles.
/// @param tiles an attention that computes "z" alone, after its run  @param formed the map "z" of the same inputs
PathComparison comparePaths(PathTraffic traffic, const AttentionRun& tiles, const PlaygroundMap& formed);

} // namespace attn
