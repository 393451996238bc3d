#pragma once

#include "app/scope/picture_pipeline.h"
#include "engine/gpu/buffer.h"
#include "engine/gpu/timeline.h"
#include "engine/gpu/transfer.h"

#include <span>
#include <vector>

namespace attn::scope {

/// Copies pictures from the device that computes them to the device that shows them, through the host.
class PictureTransfer {
public:
    PictureTransfer(gpu::Context& computes, gpu::Context& shows);

    /// Copies the pictures. No frame may still read the copies of the last call.
    /// @return the pictures on the showing device, valid until the next call
    std::span<const Picture> copied(std::span<const Picture> pictures);

private:
    void makeRoom(uint64_t bytes);

    gpu::Context &computes_, &shows_;
    gpu::Buffer staging_, room_;
    std::vector<Picture> pictures_;
    gpu::CommandBuffer commands_;
    gpu::Transfer upload_;
    gpu::Timeline timeline_; // destroyed first: waits for the copy
};

} // namespace attn::scope
