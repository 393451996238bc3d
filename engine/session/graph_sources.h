#pragma once

#include "engine/attention/composed_attention.h"
#include "engine/models/weight_recipe.h"
#include "engine/runtime/tensor_store.h"
#include "engine/session/model_info.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Learned numbers of a graph: computed parameters do not count.
int64_t parameterCount(const Graph& graph);

/// The graph's sources of one kind with their shapes, in the order in which they were made.
std::vector<std::pair<std::string, Shape>> sourcesOf(const Graph& graph, NodeKind kind);

using LoadProgress = std::function<void(float fraction, const std::string& what)>; ///< throws to cancel
/// Fills a parameter. @return how many of its values are NaN or infinite
using ParameterReader = std::function<int64_t(const std::string& name, const Shape& shape, const RowWriter& write)>;
/// Brings parameters, for which the store has room, to the device.
/// @return a sentence for each that holds NaN or infinite values
std::vector<std::string> loadParameters(TensorStore& store, std::span<const ParameterInfo> parameters,
                                        const ParameterReader& read, const LoadProgress& progress);

/// What they take on the device.
uint64_t paddedBytes(const std::vector<std::pair<std::string, Shape>>& tensors);

/// Makes room for the constants that a plan reads and fills them.
void writeConstants(TensorStore& store, const Plan& plan, const ComposedNeeds& needs);

} // namespace attn
