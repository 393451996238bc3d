#include "engine/runtime/device_picture.h"

#include "engine/gpu/timeline.h"

#include <algorithm>
#include <vector>

namespace attn {

struct DevicePicture::Impl {
    Impl(gpu::Context& context, int side)
        : rowBytes(sizeof(float) * static_cast<uint64_t>(side)),
          pixels(context, {.sizeBytes = rowBytes * static_cast<uint64_t>(side), .name = "picture"}),
          staged(context, {.sizeBytes = rowBytes, .placement = gpu::Placement::Upload, .name = "row of a picture"}),
          commands(context, "picture"), timeline(context, "picture") {}

    template <class Record> void run(const Record& record) {
        gpu::CommandRecorder recorder(commands);
        recorder.barrier(gpu::Stages::Device, gpu::Stages::Transfer);
        record(recorder);
        recorder.barrier(gpu::Stages::Transfer, gpu::Stages::Device);
        recorder.finish();
        timeline.wait(timeline.submit(commands));
    }

    uint64_t rowBytes;
    gpu::Buffer pixels, staged; // `staged` holds one row of `pixels`
    gpu::CommandBuffer commands;
    gpu::Timeline timeline; // destroyed first: waits for the copy
};

DevicePicture::DevicePicture(Device& device, int side) : impl_(std::make_unique<Impl>(device.context(), side)) {}

DevicePicture::~DevicePicture() = default;

void DevicePicture::clearFrom(int row) {
    const uint64_t from = static_cast<uint64_t>(row) * impl_->rowBytes, end = impl_->pixels.sizeBytes();
    if (from < end) impl_->run([&](gpu::CommandRecorder& recorder) { recorder.fill(impl_->pixels, from, end - from); });
}

void DevicePicture::take(const GpuExecutor::DeviceResult& result, int rows, int columns, int firstRow) {
    std::vector<VkBufferCopy> copies;
    for (uint64_t row = 0; row < static_cast<uint64_t>(rows); ++row)
        copies.push_back({result.byteOffset + row * sizeof(float) * static_cast<uint64_t>(result.shape.rowStride()),
                          (static_cast<uint64_t>(firstRow) + row) * impl_->rowBytes,
                          sizeof(float) * static_cast<uint64_t>(columns)});
    impl_->run([&](gpu::CommandRecorder& recorder) {
        vkCmdCopyBuffer(recorder.get(), result.buffer->get(), impl_->pixels.get(), static_cast<uint32_t>(copies.size()),
                        copies.data());
    });
}

void DevicePicture::writeRow(int row, std::span<const float> pixels) {
    std::ranges::copy(pixels, impl_->staged.mappedAs<float>().begin());
    impl_->run([&](gpu::CommandRecorder& recorder) {
        const VkBufferCopy copy{0, static_cast<uint64_t>(row) * impl_->rowBytes, pixels.size_bytes()};
        vkCmdCopyBuffer(recorder.get(), impl_->staged.get(), impl_->pixels.get(), 1, &copy);
    });
}

const gpu::Buffer& DevicePicture::buffer() const { return impl_->pixels; }
uint64_t DevicePicture::bytes() const { return impl_->pixels.sizeBytes() + impl_->staged.sizeBytes(); }

} // namespace attn
