#pragma once

#include "engine/attention/site_attention.h"
#include "engine/graph/plan.h"
#include "engine/runtime/tensor_store.h"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The number of learned values in a graph, without computed parameters.
int64_t parameterCount(const Graph& graph);

/// The sources of one kind in a graph, with their shapes, in order of creation.
std::vector<std::pair<std::string, Shape>> sourcesOf(const Graph& graph, NodeKind kind);

/// The parameters that every operation of a graph can read as they are stored.
std::set<std::string> compactParameters(const Graph& graph);

/// How each parameter of a graph is kept if its weights are kept in a storage: so if every operation can read it so and
/// its rows fit, else in a storage with more bits.
TensorStore::StorageOf storageRule(const Graph& graph, Storage storage);

/// The same tensors with another extent along axis 0.
std::vector<std::pair<std::string, Shape>> withRows(std::vector<std::pair<std::string, Shape>> tensors, int64_t rows);

/// The device memory for tensors, in bytes.
uint64_t paddedBytes(const std::vector<std::pair<std::string, Shape>>& tensors);

/// Allocates and fills the constants that a plan reads.
void writeConstants(TensorStore& store, const Plan& plan, const PartTensors& needs);

} // namespace attn
