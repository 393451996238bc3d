#pragma once

#include "engine/gpu/stretch.h"
#include "engine/runtime/tensor_store.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attn {

struct GpuExecutorOptions {
    /// The traits that kernels are chosen by: the device's own, unless a test tries other kernels.
    std::optional<KernelTraits> traits{};
    /// Whether every dispatch is timed. On software Vulkan, each timing costs as much as a small dispatch.
    bool profiles = false;
    /// Whether each operation is a chunk of its own, so that a run can be cancelled between any two kernels. A driver
    /// may compile a kernel when it first runs.
    bool cutsFinely = false;
};

/// Runs a plan on a device. The constructor allocates and records everything once; a run writes inputs and step
/// parameters, submits and waits. Where the processor is the device, operations with a host kernel are not recorded but
/// called between the recorded chunks; a plan that consists of them submits nothing.
class GpuExecutor {
public:
    /// @param store holds the plan's parameters and states; must outlive the executor
    GpuExecutor(Device& device, TensorStore& store, std::shared_ptr<const Plan> plan,
                const GpuExecutorOptions& options = {});
    ~GpuExecutor();
    GpuExecutor(const GpuExecutor&) = delete;
    GpuExecutor& operator=(const GpuExecutor&) = delete;

    /// Whether the plan reads an input of this name.
    bool hasInput(const std::string& name) const;
    /// The host's view of an input, with padded rows; write it between runs. @throws Error if the plan has no such
    /// input
    std::span<float> input(const std::string& name);
    std::span<int32_t> inputIntegers(const std::string& name);

    /// Submits a step in chunks of about 10 ms and waits for it. Between chunks, `isCancelled` may end it.
    /// @return false if it was cancelled; results and states are then incomplete
    /// @throws gpu::DeviceLost
    bool run(const StepParams& step, const std::function<bool()>& isCancelled = {});

    /// A result of the last run, with padded rows. @throws Error if it was not requested when compiling
    std::span<const float> result(const std::string& name) const;
    std::span<const int32_t> resultIntegers(const std::string& name) const;

    const Plan& plan() const { return *plan_; }
    uint64_t deviceBytes() const;
    size_t kernelCount() const; ///< that a run starts: dispatches, and operations on the processor
    size_t hostOpCount() const; ///< operations on the processor
    size_t chunkCount() const;  ///< how often a run asks whether it is cancelled

    /// The device time of every dispatch of the last run, in order, with its shader. Empty unless
    /// GpuExecutorOptions::profiles.
    std::vector<gpu::Stretch> profile() const;

    /// The device memory of a result, for viewers that draw it without a copy.
    struct DeviceResult {
        const gpu::Buffer* buffer; ///< owned by the executor or its store
        uint64_t byteOffset;
        uint64_t byteSize;
        Shape shape;
    };
    DeviceResult deviceResult(const std::string& name) const;

    /// The number of command buffers that this process has recorded; a test asserts that generation records none.
    static uint64_t recordings();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    std::shared_ptr<const Plan> plan_;
};

} // namespace attn
