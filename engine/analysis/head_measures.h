#pragma once

#include "engine/analysis/analysis.h"

#include <array>
#include <span>
#include <vector>

namespace attn {

/// A number about where a head looks in the input, as the mean over the queries.
struct HeadMeasure {
    enum Id { Entropy, Distance, First, Self, Previous, Count };
    const char* id;      ///< "entropy"
    const char* title;   ///< "entropy, in bits"
    const char* meaning; ///< a sentence
    const char* source;  ///< the paper; empty: the definition is ours
    bool isShare;        ///< from 0 to 1
};
/// All measures, by HeadMeasure::Id.
std::span<const HeadMeasure> headMeasures();

/// The measures of every head on the current input.
struct HeadMeasures : AnalysisResult {
    struct OfHead {
        int site = 0, head = 0;
        /// NaN: not defined, such as the distance between tokens of two texts.
        std::array<float, HeadMeasure::Count> values{};
    };
    std::vector<OfHead> heads; ///< by site, then head, for sites that form a pattern
    void count(FiniteCount& numbers) const override {
        for (const OfHead& head : heads) numbers.addExisting(head.values);
    }
};

/// Computes HeadMeasures. Weights are scaled to sum to 1 in each row; a row without weights does not count. Distances
/// are in tokens, and of pictures in pixels: see attentionDistances().
struct HeadMeasuresAnalysis : Analysis {
    std::string key() const override { return "head_measures"; }
    /// @throws Error if no layer forms a pattern
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
