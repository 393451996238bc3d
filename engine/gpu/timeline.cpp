#include "engine/gpu/timeline.h"

namespace attn::gpu {

Timeline::Timeline(Context& context, std::string name) : context_(&context), name_(std::move(name)) {
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    const VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
    VkSemaphore semaphore = VK_NULL_HANDLE;
    check(vkCreateSemaphore(context.device(), &create, nullptr, &semaphore), "vkCreateSemaphore", name_);
    semaphore_ = {context.device(), semaphore};
    context.setName(VK_OBJECT_TYPE_SEMAPHORE, semaphore, name_);
}

Timeline::~Timeline() {
    if (!semaphore_) return;
    try {
        wait(submitted_);
    } catch (const Error&) {
        // The device is lost: nothing runs on it any more.
    }
}

Timeline& Timeline::operator=(Timeline&& other) noexcept {
    Timeline taken(std::move(other));
    std::swap(context_, taken.context_);
    std::swap(name_, taken.name_);
    std::swap(semaphore_, taken.semaphore_);
    std::swap(submitted_, taken.submitted_);
    return *this;
}

uint64_t Timeline::submit(const CommandBuffer& commands) {
    const CommandBuffer* const list[] = {&commands};
    return submit(list);
}

uint64_t Timeline::submit(std::span<const CommandBuffer* const> commands, const Presentation& presentation) {
    std::vector<VkCommandBuffer> handles;
    handles.reserve(commands.size());
    for (const CommandBuffer* buffer : commands) handles.push_back(buffer->get());

    std::vector<VkSemaphore> signals{semaphore_.get()};
    signals.insert(signals.end(), presentation.signalAfter.begin(), presentation.signalAfter.end());
    std::vector<uint64_t> signalValues(signals.size(), 0); // binary semaphores ignore theirs
    signalValues[0] = submitted_ + 1;
    const std::vector<uint64_t> waitValues(presentation.waitBefore.size(), 0);
    const std::vector<VkPipelineStageFlags> waitStages(presentation.waitBefore.size(),
                                                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);

    VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    values.waitSemaphoreValueCount = static_cast<uint32_t>(waitValues.size());
    values.pWaitSemaphoreValues = waitValues.data();
    values.signalSemaphoreValueCount = static_cast<uint32_t>(signalValues.size());
    values.pSignalSemaphoreValues = signalValues.data();
    VkSubmitInfo submission{VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
    submission.waitSemaphoreCount = static_cast<uint32_t>(presentation.waitBefore.size());
    submission.pWaitSemaphores = presentation.waitBefore.data();
    submission.pWaitDstStageMask = waitStages.data();
    submission.commandBufferCount = static_cast<uint32_t>(handles.size());
    submission.pCommandBuffers = handles.data();
    submission.signalSemaphoreCount = static_cast<uint32_t>(signals.size());
    submission.pSignalSemaphores = signals.data();
    {
        const std::lock_guard lock(context_->queueMutex());
        context_->check(vkQueueSubmit(context_->queue(), 1, &submission, VK_NULL_HANDLE), "vkQueueSubmit", name_);
    }
    return ++submitted_;
}

bool Timeline::wait(uint64_t value, std::chrono::nanoseconds timeout) const {
    const VkSemaphore semaphore = semaphore_.get();
    VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &value;
    const uint64_t limit = timeout == kForever ? UINT64_MAX : static_cast<uint64_t>(timeout.count());
    const VkResult result = vkWaitSemaphores(context_->device(), &info, limit);
    context_->check(result, "vkWaitSemaphores", name_);
    return result == VK_SUCCESS;
}

uint64_t Timeline::reached() const {
    uint64_t value = 0;
    context_->check(vkGetSemaphoreCounterValue(context_->device(), semaphore_.get(), &value),
                    "vkGetSemaphoreCounterValue", name_);
    return value;
}

} // namespace attn::gpu
