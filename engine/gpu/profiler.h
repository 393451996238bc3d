#pragma once

#include "engine/gpu/commands.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn::gpu {

/// Device time of named stretches of a command buffer. Only while profiling: on software Vulkan a mark costs as much as
/// a small dispatch.
class Profiler {
public:
    struct Stretch {
        std::string name{};
        double elapsedMs = 0;
    };

    /// @param capacity the most marks that one recording makes
    Profiler(Context& context, uint32_t capacity);

    /// False if the queue has no timestamps: marks then do nothing and stretches() is empty.
    bool isAvailable() const { return periodNs_ > 0; }

    /// Starts a recording anew; record it before the first mark.
    void reset(CommandRecorder& recorder);
    /// The stretch `name` lasts from here to the next mark. The last mark of a recording only ends the stretch before
    /// it. Marks beyond the capacity are dropped.
    void mark(CommandRecorder& recorder, std::string name);

    /// In recording order, from the newest submission; call after waiting for it.
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
