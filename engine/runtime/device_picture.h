#pragma once

#include "engine/runtime/gpu_executor.h"

#include <cstdint>
#include <memory>
#include <span>

namespace attn {

/// A square of pixels in device memory, for viewers that draw it without a copy. Rows come from results on the device
/// or from the host. Each call waits until the device has finished. For use by one thread.
class DevicePicture {
public:
    /// @param side rows, and columns of a row. @throws gpu::OutOfMemory if the device is full
    DevicePicture(Device& device, int side);
    ~DevicePicture();
    DevicePicture(const DevicePicture&) = delete;
    DevicePicture& operator=(const DevicePicture&) = delete;

    /// Sets all pixels from a row on to 0.
    void clearFrom(int row);
    /// Copies the first rows and columns of a result to the rows from `firstRow` on.
    void take(const GpuExecutor::DeviceResult& result, int rows, int columns, int firstRow);
    /// Copies at most one row from the host.
    void writeRow(int row, std::span<const float> pixels);

    const gpu::Buffer& buffer() const; ///< [side, side] floats
    uint64_t bytes() const;            ///< device memory

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace attn
