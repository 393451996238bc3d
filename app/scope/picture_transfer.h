#pragma once

#include "app/scope/picture_pipeline.h"
#include "engine/gpu/buffer.h"
#include "engine/gpu/timeline.h"
#include "engine/gpu/transfer.h"

#include <span>
#include <vector>

namespace attn::scope {

/// Brings what one device computed to the one that shows it, by way of the host.
class PictureTransfer {
public:
    PictureTransfer(gpu::Context& computes, gpu::Context& shows);

    /// The same pictures of copies on the device that shows. No frame may still read the last ones.
    /// @return valid until the next call
    std::span<const Picture> copied(std::span<const Picture> pictures);

private:
    void makeRoom(uint64_t bytes);

    gpu::Context &computes_, &shows_;
    gpu::Buffer staging_, room_;
    std::vector<Picture> pictures_;
    gpu::CommandBuffer commands_;
    gpu::Transfer upload_;
    gpu::Timeline timeline_; // ends first: waits for the copy
};

} // namespace attn::scope
