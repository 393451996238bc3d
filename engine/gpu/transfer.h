#pragma once

#include "engine/gpu/timeline.h"

#include <array>
#include <functional>
#include <optional>
#include <span>

namespace attn::gpu {

/// Copies bytes between the host and buffers, through a staging buffer if the device's memory is not mapped. Every call
/// waits until its bytes have arrived. Use it for loading and inspection, not inside a loop: steps record their copies.
class Transfer {
public:
    explicit Transfer(Context& context) : context_(&context), timeline_(context, "transfer") {}

    /// Copies bytes into a buffer. No submission may be using that part of the buffer.
    void upload(const Buffer& buffer, uint64_t offsetBytes, std::span<const std::byte> bytes);
    /// Copies bytes that `fill` produces piece by piece, so that a file is converted directly into device memory:
    /// `fill(at, piece)` writes the bytes [at, at + piece.size()) of the upload. Pieces come in order and hold at most
    /// kPieceBytes, a multiple of 64 except for the last.
    void upload(const Buffer& buffer, uint64_t offsetBytes, uint64_t sizeBytes,
                const std::function<void(uint64_t at, std::span<std::byte> piece)>& fill);
    /// Copies bytes out of a buffer.
    void download(const Buffer& buffer, uint64_t offsetBytes, std::span<std::byte> bytes);
    /// Copies bytes from buffers to others, without the host where the memory is not mapped. No submission may be using
    /// those parts of the buffers. @param copies of buffers of this device, or of mapped ones
    void copy(std::span<const CommandRecorder::Copy> copies);

    static constexpr uint64_t kPieceBytes = 16u << 20;

private:
    /// A staging buffer with the copy that empties or fills it.
    struct Stage {
        Stage(Context& context, uint64_t sizeBytes)
            : buffer(context, {sizeBytes, Placement::Readback, "staging"}), commands(context, "transfer") {}
        Buffer buffer;
        CommandBuffer commands;
        uint64_t busyUntil = 0; ///< timeline value
    };

    Stage& idleStage(size_t index, uint64_t sizeBytes);
    void startCopy(Stage& stage, const CommandRecorder::Copy& copy);
    uint64_t submit(CommandBuffer& commands, std::span<const CommandRecorder::Copy> copies); ///< @return timeline value

    Context* context_;
    std::array<std::optional<Stage>, 2> stages_; // the host fills one while the device empties the other
    Timeline timeline_;                          // its destructor waits, so the stages go after it
};

} // namespace attn::gpu
