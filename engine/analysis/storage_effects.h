#pragma once

#include "engine/analysis/analysis.h"
#include "engine/core/storage.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// The effects of keeping the weights of a model in fewer bits: the same text or picture in each storage.
struct StorageEffects : AnalysisResult {
    struct Effect {
        Storage storage = Storage::F32;
        /// Why the model gives no result in this storage, in a sentence: weights that are too large for it, for
        /// example. The other fields then say nothing. Empty: it does.
        std::string problem{};
        int64_t parameterBytes = 0; ///< on the device
        /// Measured: tokens written after the text, or pictures read; 0: the model of text keeps no cache.
        double perSecond = 0;
        double loss = 0;       ///< mean of the text's tokens, in nats; NaN for fewer than two tokens, and for a picture
        double perplexity = 0; ///< exp(loss)
        /// The largest difference from f32 of the probability of a next token after the text, or of a class. NaN
        /// without a classifier.
        float largestChange = 0;
        /// Jensen-Shannon divergence of the same probabilities from those of f32, in bits from 0 to 1; NaN as above.
        double predictionDivergence = 0;
        /// [sites][heads] Jensen-Shannon divergence of the patterns from those of f32, in bits from 0 to 1. Empty for a
        /// site without patterns.
        std::vector<std::vector<double>> divergence;
        double meanDivergence() const; ///< over all heads; NaN if there are none
    };
    std::vector<Effect> effects;                      ///< f32 first
    void count(FiniteCount& numbers) const override { // what a model lacks is NaN; its predictions are checked
        for (const Effect& effect : effects)
            for (const std::vector<double>& heads : effect.divergence) numbers.add(heads);
    }
};

/// Computes StorageEffects. It opens the model again in each storage, one after another; changes to runs have no part
/// in it. A storage in which the model fails is an effect with a problem, unless it is f32.
struct StorageEffectsAnalysis : Analysis {
    std::vector<Storage> storages{kStorages, kStorages + std::size(kStorages)}; ///< f32 is always measured
    std::string key() const override { return "storage_effects"; }
    /// @throws Error for a model of text that predicts no next token, or that fails with f32
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
