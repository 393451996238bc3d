#pragma once

#include "engine/graph/step_params.h"

#include <cstdint>
#include <functional>
#include <span>

namespace attn {

namespace host {
class Pool;
}

/// One run of a host kernel. The tensors are padded rows in memory that the device shares.
struct HostRun {
    std::span<float*const> inputs, outputs;
    const StepParams& step;
    host::Pool& pool;

    const int32_t* integers(size_t input) const { return reinterpret_cast<const int32_t*>(inputs[input]); }
    int32_t* integerOutput(size_t output) const { return reinterpret_cast<int32_t*>(outputs[output]); }
};

/// Computes one node on the processor. It is made once, for the types of its node, and run in every step.
using HostKernel = std::function<void(const HostRun&)>;

} // namespace attn
