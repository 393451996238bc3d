#pragma once

#include "engine/inference/sampling.h"

#include <string_view>

namespace attn {

/// The value of the Sampling field for a Param of samplingParams(), as a number. Ids match without regard to separators
/// and capitals: "top_k", "top-k" and "topK" are the same.
double samplingValue(const Sampling& sampling, std::string_view id);
void setSamplingValue(Sampling& sampling, std::string_view id, double value);

/// Whether the sampling uses this field. Greedy sampling uses only the repetition penalty (and the switch itself).
bool isSamplingFieldUsed(const Sampling& sampling, std::string_view id);

} // namespace attn
