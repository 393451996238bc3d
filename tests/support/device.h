#pragma once

#include "engine/runtime/gpu_executor.h"
#include "tests/support/catch.h"

namespace attn::test {

/// A device for a test. Its destructor fails the test if there was a validation message.
class TestDevice : public Device {
public:
    explicit TestDevice(std::optional<int> softwareThreads = 0);
    ~TestDevice();

    /// The values of KernelTraits::usesHost that this device supports. The processor's kernels need a software device.
    std::vector<bool> hostChoices() const;
};

/// Allocates every parameter and state of the plan.
void reserveSources(TensorStore& store, const Plan& plan);

/// Writes dense values to a parameter or state.
void writeDense(TensorStore& store, const std::string& name, const std::vector<double>& values);

/// Writes dense values to an input, as integers if it holds integers.
void writeInput(GpuExecutor& executor, const std::string& name, const TensorType& type,
                const std::vector<double>& values);

/// Normally distributed numbers. Each call returns different ones.
std::vector<double> normals(int64_t count);

/// Dense values of a result.
std::vector<double> denseResult(const GpuExecutor& executor, const std::string& name);

} // namespace attn::test
