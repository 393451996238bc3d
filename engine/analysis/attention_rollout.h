#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_target.h"
#include "engine/inference/site_pattern.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// How to combine the heads of a layer into one map.
enum class HeadFusion : uint8_t { Mean, Maximum, Minimum };

/// Options of attentionRollout().
struct RolloutOptions {
    HeadFusion fusion = HeadFusion::Mean;
    double discard = 0; ///< share of the lowest cells of each layer that are set to 0, from 0 to below 1
    bool operator==(const RolloutOptions&) const = default;
};

/// How much of each input token reaches each token of the last layer: the product of the maps of all layers. The map of
/// a layer is its fused pattern plus the identity for the skip connection, with rows scaled to sum to 1. A merged token
/// takes the mean of its tokens.
/// @param patterns one per layer, first to last
/// @return rows are tokens of the last layer, columns those of the first; rows sum to 1
/// @throws Error if sizes do not fit, or `discard` is out of range
/// @source Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv:2005.00928, section 3. The paper
///         has neither discarding, nor fusion other than the mean (both: Gildenblat 2020, "Explainability for Vision
///         Transformers"), nor the mean over merged tokens (ours).
TokenMap attentionRollout(std::span<const SitePattern> patterns, const RolloutOptions& options = {});

/// The relevance of each input token for the logit of a class, for each token of the last layer. R starts as the
/// identity, and each layer replaces R by R + A R, where A is the mean over heads of the positive part of pattern times
/// gradient.
/// @param patterns one per layer, first to last
/// @param gradients of the class's logit with respect to the patterns, in the same shapes
/// @return rows are tokens of the last layer, columns those of the first
/// @throws Error if sizes do not fit
/// @source Chefer et al. 2021, "Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
///         Transformers", arXiv:2103.15679, section 3.1, equations 5 and 6
TokenMap gradientRollout(std::span<const SitePattern> patterns, std::span<const std::vector<float>> gradients);

/// The gradient of a logit with respect to all attention weights.
struct LogitGradients {
    LogitTarget target;
    std::vector<std::vector<float>> byLayer; ///< in the shape of SitePattern::values
};
/// @param row of texts: the token after which the logit is predicted
/// @throws Error if the model has no readout or no such logit, or a layer forms no pattern
LogitGradients logitGradients(RunningModel& model, const Input& input, const LogitTarget& target, int row = -1);

/// The layers that a rollout passes, one map each, and one more wherever tokens merge.
/// @param patterns one per layer, first to last
std::vector<TokenMap> rolloutSteps(std::span<const SitePattern> patterns, const RolloutOptions& options = {});

/// The result of a RolloutAnalysis. Of a model with an encoder and a decoder, `map` has the rows and columns of
/// TextRows, and each site changes the rows of its queries: cross-attention adds rows of the source to those of the
/// text. Our extension of Abnar and Zuidema 2020 to two streams.
struct Rollout : AnalysisResult {
    TokenMap map;                        ///< from attentionRollout(), or from gradientRollout() with a target
    std::optional<LogitTarget> target{}; ///< its gradient weights the patterns
    int row = -1;                        ///< the row of the last stream that `ofRow` and `flow` are of; -1: their mean
    std::vector<float> ofRow;            ///< [rows of the input] the row of `map`
    /// [rows of the input] maximumFlows() to the row, scaled so that the sum is 1. The paper gives the flows
    /// themselves. Empty unless wanted, and beyond kMostFlowing rows.
    std::vector<float> flow;
    static constexpr int kMostFlowing = 128;
    void count(FiniteCount& numbers) const override {
        for (const auto* each : {&map.values, &ofRow, &flow}) numbers.add(*each);
    }
};

/// How much of each token or patch reaches the last layer.
struct RolloutAnalysis : Analysis {
    RolloutOptions options{};            ///< without effect on a rollout with a target
    std::optional<LogitTarget> target{}; ///< weights the patterns by the gradient of this logit
    /// The row of the last layer after which the target is predicted. -1: the row of a text that the readout reads
    /// (RunningModel::predictedRow()), or in a picture the first token before the patches, or else the mean of all
    /// patches.
    int row = -1;
    bool wantsFlow = false;
    std::string key() const override { return wantsFlow ? "flow" : "rollout"; }
    /// @throws Error also if a layer forms no pattern
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

} // namespace attn
