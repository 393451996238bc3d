#pragma once

#include "engine/gpu/pipeline.h"
#include "engine/graph/dispatch.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace attn {

/// The compiled kernels of one device. Each is compiled at its first use and kept. For use by any thread.
class KernelLibrary {
public:
    explicit KernelLibrary(gpu::Context& context) : context_(context), cache_(context) {}

    /// The pipeline of a dispatch. Binding 0 is StepParams.
    /// @param texelInputs whether Load4 bindings are texel buffers
    /// @throws Error if the program has no such shader
    const gpu::ComputePipeline& pipeline(const Dispatch& dispatch, bool texelInputs);

    size_t count() const;
    /// Whether no kernel of an earlier start was on disk.
    bool isFirstUse() const { return cache_.loadedBytes() == 0; }
    void save(); ///< to disk

private:
    using Key = std::tuple<std::string_view, bool, std::vector<uint32_t>, std::vector<gpu::BindingKind>>;
    gpu::Context& context_;
    gpu::PipelineCache cache_;
    mutable std::mutex mutex_;
    std::map<Key, std::unique_ptr<gpu::ComputePipeline>> pipelines_;
};

} // namespace attn
