#include "app/scope/picture_transfer.h"

#include <algorithm>
#include <bit>

namespace attn::scope {
namespace {

constexpr uint64_t kAlignment = 256; // the largest that a device may require of an offset

struct Range {
    VkBuffer buffer;
    uint64_t begin, size, at; ///< in the copy
};

} // namespace

PictureTransfer::PictureTransfer(gpu::Context& computes, gpu::Context& shows)
    : computes_(computes), shows_(shows), commands_(computes, "pictures"), upload_(shows),
      timeline_(computes, "pictures") {}

void PictureTransfer::makeRoom(uint64_t bytes) {
    if (staging_.sizeBytes() >= bytes) return;
    const uint64_t size = std::bit_ceil(bytes);
    staging_ = gpu::Buffer(
        computes_,
        {.sizeBytes = size, .placement = gpu::Placement::Readback, .name = "pictures that are shown elsewhere"});
    room_ = gpu::Buffer(shows_, {.sizeBytes = size, .name = "pictures that are computed elsewhere"});
}

std::span<const Picture> PictureTransfer::copied(std::span<const Picture> pictures) {
    pictures_.assign(pictures.begin(), pictures.end());
    std::vector<Range> ranges;
    uint64_t bytes = 0;
    for (Picture& picture : pictures_) {
        DevicePixels& pixels = picture.pixels;
        if (pixels.buffer == VK_NULL_HANDLE || pixels.byteSize == 0) continue;
        auto found = std::ranges::find_if(ranges, [&](const Range& range) {
            return range.buffer == pixels.buffer && range.begin == pixels.byteOffset && range.size == pixels.byteSize;
        });
        if (found == ranges.end()) {
            ranges.push_back({pixels.buffer, pixels.byteOffset, pixels.byteSize, bytes});
            bytes += (pixels.byteSize + kAlignment - 1) / kAlignment * kAlignment;
            found = ranges.end() - 1;
        }
        pixels.byteOffset = found->at;
    }
    if (ranges.empty()) return pictures_;
    makeRoom(bytes);
    for (Picture& picture : pictures_)
        if (picture.pixels.buffer != VK_NULL_HANDLE) picture.pixels.buffer = room_.get();
    gpu::CommandRecorder recorder(commands_);
    recorder.barrier(gpu::Stages::Device, gpu::Stages::Transfer);
    for (const Range& range : ranges) {
        const VkBufferCopy copy{range.begin, range.at, range.size};
        vkCmdCopyBuffer(recorder.get(), range.buffer, staging_.get(), 1, &copy);
    }
    recorder.barrier(gpu::Stages::Transfer, gpu::Stages::Host);
    recorder.finish();
    timeline_.wait(timeline_.submit(commands_));
    upload_.upload(room_, 0, staging_.mapped().first(bytes));
    return pictures_;
}

} // namespace attn::scope
