#include "app/scope/views/grid_view.h"
#include "engine/gpu/transfer.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace attn::scope {

void GridTiles::setSize(int size) {
    const auto last = static_cast<unsigned>(std::max(subject_.tokenCount(), 1) - 1);
    size = std::max(size, static_cast<int>(std::bit_ceil((last >> LensBand::kMostLevel) + 1)));
    if (size == size_) return;
    gpu::Context& context = subject_.context();
    const auto tiles = static_cast<uint64_t>(subject_.layers()) * static_cast<uint64_t>(subject_.heads());
    pixels_ = {}; // free the old memory before allocating
    pixels_ = gpu::Buffer(
        context, {.sizeBytes = tiles * static_cast<uint64_t>(size) * static_cast<uint64_t>(size) * sizeof(float),
                  .name = "grid tiles"});
    size_ = size;
    layers_.assign(static_cast<size_t>(subject_.layers()), Layer{});
}

int GridTiles::cellsOfPixel() const {
    int cells = 1; // a power of two, so that one more token changes only the last row of pixels
    while ((subject_.tokenCount() + cells - 1) / cells > size_ && cells < 1 << LensBand::kMostLevel) cells *= 2;
    return cells;
}

bool GridTiles::isCurrent() const {
    return std::ranges::all_of(layers_, [&](const Layer& layer) { return layer.version == subject_.version(); });
}

void GridTiles::work(double milliseconds) {
    const auto start = std::chrono::steady_clock::now();
    for (int layer = 0; layer < subject_.layers(); ++layer) {
        if (layers_[static_cast<size_t>(layer)].version == subject_.version()) continue;
        update(layer);
        const auto elapsed = std::chrono::steady_clock::now() - start;
        if (std::chrono::duration<double, std::milli>(elapsed).count() >= milliseconds) return;
    }
}

void GridTiles::update(int layer) {
    Layer& known = layers_[static_cast<size_t>(layer)];
    const int cells = cellsOfPixel(), pixels = (subject_.tokenCount() + cells - 1) / cells;
    const bool keepsRows = known.version != 0 && known.cells == cells;
    const int firstRow = keepsRows ? std::min(subject_.firstChanged(known.version) / cells, pixels - 1) : 0;
    const Microscope::LayerTiles fresh = subject_.microscope().layerTiles(layer, size_, cells, firstRow);

    gpu::Context& context = subject_.context();
    if (!copied_) {
        commands_ = gpu::CommandBuffer(context, "grid tiles");
        copied_.emplace(context, "grid tiles");
    }
    const uint64_t side = static_cast<uint64_t>(size_),
                   rowBytes = side * sizeof(float); // multiples of four: no padding
    std::vector<VkBufferCopy> rows;
    for (int head = 0; head < fresh.heads; ++head) {
        const auto tile = static_cast<uint64_t>(layer * subject_.heads() + head) * side * rowBytes;
        rows.push_back({fresh.byteOffset + static_cast<uint64_t>(head) * side * rowBytes,
                        tile + static_cast<uint64_t>(fresh.firstRow) * rowBytes,
                        static_cast<uint64_t>(fresh.rows) * rowBytes});
    }
    gpu::CommandRecorder recorder(commands_);
    recorder.barrier(gpu::Stages::Shader, gpu::Stages::Transfer);
    vkCmdCopyBuffer(recorder.get(), fresh.buffer, pixels_.get(), static_cast<uint32_t>(rows.size()), rows.data());
    recorder.barrier(gpu::Stages::Transfer, gpu::Stages::Device);
    recorder.finish();
    copied_->wait(copied_->submit(commands_));
    for (const PatternTile& tile : fresh.changedRows)
        gpu::Transfer(context).upload(pixels_,
                                      static_cast<uint64_t>(layer * subject_.heads() + tile.head) * side * rowBytes +
                                          static_cast<uint64_t>(fresh.firstRow) * rowBytes,
                                      std::as_bytes(std::span(tile.values)));
    known = {.version = subject_.version(), .cells = cells};
}

DevicePixels GridTiles::tile(int layer, int head) const {
    if (size_ == 0) return {};
    const Layer& known = layers_[static_cast<size_t>(layer)];
    if (known.version == 0) return {};
    const uint64_t layerBytes = static_cast<uint64_t>(subject_.heads()) * static_cast<uint64_t>(size_) *
                                static_cast<uint64_t>(size_) * sizeof(float),
                   tileBytes = layerBytes / static_cast<uint64_t>(subject_.heads());
    const int pixels = std::min((subject_.tokenCount() + known.cells - 1) / known.cells, size_);
    return {.buffer = pixels_.get(),
            .byteOffset = static_cast<uint64_t>(layer) * layerBytes + static_cast<uint64_t>(head) * tileBytes,
            .byteSize = tileBytes,
            .rowStride = size_,
            .rows = pixels,
            .columns = pixels,
            .rowBegin = 0,
            .rowEnd = pixels * known.cells,
            .columnBegin = 0,
            .columnEnd = pixels * known.cells};
}

} // namespace attn::scope
