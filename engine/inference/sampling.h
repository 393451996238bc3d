#pragma once

#include "engine/core/param.h"
#include "engine/inference/token_limits.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// How the next token is drawn from the logits. Order: repetition penalty, temperature, top-k, top-p, min-p.
struct Sampling {
    bool greedy = true;       ///< take the most probable token; only the penalty of the other fields applies then
    float temperature = 1.0f; ///< > 0
    int topK = 0;             ///< 0: all tokens
    float topP = 1.0f; ///< keep the smallest set whose mass reaches topP (Holtzman et al. 2020, arXiv:1904.09751)
    float minP = 0.0f; ///< drop tokens below minP * the top probability (Nguyen et al. 2024, arXiv:2407.01082)
    /// Divides positive and multiplies negative logits of tokens that occurred.
    /// @source Keskar et al. 2019, arXiv:1909.05858, section 4.1
    float repetitionPenalty = 1.0f;
    uint64_t seed = 0;
    bool operator==(const Sampling&) const = default;
};

/// How a folder says that tokens are chosen.
Sampling samplingOf(const GenerationRules::Choice& choice);

/// The fields of Sampling, for generated controls.
std::span<const Param> samplingParams();

/// A step of the sampling that leaves tokens out.
enum class SamplingFilter : uint8_t { None, TopK, TopP, MinP };

/// One candidate for the next token.
struct Candidate {
    int token = 0;
    float logit = 0;                              ///< raw, before penalty and temperature
    float probability = 0;                        ///< under the sampling settings; 0 if filtered out
    SamplingFilter filter = SamplingFilter::None; ///< that has left it out
    bool operator==(const Candidate&) const = default;
};

/// Candidates by falling probability, then by falling raw logit.
/// @param logits [V]
/// @param seen   token ids that the repetition penalty applies to
/// @param limit  largest number of candidates; filtered tokens follow with probability 0
/// @param limits of the model's folder
/// @throws Error if temperature <= 0 without `greedy`, if every token is barred, or as requireLogits()
std::vector<Candidate> rankCandidates(std::span<const float> logits, const Sampling& sampling,
                                      std::span<const int> seen, int limit, const TokenLimits& limits = {});

/// Draws the next token. Deterministic in (sampling.seed, position).
/// @param position index of the token to be drawn, the counter of the random numbers
Candidate sampleToken(std::span<const float> logits, const Sampling& sampling, std::span<const int> seen,
                      uint64_t position, const TokenLimits& limits = {});

} // namespace attn
