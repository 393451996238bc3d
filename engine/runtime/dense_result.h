#pragma once

#include "engine/runtime/gpu_executor.h"

#include <string>
#include <vector>

namespace attn {

/// A result of the last run, without padding. @throws Error if it was not requested when compiling
std::vector<float> denseResult(const GpuExecutor& executor, const std::string& name);

} // namespace attn
