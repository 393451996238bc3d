#include "engine/gpu/profiler.h"

namespace attn::gpu {

Profiler::Profiler(Context& context, uint32_t capacity)
    : device_(context.device()), capacity_(capacity), periodNs_(context.traits().timestampPeriodNs),
      tickMask_(context.physical().timestampMask) {
    if (!isAvailable()) return;
    VkQueryPoolCreateInfo create{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = capacity;
    VkQueryPool queries = VK_NULL_HANDLE;
    check(vkCreateQueryPool(device_, &create, nullptr, &queries), "vkCreateQueryPool", "profiler");
    queries_ = {device_, queries};
    context.setName(VK_OBJECT_TYPE_QUERY_POOL, queries, "profiler");
}

void Profiler::reset(CommandRecorder& recorder) {
    names_.clear();
    if (isAvailable()) vkCmdResetQueryPool(recorder.get(), queries_.get(), 0, capacity_);
}

void Profiler::mark(CommandRecorder& recorder, std::string name) {
    if (!isAvailable() || names_.size() == capacity_) return;
    vkCmdWriteTimestamp(recorder.get(), VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_.get(),
                        static_cast<uint32_t>(names_.size()));
    names_.push_back(std::move(name));
}

std::vector<Stretch> Profiler::stretches() const {
    if (names_.size() < 2) return {};
    std::vector<uint64_t> ticks(names_.size());
    check(vkGetQueryPoolResults(device_, queries_.get(), 0, static_cast<uint32_t>(ticks.size()),
                                ticks.size() * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
          "vkGetQueryPoolResults", "profiler");
    std::vector<Stretch> stretches;
    for (size_t i = 0; i + 1 < ticks.size(); ++i) {
        const uint64_t elapsed = (ticks[i + 1] - ticks[i]) & tickMask_; // counters narrower than 64 bits wrap around
        stretches.push_back({names_[i], static_cast<double>(elapsed) * periodNs_ * 1e-6});
    }
    return stretches;
}

} // namespace attn::gpu
