#pragma once

#include "engine/inference/model_info.h"
#include "engine/models/weight_recipe.h"
#include "engine/runtime/gpu_executor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn {

using LoadProgress = std::function<void(float fraction, const std::string& what)>; ///< throws to cancel
/// Fills a parameter. @return the number of values that are NaN or infinite
using ParameterReader = std::function<int64_t(const std::string& name, const Shape& shape, const RowWriter& write)>;
/// Loads parameters to the device. The store must have entries for them.
/// @return a warning for each parameter with NaN or infinite values, unless they only bar tokens or classes
std::vector<std::string> loadParameters(TensorStore& store, std::span<const ParameterInfo> parameters,
                                        const ParameterReader& read, const LoadProgress& progress);

/// Copies parameters from one store to another and looks at their values on the device.
class ParameterCopy {
public:
    /// @param parameters of the store, kept as floats
    ParameterCopy(Device& device, TensorStore& store, std::vector<ParameterInfo> parameters);
    /// @param from nothing may be writing to it  @return as loadParameters()
    std::vector<std::string> run(const TensorStore& from);

private:
    TensorStore& store_;
    std::vector<ParameterInfo> parameters_;
    std::unique_ptr<GpuExecutor> squares_;
};

} // namespace attn
