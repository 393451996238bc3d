#pragma once

#include "engine/analysis/analysis.h"

#include <memory>
#include <string>
#include <vector>

namespace attn {

/// The predictions of a model if it ended after each layer.
/// @source nostalgebraist 2020, "interpreting GPT: the logit lens". For single tokens of pictures: Vilas et al. 2023,
///         "Analyzing Vision Transformers for Image Classification in Class Embedding Space", arXiv:2310.18969. For the
///         layers of an encoder: Langedijk et al. 2023, "DecoderLens: Layerwise Interpretation of Encoder-Decoder
///         Transformers", arXiv:2310.03686: the decoder reads that layer in place of the last one.
struct LogitLens : AnalysisResult {
    /// The predictions after one layer. A row is a token of a text. Of pictures, row 0 is the classifier as it reads
    /// the layer, and the others are the classifier that reads one token alone; only row 0 exists for a classifier that
    /// reads two tokens.
    struct Stage {
        int layer = -1;      ///< -1: the embedding
        std::string stack{}; ///< "encoder" or "decoder" in a model with both; empty in others
        int rows = 0;
        std::vector<int> ids;                ///< [rows, choices] most likely tokens or classes
        std::vector<float> probabilities;    ///< [rows, choices]
        std::vector<float> entropy;          ///< [rows], nats
        std::vector<int> finalRank;          ///< [rows] number of choices more likely than the final prediction
        std::vector<float> finalProbability; ///< [rows, finals] of the final predictions
        std::string name() const;            ///< "embedding", "layer 0", "encoder layer 0" ...
    };
    int choices = 0;
    bool isOfTokens = true; ///< whether each row has its own final prediction, as in a text
    int finals = 1;         ///< final predictions of each row: 1 of a text, and the most likely classes of a picture
    std::vector<int> final; ///< [rows] of a text, [finals] of a picture: by falling probability
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
    int finals = 12; ///< of pictures
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
    std::vector<int> ids;             ///< [tokens, choices] most likely tokens
    std::vector<float> probabilities; ///< [tokens, choices]
    double meanLoss() const;          ///< NaN for fewer than two tokens
    double perplexity() const;        ///< exp(meanLoss()). @source Jelinek et al. 1977
    void count(FiniteCount& numbers) const override {
        for (const auto* each : {&loss, &entropy}) numbers.add(*each | std::views::drop(1));
        if (loss.size() > 1) numbers.add(perplexity());
    }
};

/// Computes TokenScores; of a model that reads a source, of the target that it writes. A text longer than the context
/// is read in windows that overlap by half, and each token is scored with its longest context.
struct TokenScoresAnalysis : Analysis {
    std::string text{};        ///< empty: `tokens`
    std::vector<int> tokens{}; ///< empty: the current sequence
    int choices = 5;
    std::string key() const override { return "token_scores"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
