#pragma once

#include "engine/inference/language_model.h"
#include "engine/runtime/gpu_executor.h"

#include <memory>
#include <span>
#include <vector>

namespace attn {

/// The next-token predictions for rows of a residual stream.
struct ReadOutRows {
    int64_t rows = 0;
    int choices = 0;
    std::vector<int> ids;                    ///< [rows, choices] most probable tokens, by falling probability
    std::vector<float> probabilities;        ///< [rows, choices]
    std::vector<float> entropy;              ///< [rows], nats
    std::vector<float> targetLogProbability; ///< [rows], natural logarithm
    std::vector<int> targetRank;             ///< [rows] number of tokens that are more likely
};

/// Runs the final norm and the unembedding on the device, a few rows at a time. Only a summary of each row is read
/// back.
class ReadOut {
public:
    /// @param choices number of tokens per row, at most the size of the vocabulary
    ReadOut(LanguageModel& model, int choices);
    /// @param streams [N, width()]  @param targets N token ids; invalid ids count as 0
    ReadOutRows read(std::span<const float> streams, std::span<const int> targets);
    int64_t width() const { return width_; } ///< width of a row: C times the number of residual streams

private:
    int64_t width_, vocabulary_;
    int choices_;
    std::unique_ptr<GpuExecutor> executor_;
};

} // namespace attn
