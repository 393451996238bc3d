#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_target.h"

#include <string>
#include <vector>

namespace attn {

/// The contribution of each component of a model to a logit. Contributions use the scale of the final norm in this run,
/// so they sum to the logit. Those of pictures cover all tokens that the classifier reads, and everything before the
/// last merging or pooling of tokens is in "rest". Of a model with an encoder, they are the parts of the decoder: its
/// cross-attention adds what it reads from the encoder.
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; nostalgebraist 2020. For vision
///         transformers: Gandelsman et al. 2024, "Interpreting CLIP's Image Representation via Text-Based
///         Decomposition", arXiv:2310.05916
struct LogitAttribution : AnalysisResult {
    enum class Kind : uint8_t {
        Embedding,
        Position,
        Head,
        AttentionBias, ///< b_O, which is not part of a head
        Attention,     ///< all heads of a site, if their outputs are mixed before they are added
        FeedForward,
        Rest, ///< all other terms: changes, positions that layers add, and layers before a merging of tokens
        Bias  ///< biases of the final norm and the unembedding
    };
    struct Component {
        Kind kind = Kind::Embedding;
        int layer = -1, head = -1;
        int site = -1;      ///< of a head
        std::string name{}; ///< "L2 H1", "Cross L0 H3", "L2 MLP", "embedding" ...
        float value = 0;
    };
    int position = 0; ///< of texts: the logit is that of the token after this one
    LogitTarget target;
    float logit = 0; ///< the logit as the model computes it
    std::vector<Component> components;
    void count(FiniteCount& numbers) const override {
        numbers.add(logit);
        for (const Component& component : components) numbers.add(component.value);
    }
};

/// Computes LogitAttribution.
struct LogitAttributionAnalysis : Analysis {
    int position = -1; ///< of texts; -1: the row that the readout reads, RunningModel::predictedRow()
    LogitTarget target;
    std::string key() const override { return "logit_attribution"; }
    /// @throws Error if the final norm is not a layer norm or RMS norm of one residual stream
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

/// The same question, asked for every answer that is on screen: its result does not replace one that a person asked
/// for.
struct LogitFlowAnalysis : LogitAttributionAnalysis {
    std::string key() const override { return "logit_flow"; }
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

} // namespace attn
