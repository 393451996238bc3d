#pragma once

#include "engine/analysis/analysis.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// The predictions of a model if it ended after each layer.
/// @source nostalgebraist 2020, "interpreting GPT: the logit lens". For single tokens of pictures: Vilas et al. 2023,
///         "Analyzing Vision Transformers for Image Classification in Class Embedding Space", arXiv:2310.18969. For the
///         layers of an encoder: Langedijk et al. 2023, "DecoderLens: Layerwise Interpretation of Encoder-Decoder
///         Transformers", arXiv:2310.03686: the decoder reads that layer in place of the last one.
struct LogitLens : AnalysisResult {
    /// The predictions after one layer. In a text, a row is a token. With classes, row 0 is the classifier's reading of
    /// the whole layer. In a picture, the other rows are its readings of single tokens, unless it reads two tokens.
    struct Stage {
        int layer = -1;      ///< -1: the embedding
        std::string stack{}; ///< "encoder" or "decoder" in a model with both; empty in others
        int rows = 0;
        std::vector<int> ids;                ///< [rows, choices] most probable tokens or classes
        std::vector<float> probabilities;    ///< [rows, choices]
        std::vector<float> entropy;          ///< [rows], nats
        std::vector<int> finalRank;          ///< [rows] number of choices more likely than the final prediction
        std::vector<float> finalProbability; ///< [rows, finals] of the final predictions
        std::string name() const;            ///< "embedding", "layer 0", "encoder layer 0" ...
    };
    int choices = 0;
    bool isOfTokens = true; ///< whether tokens are predicted, each row its own; false: classes of the whole input
    int finals = 1;         ///< final predictions of each row: 1 of tokens, else the most probable classes
    std::vector<int> final; ///< [rows] of tokens; [finals] of classes, by falling probability
    /// The stages that the readout can read. For pictures, those after the last merging of tokens.
    std::vector<Stage> stages;
    void count(FiniteCount& numbers) const override {
        for (const Stage& stage : stages)
            for (const auto* each : {&stage.probabilities, &stage.entropy, &stage.finalProbability}) numbers.add(*each);
    }
};

/// Computes LogitLens.
struct LogitLensAnalysis : Analysis {
    int choices = 5;
    int finals = 12; ///< of classes
    std::string key() const override { return "logit_lens"; }
    /// @throws Error if the model has no readout
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

/// How well a model predicts a text, token by token. The first token has no prediction: NaN, rank -1 and no choices.
struct TokenScores : AnalysisResult {
    std::vector<int> tokens;
    std::vector<float> loss;    ///< [tokens] -ln(probability of the token)
    std::vector<float> entropy; ///< [tokens] of the prediction, in nats
    std::vector<int> rank;      ///< [tokens] number of tokens that were more likely
    int choices = 0;
    std::vector<int> ids;             ///< [tokens, choices] most probable tokens
    std::vector<float> probabilities; ///< [tokens, choices]
    double meanLoss() const;          ///< NaN for fewer than two tokens
    double perplexity() const;        ///< exp(meanLoss()); infinite above 709 nats. @source Jelinek et al. 1977
    void count(FiniteCount& numbers) const override {
        if (loss.size() < 2) return; // the first token has no prediction
        for (const auto* each : {&loss, &entropy})
            numbers.add(std::span(*each).subspan(1)); // a perplexity may overflow
    }
};

/// Computes TokenScores for a text, or for the target of a model that reads a source. A text longer than the context is
/// read in windows that overlap by half, and each token is scored with its longest context.
struct TokenScoresAnalysis : Analysis {
    std::string text{};        ///< empty: `tokens`
    std::vector<int> tokens{}; ///< empty: the current sequence
    int choices = 5;
    std::string key() const override { return "token_scores"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
