#include "engine/gpu/transfer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace attn::gpu {

void Transfer::upload(const Buffer& buffer, uint64_t offsetBytes, std::span<const std::byte> bytes) {
    upload(buffer, offsetBytes, bytes.size(), [&](uint64_t at, std::span<std::byte> piece) {
        std::memcpy(piece.data(), bytes.data() + at, piece.size());
    });
}

void Transfer::upload(const Buffer& buffer, uint64_t offsetBytes, uint64_t sizeBytes,
                      const std::function<void(uint64_t at, std::span<std::byte> piece)>& fill) {
    assert(offsetBytes + sizeBytes <= buffer.sizeBytes());
    for (uint64_t at = 0; at < sizeBytes; at += kPieceBytes) {
        const uint64_t size = std::min(kPieceBytes, sizeBytes - at);
        if (buffer.isMapped()) {
            fill(at, buffer.mapped().subspan(offsetBytes + at, size));
        } else {
            fill(at, staging(std::min(kPieceBytes, sizeBytes)).first(size));
            runCopy({.from = &*staging_, .to = &buffer, .toOffset = offsetBytes + at, .sizeBytes = size});
        }
    }
}

void Transfer::download(const Buffer& buffer, uint64_t offsetBytes, std::span<std::byte> bytes) {
    assert(offsetBytes + bytes.size() <= buffer.sizeBytes());
    if (buffer.isMapped()) {
        std::memcpy(bytes.data(), buffer.mapped().data() + offsetBytes, bytes.size());
        return;
    }
    for (uint64_t at = 0; at < bytes.size(); at += kPieceBytes) {
        const uint64_t size = std::min<uint64_t>(kPieceBytes, bytes.size() - at);
        const auto piece = staging(std::min<uint64_t>(kPieceBytes, bytes.size()));
        runCopy({.from = &buffer, .fromOffset = offsetBytes + at, .to = &*staging_, .sizeBytes = size});
        std::memcpy(bytes.data() + at, piece.data(), size);
    }
}

void Transfer::runCopy(const CommandRecorder::Copy& copy) {
    if (!commands_) commands_.emplace(*context_, "transfer");
    CommandRecorder recorder(*commands_);
    recorder.barrier(Stages::Device, Stages::Transfer); // after whatever earlier submissions do with the buffer
    recorder.copy(copy);
    recorder.barrier(Stages::Transfer, Stages::All);
    recorder.finish();
    timeline_.wait(timeline_.submit(*commands_));
}

std::span<std::byte> Transfer::staging(uint64_t sizeBytes) {
    if (!staging_ || staging_->sizeBytes() < sizeBytes) {
        staging_.reset();
        staging_.emplace(*context_, Buffer::Options{sizeBytes, Placement::Readback, "staging"});
    }
    return staging_->mapped();
}

} // namespace attn::gpu
