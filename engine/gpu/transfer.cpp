#include "engine/gpu/transfer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

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
            Stage& stage = idleStage(at / kPieceBytes % stages_.size(), size);
            fill(at, stage.buffer.mapped().first(size));
            startCopy(stage, {.from = &stage.buffer, .to = &buffer, .toOffset = offsetBytes + at, .sizeBytes = size});
        }
    }
    timeline_.wait(timeline_.submitted());
}

void Transfer::download(const Buffer& buffer, uint64_t offsetBytes, std::span<std::byte> bytes) {
    assert(offsetBytes + bytes.size() <= buffer.sizeBytes());
    if (bytes.empty()) return;
    if (buffer.isMapped()) {
        std::memcpy(bytes.data(), buffer.mapped().data() + offsetBytes, bytes.size());
        return;
    }
    for (uint64_t at = 0; at < bytes.size(); at += kPieceBytes) {
        const uint64_t size = std::min<uint64_t>(kPieceBytes, bytes.size() - at);
        Stage& stage = idleStage(0, size);
        startCopy(stage, {.from = &buffer, .fromOffset = offsetBytes + at, .to = &stage.buffer, .sizeBytes = size});
        timeline_.wait(stage.busyUntil);
        std::memcpy(bytes.data() + at, stage.buffer.mapped().data(), size);
    }
}

void Transfer::copy(std::span<const CommandRecorder::Copy> copies) {
    std::vector<CommandRecorder::Copy> recorded;
    for (const CommandRecorder::Copy& each : copies)
        if (each.from->isMapped() && each.to->isMapped())
            std::memcpy(each.to->mapped().data() + each.toOffset, each.from->mapped().data() + each.fromOffset,
                        each.sizeBytes);
        else
            recorded.push_back(each);
    if (recorded.empty()) return;
    CommandBuffer commands(*context_, "transfer");
    timeline_.wait(submit(commands, recorded));
}

Transfer::Stage& Transfer::idleStage(size_t index, uint64_t sizeBytes) {
    auto& stage = stages_[index];
    if (stage) timeline_.wait(stage->busyUntil);
    if (!stage || stage->buffer.sizeBytes() < sizeBytes) {
        stage.reset();
        stage.emplace(*context_, sizeBytes);
    }
    return *stage;
}

void Transfer::startCopy(Stage& stage, const CommandRecorder::Copy& copy) {
    stage.busyUntil = submit(stage.commands, {&copy, 1});
}

uint64_t Transfer::submit(CommandBuffer& commands, std::span<const CommandRecorder::Copy> copies) {
    CommandRecorder recorder(commands);
    recorder.barrier(Stages::Device, Stages::Transfer); // waits for earlier submissions that use the buffer
    for (const CommandRecorder::Copy& copy : copies) recorder.copy(copy);
    recorder.barrier(Stages::Transfer, Stages::All);
    recorder.finish();
    return timeline_.submit(commands);
}

} // namespace attn::gpu
