#pragma once

#include "engine/graph/op.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace attn {

/// Where the memory of a planned tensor is.
enum class Home : uint8_t { Arena, Input, Parameter, State };

struct PlannedTensor {
    TensorType type{};
    Home home = Home::Arena;
    std::string name{};      ///< of the source if home is not Arena, else the node's path
    uint64_t byteOffset = 0; ///< within the arena, or within the source for other homes
    uint64_t byteSize = 0;   ///< padded
};

/// One operation and its tensors, as indices into Plan::tensors.
struct PlannedOp {
    uint32_t node = 0;
    std::vector<uint32_t> inputs{};
    std::vector<uint32_t> outputs{};
    bool barrierBefore = false; ///< an earlier op since the last barrier uses some of its memory
    bool aliasOnly = false;     ///< no work: its output is another view of the memory of its inputs
};

/// A compiled graph: operations in order, arena layout and barriers. Immutable; executors run it.
struct Plan {
    std::shared_ptr<const Graph> graph;
    std::vector<PlannedTensor> tensors;
    std::vector<PlannedOp> ops;
    uint64_t arenaBytes = 0;
    std::map<std::string, uint32_t> results; ///< requested outputs and probes by name; kept until the plan ends

    /// @throws Error if there is no result of this name
    const PlannedTensor& result(const std::string& name) const;
};

/// The number of floating-point operations of one op of a plan.
double operationsOf(const Plan& plan, const PlannedOp& op);

struct PlanOptions {
    uint64_t alignment = 256; ///< of every arena tensor in bytes
    bool reuseArena = true;   ///< false: every tensor keeps its own memory
};

/// Compiles a plan for the named outputs and probes. Nodes that none of them needs are dropped.
/// Nodes that read a state itself run before the write that assigns it.
/// @throws Error if there is no probe of a requested name, or if a state would be read after it was overwritten
std::shared_ptr<const Plan> compile(std::shared_ptr<const Graph> graph, const std::map<std::string, Tensor>& outputs,
                                    const std::set<std::string>& probes = {}, const PlanOptions& options = {});

} // namespace attn
