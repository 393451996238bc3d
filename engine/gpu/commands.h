#pragma once

#include "engine/gpu/buffer.h"
#include "engine/gpu/descriptors.h"
#include "engine/gpu/pipeline.h"

#include <cstdint>
#include <span>
#include <string>

namespace attn::gpu {

/// Recorded commands that can be submitted any number of times, also while an earlier submission still runs.
class CommandBuffer {
public:
    CommandBuffer() = default; ///< empty: only to be assigned to
    CommandBuffer(Context& context, std::string name);

    VkCommandBuffer get() const { return handle_; }
    const std::string& name() const { return name_; }

private:
    friend class CommandRecorder;
    std::string name_;
    VkDevice device_ = VK_NULL_HANDLE;
    Owned<VkCommandPool, vkDestroyCommandPool> pool_; // one each, so that threads record independently
    VkCommandBuffer handle_ = VK_NULL_HANDLE;         // freed with its pool
};

/// Kinds of work that a barrier orders.
enum class Stages : uint32_t {
    Shader = 1,   ///< reads and writes of compute shaders
    Indirect = 2, ///< workgroup counts read by dispatchIndirect
    Transfer = 4, ///< copies and fills
    Host = 8,     ///< the host, after a timeline wait
    Device = Shader | Indirect | Transfer,
    All = Device | Host
};
constexpr Stages operator|(Stages a, Stages b) {
    return static_cast<Stages>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}

/// Records a CommandBuffer anew; what it held is discarded, so no submission of it may still run. Resources named in
/// commands must outlive every submission.
///
/// Submissions to the queue start in order but may overlap: a recording that touches what an earlier submission touches
/// begins with barrier().
class CommandRecorder {
public:
    explicit CommandRecorder(CommandBuffer& target);
    CommandRecorder(const CommandRecorder&) = delete;
    CommandRecorder& operator=(const CommandRecorder&) = delete;

    void bind(const ComputePipeline& pipeline);
    void bind(const ComputePipeline& pipeline, const DescriptorSet& set);
    /// @param words as many as the bound pipeline declares, or fewer
    void push(const ComputePipeline& pipeline, std::span<const uint32_t> words);

    void dispatch(uint32_t x, uint32_t y = 1, uint32_t z = 1);
    /// Reads three 32-bit workgroup counts; any may be zero.
    /// @param offsetBytes a multiple of 4
    void dispatchIndirect(const Buffer& counts, uint64_t offsetBytes);

    /// What follows in `after` sees all that `before` wrote, and writes nothing that `before` still reads.
    void barrier(Stages before = Stages::Device, Stages after = Stages::Device);

    struct Copy {
        const Buffer* from;
        uint64_t fromOffset = 0;
        const Buffer* to;
        uint64_t toOffset = 0;
        uint64_t sizeBytes = 0;
    };
    void copy(const Copy& copy);
    /// @param offsetBytes, sizeBytes multiples of 4
    void fill(const Buffer& buffer, uint64_t offsetBytes, uint64_t sizeBytes, uint32_t word = 0);

    VkCommandBuffer get() const { return target_->get(); } ///< for commands this class does not know (drawing)

    /// Ends the recording: the command buffer can now be submitted.
    void finish();

private:
    CommandBuffer* target_;
};

} // namespace attn::gpu
