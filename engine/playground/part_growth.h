#pragma once

#include "engine/attention/attention_spec.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace attn {

struct Part;

/// Whether a part is one of the block around the attention: no attention can be run with it alone.
bool isOfBlock(const Part& part);

/// The composition that runs a part by itself: two heads, a causal mask if the part allows one, the part with its
/// initial values, and other parts that it requires.
/// @param tokens if positive, the length of the sequence: a part with a picture's grid then has one of so many places,
/// nearly as many rows as columns. Otherwise it keeps its own.
AttentionSpec specOfPart(const Part& part, int64_t tokens = 0);

/// Why the time of a part, measured, grows otherwise than its operations and memory; empty where it does not.
std::string_view growthRemark(const Part& part);

/// The exponent x of the law y = a T^x that fits best: the slope of a line through the logarithms.
/// @param points (T, y), of at least two different T, all positive
double growthExponent(std::span<const std::pair<double, double>> points);

} // namespace attn
