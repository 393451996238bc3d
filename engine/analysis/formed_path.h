#pragma once

#include "engine/analysis/analysis.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

struct ModelInfo;

/// How far logits of a run lie from those of the formed path. What both bar is no difference.
struct FormedDistance {
    float difference = 0, largest = 0; ///< the largest difference, and the largest logit, of the absolute values
    /// @throws Error as requireLogits(), for either row
    void add(const ModelInfo& model, std::span<const float> own, std::span<const float> formed);
};

/// The prediction of a run beside that of the formed path, which computes the same with whole patterns, and without
/// fused kernels, a key/value cache or a running state. They differ only by rounding.
struct FormedPath : AnalysisResult {
    std::vector<int> ids;                          ///< most probable tokens or classes of the run; none is barred
    std::vector<float> ownLogits, formedLogits;    ///< [ids]
    float largestDifference = 0, largestLogit = 0; ///< of the absolute values, over all tokens or classes
    int best = 0, bestFormed = 0;                  ///< the most probable token or class of either
    void count(FiniteCount& numbers) const override {
        for (const auto* each : {&ownLogits, &formedLogits}) numbers.add(*each);
        numbers.add(largestDifference);
        numbers.add(largestLogit);
    }
};

/// Computes FormedPath.
struct FormedPathAnalysis : Analysis {
    int choices = 12;
    std::string key() const override { return "formed_path"; }
    /// @throws Error if the model has no readout
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
