#pragma once

#include "engine/attention/composed_attention.h"
#include "engine/runtime/tensor_store.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Learned numbers of a graph: computed parameters do not count.
int64_t parameterCount(const Graph& graph);

/// The graph's sources of one kind with their shapes, in the order in which they were made.
std::vector<std::pair<std::string, Shape>> sourcesOf(const Graph& graph, NodeKind kind);

/// What they take on the device.
uint64_t paddedBytes(const std::vector<std::pair<std::string, Shape>>& tensors);

/// Makes room for the constants that a plan reads and fills them.
void writeConstants(TensorStore& store, const Plan& plan, const ComposedNeeds& needs);

} // namespace attn
