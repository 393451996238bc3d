#pragma once

#include "engine/gpu/commands.h"
#include "engine/gpu/stretch.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn::gpu {

/// Measures the device time of named stretches of a command buffer. Use it only for profiling: on software Vulkan a
/// mark costs as much as a small dispatch.
class Profiler {
public:
    /// @param capacity the largest number of marks in one recording
    Profiler(Context& context, uint32_t capacity);

    /// False if the queue has no timestamps. Marks then do nothing, and stretches() is empty.
    bool isAvailable() const { return periodNs_ > 0; }

    /// Discards earlier marks. Record it before the first mark.
    void reset(CommandRecorder& recorder);
    /// Begins the stretch `name`, which lasts until the next mark. The last mark of a recording only ends a stretch.
    /// Marks beyond the capacity are ignored.
    void mark(CommandRecorder& recorder, std::string name);

    /// The stretches of the newest submission, in order of recording. Wait for the submission first.
    std::vector<Stretch> stretches() const;

private:
    VkDevice device_;
    Owned<VkQueryPool, vkDestroyQueryPool> queries_;
    uint32_t capacity_;
    double periodNs_;
    uint64_t tickMask_;
    std::vector<std::string> names_;
};

} // namespace attn::gpu
