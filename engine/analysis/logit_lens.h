#pragma once

#include "engine/session/analysis.h"

#include <memory>
#include <string>
#include <vector>

namespace attn {

/// What the model would say if it ended after each layer.
/// @source nostalgebraist 2020, "interpreting GPT: the logit lens"
struct LogitLens : AnalysisResult {
    std::vector<std::string> stages; ///< "embedding", "layer 0", ...
    int tokens = 0, choices = 0;
    // Of each stage and token:
    std::vector<int> ids;             ///< [stages, tokens, choices] likeliest next tokens
    std::vector<float> probabilities; ///< of them
    std::vector<float> entropy;       ///< [stages, tokens], nats
    std::vector<int> finalRank; ///< [stages, tokens]: how many tokens are likelier than what the model says in the end
    std::vector<float> finalProbability; ///< of what it says in the end
    std::vector<int> final;              ///< [tokens]
};

struct LogitLensAnalysis : Analysis {
    int choices = 5;
    std::string key() const override { return "logit_lens"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

/// How well a text is predicted, token by token.
struct TokenScores : AnalysisResult {
    std::vector<int> tokens;
    // Of each token, as told from those before it; the first has nothing before it: NaN, -1 and no choices.
    std::vector<float> loss;    ///< -ln p
    std::vector<float> entropy; ///< nats
    std::vector<int> rank;      ///< tokens that were likelier
    int choices = 0;
    std::vector<int> ids;             ///< [tokens, choices] what was likeliest
    std::vector<float> probabilities; ///< of them
    double meanLoss() const;          ///< NaN for fewer than two tokens
    double perplexity() const;        ///< exp of it. @source Jelinek et al. 1977
};

/// Any text, also longer than the context: windows that overlap by half, of which each token's latest context counts.
struct TokenScoresAnalysis : Analysis {
    std::string text{};        ///< empty: the tokens
    std::vector<int> tokens{}; ///< empty: the present sequence
    int choices = 5;
    std::string key() const override { return "token_scores"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

} // namespace attn
