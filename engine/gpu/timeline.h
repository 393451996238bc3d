#pragma once

#include "engine/gpu/commands.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::gpu {

/// The binary semaphores of a window's swapchain, for one submission.
struct Presentation {
    std::vector<VkSemaphore> waitBefore{};
    std::vector<VkSemaphore> signalAfter{};
};

/// Numbers submissions to the queue 1, 2, 3, ... and reports how many have finished. A submission's resources may be
/// destroyed when its value is reached. Only one thread may use a Timeline at a time.
class Timeline {
public:
    static constexpr std::chrono::nanoseconds kForever{std::chrono::nanoseconds::max()};

    explicit Timeline(Context& context, std::string name = "timeline");
    /// Waits for all submissions.
    ~Timeline();
    Timeline(Timeline&&) noexcept = default;
    Timeline& operator=(Timeline&& other) noexcept;

    /// Submits the commands, to run in order.
    /// @return the value that is reached when they have finished
    /// @throws DeviceLost
    uint64_t submit(std::span<const CommandBuffer* const> commands, const Presentation& presentation = {});
    uint64_t submit(const CommandBuffer& commands);

    /// Waits until a value is reached. @return false if the timeout passed first
    /// @throws DeviceLost
    bool wait(uint64_t value, std::chrono::nanoseconds timeout = kForever) const;
    bool isReached(uint64_t value) const { return reached() >= value; }
    /// The value of the newest finished submission, and of the newest submission.
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
