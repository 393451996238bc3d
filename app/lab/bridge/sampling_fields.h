#pragma once

#include "engine/session/sampling.h"

#include <string_view>

namespace attn {

/// The field of a Sampling that a Param of samplingParams() describes, as a number. Ids match with or without
/// separators and capitals: "top_k", "top-k" and "topK" are one.
double samplingValue(const Sampling& sampling, std::string_view id);
void setSamplingValue(Sampling& sampling, std::string_view id, double value);

/// Greedy choice leaves all but the repetition penalty (and the switch itself) unused.
bool isSamplingFieldUsed(const Sampling& sampling, std::string_view id);

} // namespace attn
