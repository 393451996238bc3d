#pragma once

#include "engine/analysis/logit_target.h"
#include "engine/session/analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What each part of a model adds to a logit, under the final norm's own scale: the numbers sum to the logit.
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; nostalgebraist 2020
struct LogitAttribution : AnalysisResult {
    enum class Kind : uint8_t {
        Embedding,
        Position,
        Head,
        AttentionBias, ///< b_O, which belongs to no head
        Attention,     ///< all heads together, where their outputs are mixed before they are added
        FeedForward,
        Rest, ///< what reaches the stream in other ways: interventions, positions that layers add
        Bias  ///< of the final norm and the unembedding
    };
    struct Component {
        Kind kind = Kind::Embedding;
        int layer = -1, head = -1;
        float value = 0;
        std::string name() const; ///< "layer 2, head 1"
    };
    int position = 0; ///< token after which the logit is
    LogitTarget target;
    float logit = 0; ///< as the model computes it
    std::vector<Component> components;
};

struct LogitAttributionAnalysis : Analysis {
    int position = -1; ///< -1: the last token
    LogitTarget target;
    std::string key() const override { return "logit_attribution"; }
    /// @throws Error where the final norm is not a layer or RMS norm
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

} // namespace attn
