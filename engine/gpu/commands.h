#pragma once

#include "engine/gpu/buffer.h"
#include "engine/gpu/descriptors.h"
#include "engine/gpu/pipeline.h"

#include <cstdint>
#include <span>
#include <string>

namespace attn::gpu {

/// Recorded commands. They can be submitted any number of times, even while an earlier submission still runs.
class CommandBuffer {
public:
    CommandBuffer() = default; ///< empty; assign to it before use
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

/// Records commands into a CommandBuffer and discards its old contents, so no submission of it may still run. The
/// resources that commands use must outlive every submission.
///
/// Submissions to the queue start in order but may overlap: a recording that uses the memory of an earlier submission
/// must begin with barrier().
class CommandRecorder {
public:
    explicit CommandRecorder(CommandBuffer& target);
    CommandRecorder(const CommandRecorder&) = delete;
    CommandRecorder& operator=(const CommandRecorder&) = delete;

    /// Selects the pipeline, and its resources, for the dispatches that follow.
    void bind(const ComputePipeline& pipeline);
    void bind(const ComputePipeline& pipeline, const DescriptorSet& set);
    /// Sets push constants. @param words at most as many as the pipeline declares
    void push(const ComputePipeline& pipeline, std::span<const uint32_t> words);

    /// Starts x * y * z workgroups.
    void dispatch(uint32_t x, uint32_t y = 1, uint32_t z = 1);
    /// Dispatches with three 32-bit workgroup counts from a buffer; any of them may be zero.
    /// @param offsetBytes a multiple of 4
    void dispatchIndirect(const Buffer& counts, uint64_t offsetBytes);

    /// Orders memory accesses: later work of the kinds in `after` sees everything that earlier work of the kinds in
    /// `before` wrote, and overwrites nothing that it still reads.
    void barrier(Stages before = Stages::Device, Stages after = Stages::Device);

    /// A copy of bytes between two buffers, which must not overlap.
    struct Copy {
        const Buffer* from;
        uint64_t fromOffset = 0;
        const Buffer* to;
        uint64_t toOffset = 0;
        uint64_t sizeBytes = 0;
    };
    void copy(const Copy& copy);
    /// Fills part of a buffer with a word. @param offsetBytes, sizeBytes multiples of 4
    void fill(const Buffer& buffer, uint64_t offsetBytes, uint64_t sizeBytes, uint32_t word = 0);

    /// For commands that this class does not offer, such as drawing.
    VkCommandBuffer get() const { return target_->get(); }

    /// Ends the recording: the command buffer can now be submitted.
    void finish();

private:
    CommandBuffer* target_;
};

} // namespace attn::gpu
