#pragma once

#include "engine/analysis/analysis.h"

#include <memory>
#include <string>
#include <vector>

namespace attn {

/// The tokens that a model would predict if it ended after each layer.
/// @source nostalgebraist 2020, "interpreting GPT: the logit lens"
struct LogitLens : AnalysisResult {
    std::vector<std::string> stages; ///< "embedding", "layer 0", ...
    int tokens = 0, choices = 0;
    std::vector<int> ids;                ///< [stages, tokens, choices] most likely next tokens
    std::vector<float> probabilities;    ///< [stages, tokens, choices]
    std::vector<float> entropy;          ///< [stages, tokens], nats
    std::vector<int> finalRank;          ///< [stages, tokens] number of tokens more likely than the final prediction
    std::vector<float> finalProbability; ///< [stages, tokens] probability of the final prediction
    std::vector<int> final;              ///< [tokens] the final prediction
};

/// Computes LogitLens.
struct LogitLensAnalysis : Analysis {
    int choices = 5;
    std::string key() const override { return "logit_lens"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

/// How well a model predicts a text, token by token. The first token has no prediction: NaN, rank -1 and no choices.
struct TokenScores : AnalysisResult {
    std::vector<int> tokens;
    std::vector<float> loss;    ///< [tokens] -ln(probability of the token)
    std::vector<float> entropy; ///< [tokens] of the prediction, in nats
    std::vector<int> rank;      ///< [tokens] number of tokens that were more likely
    int choices = 0;
    std::vector<int> ids;             ///< [tokens, choices] most likely tokens
    std::vector<float> probabilities; ///< [tokens, choices]
    double meanLoss() const;          ///< NaN for fewer than two tokens
    double perplexity() const;        ///< exp(meanLoss()). @source Jelinek et al. 1977
};

/// Computes TokenScores. A text longer than the context is read in windows that overlap by half, and each token is
/// scored with its longest context.
struct TokenScoresAnalysis : Analysis {
    std::string text{};        ///< empty: `tokens`
    std::vector<int> tokens{}; ///< empty: the current sequence
    int choices = 5;
    std::string key() const override { return "token_scores"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
