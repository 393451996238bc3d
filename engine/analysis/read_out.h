#pragma once

#include "engine/runtime/gpu_executor.h"
#include "engine/session/language_model.h"

#include <memory>
#include <span>
#include <vector>

namespace attn {

/// What a model would say next, for rows of its residual stream.
struct ReadOutRows {
    int64_t rows = 0;
    int choices = 0;
    std::vector<int> ids;                    ///< [rows, choices] likeliest tokens, falling
    std::vector<float> probabilities;        ///< of them
    std::vector<float> entropy;              ///< [rows], nats
    std::vector<float> targetLogProbability; ///< [rows], natural logarithm
    std::vector<int> targetRank;             ///< [rows]: how many tokens are likelier
};

/// Final norm and unembedding on the device, some rows at a time, of which only numbers for each row come back.
class ReadOut {
public:
    /// @param choices at most the vocabulary
    ReadOut(LanguageModel& model, int choices);
    /// @param streams [N, C of all streams]  @param targets N token ids; those that are no token count as 0
    ReadOutRows read(std::span<const float> streams, std::span<const int> targets);
    int64_t width() const { return width_; } ///< of a row of streams

private:
    int64_t width_, vocabulary_;
    int choices_;
    std::unique_ptr<GpuExecutor> executor_;
};

} // namespace attn
