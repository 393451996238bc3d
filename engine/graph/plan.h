#pragma once

#include "engine/graph/op.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace attn {

/// Where a planned tensor lives.
enum class Home : uint8_t { Arena, Input, Parameter, State };

struct PlannedTensor {
    TensorType type{};
    Home home = Home::Arena;
    std::string name{};      ///< of the source when home is not Arena, else the node's path
    uint64_t byteOffset = 0; ///< within the arena
    uint64_t byteSize = 0;   ///< padded
};

/// One operation with its tensors (indices into Plan::tensors).
struct PlannedOp {
    uint32_t node = 0;
    std::vector<uint32_t> inputs{};
    std::vector<uint32_t> outputs{};
    bool barrierBefore = false; ///< some of its memory is touched by an earlier op since the last barrier
    bool aliasOnly = false;     ///< no work: another view of the same memory
};

/// A compiled graph: operations in order, arena layout and barriers. Immutable; run by an Executor.
struct Plan {
    std::shared_ptr<const Graph> graph;
    std::vector<PlannedTensor> tensors;
    std::vector<PlannedOp> ops;
    uint64_t arenaBytes = 0;
    std::map<std::string, uint32_t> results; ///< requested outputs and probes by name: pinned until the plan ends

    const PlannedTensor& result(const std::string& name) const;
};

/// Floating-point operations of one op of a plan.
double operationsOf(const Plan& plan, const PlannedOp& op);

struct PlanOptions {
    uint64_t alignment = 256; ///< of every arena tensor in bytes
    bool reuseArena = true;   ///< false: every tensor keeps its own memory
};

/// Plans the named outputs and probes and nothing else: nodes that no request needs are dropped.
/// A state that is assigned is read before the write by every node that names the state itself.
/// @throws Error if a request names no probe, or a state would be read after it was overwritten
std::shared_ptr<const Plan> compile(std::shared_ptr<const Graph> graph, const std::map<std::string, Tensor>& outputs,
                                    const std::set<std::string>& probes = {}, const PlanOptions& options = {});

} // namespace attn
