#pragma once

#include "engine/runtime/gpu_executor.h"

#include <string>
#include <vector>

namespace attn {

/// The rows of a result of the last run without their padding.
std::vector<float> denseResult(const GpuExecutor& executor, const std::string& name);

} // namespace attn
