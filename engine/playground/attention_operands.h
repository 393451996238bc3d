#pragma once

#include "engine/attention/head_counts.h"
#include "engine/playground/attention_run.h"

#include <filesystem>
#include <string>
#include <vector>

namespace attn {

/// The most tokens and the largest width of heads that a single attention takes.
inline constexpr int64_t kMostOperandRows = 65536, kMostOperandWidth = 1024;

/// The inputs of a single attention.
struct AttentionOperands {
    AttentionSizes sizes{};
    std::vector<float> q{}, k{}, v{};   ///< [H,T,D], [G,S,D], [G,S,D]
    std::vector<std::string> leftOut{}; ///< other tensors of the file
};

/// Reads the tensors q, k and v of a safetensors file: [heads, tokens, width], or [tokens, width] for one head.
/// @throws Error naming the file, the tensor and the shape if one is missing, empty, too large or does not fit the
/// others
AttentionOperands readAttentionOperands(const std::filesystem::path& file, const HeadCounts& counts);

} // namespace attn
