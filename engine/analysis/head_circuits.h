#pragma once

#include "engine/session/analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What a head does by its weights alone, for tokens as they are embedded. The weights of the norms are folded in,
/// their division is left out, and so are positions and biases.
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"
struct HeadCircuits : AnalysisResult {
    int layer = 0, head = 0, choices = 0;
    std::vector<int> tokens; ///< those that are asked about
    struct Pairs {
        std::vector<int> ids;      ///< [tokens, choices], falling
        std::vector<float> values; ///< of them
    };
    Pairs reads;  ///< QK: the keys that each token, as a query, looks for
    Pairs writes; ///< OV: the tokens whose logits rise most when the head looks at the token
    /// Sum of the eigenvalues of the OV circuit over the sum of their sizes: 1 copies, -1 the opposite.
    float copyingScore = 0;
};

struct HeadCircuitsAnalysis : Analysis {
    int layer = 0, head = 0, choices = 8;
    std::vector<int> tokens; ///< empty: those of the present sequence, each once
    std::string key() const override { return "head_circuits"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

/// How much later heads read what earlier ones write, by their weights: |B A| / (|B| |A|) with Frobenius norms.
/// @source Elhage et al. 2021, as above, "Understanding Q-, K- and V-composition"
struct CompositionScores : AnalysisResult {
    enum class Kind : uint8_t { Query, Key, Value };
    int layers = 0, heads = 0;
    std::vector<float> values; ///< [3 kinds, later layer, later head, earlier layer, earlier head]; 0 where not earlier
    float at(Kind kind, int layer, int head, int earlierLayer, int earlierHead) const {
        const auto all = static_cast<size_t>(layers * heads);
        return values[(static_cast<size_t>(kind) * all + static_cast<size_t>(layer * heads + head)) * all +
                      static_cast<size_t>(earlierLayer * heads + earlierHead)];
    }
};

struct CompositionScoresAnalysis : Analysis {
    std::string key() const override { return "composition_scores"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

} // namespace attn
