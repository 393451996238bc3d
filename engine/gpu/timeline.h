#pragma once

#include "engine/gpu/commands.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::gpu {

/// Binary semaphores of a window's swapchain.
struct Presentation {
    std::vector<VkSemaphore> waitBefore{};
    std::vector<VkSemaphore> signalAfter{};
};

/// Numbers submissions to the queue 1, 2, 3, ... and tells how far the device has come. Destroying what a submission
/// uses is safe once its value is reached. One thread uses a Timeline at a time.
class Timeline {
public:
    static constexpr std::chrono::nanoseconds kForever{std::chrono::nanoseconds::max()};

    explicit Timeline(Context& context, std::string name = "timeline");
    /// Waits for what was submitted.
    ~Timeline();
    Timeline(Timeline&&) noexcept = default;
    Timeline& operator=(Timeline&& other) noexcept;

    /// Runs the commands in order.
    /// @return the value reached when they have finished
    /// @throws DeviceLost
    uint64_t submit(std::span<const CommandBuffer* const> commands, const Presentation& presentation = {});
    uint64_t submit(const CommandBuffer& commands);

    /// @return false if the timeout passed first
    /// @throws DeviceLost
    bool wait(uint64_t value, std::chrono::nanoseconds timeout = kForever) const;
    bool isReached(uint64_t value) const { return reached() >= value; }
    /// The value of the newest submission that has finished, and of the newest made.
    uint64_t reached() const;
    uint64_t submitted() const { return submitted_; }

    VkSemaphore get() const { return semaphore_.get(); }

private:
    Context* context_;
    std::string name_;
    Owned<VkSemaphore, vkDestroySemaphore> semaphore_;
    uint64_t submitted_ = 0;
};

} // namespace attn::gpu
