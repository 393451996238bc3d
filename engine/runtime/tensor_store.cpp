#include "engine/runtime/tensor_store.h"

#include "engine/core/error.h"
#include "engine/gpu/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace attn {
namespace {

constexpr uint64_t kAlignment = 256, kBlockBytes = 256u << 20;

} // namespace

TensorStore::TensorStore(Device& device) : context_(device.context()) {}

TensorStore::~TensorStore() = default;

const gpu::Buffer& TensorStore::buffer(const Entry& entry) const { return blocks_[entry.block]; }

void TensorStore::reserve(const std::vector<std::pair<std::string, Shape>>& tensors) {
    struct Pending {
        std::string name;
        Entry entry;
    };
    std::vector<Pending> pending;
    std::vector<uint64_t> blockBytes;
    for (const auto& [name, shape] : tensors) {
        if (const auto found = entries_.find(name); found != entries_.end()) {
            if (!(found->second.shape == shape))
                throw Error({.what = fmt::format("already has shape {} and cannot become {}",
                                                 found->second.shape.text(), shape.text()),
                             .where = name});
            continue;
        }
        const uint64_t bytes = std::max<uint64_t>(static_cast<uint64_t>(shape.paddedElements()) * 4, 16);
        const uint64_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        if (blockBytes.empty() || blockBytes.back() + aligned > kBlockBytes) blockBytes.push_back(0);
        pending.push_back(
            {name, {shape, static_cast<uint32_t>(blocks_.size() + blockBytes.size() - 1), blockBytes.back(), bytes}});
        blockBytes.back() += aligned;
    }
    std::vector<gpu::Buffer> blocks;
    for (uint64_t bytes : blockBytes)
        blocks.emplace_back(context_, gpu::Buffer::Options{.sizeBytes = bytes,
                                                           .placement = gpu::Placement::DeviceLocal,
                                                           .name = pending.front().name});
    for (gpu::Buffer& block : blocks) {
        bytes_ += block.sizeBytes();
        blocks_.push_back(std::move(block));
    }
    for (Pending& tensor : pending) {
        entries_.emplace(tensor.name, tensor.entry);
        // Mapped memory of software devices comes zeroed page by page from the system, but this is not guaranteed.
        zero(tensor.name);
    }
}

const TensorStore::Entry& TensorStore::entry(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw Error({.what = "no such tensor on the device", .where = name});
    return found->second;
}

void TensorStore::write(const std::string& name, const std::function<void(int64_t, std::span<float>)>& fill) {
    const Entry& tensor = entry(name);
    const int64_t stride = tensor.shape.rowStride(), rows = tensor.shape.rows();
    const int64_t rowsPerPiece = std::max<int64_t>(1, static_cast<int64_t>(gpu::Transfer::kPieceBytes / 4) / stride);
    const gpu::Buffer& block = buffer(tensor);
    gpu::Transfer transfer(context_);
    std::vector<float> piece;
    for (int64_t row = 0; row < rows; row += rowsPerPiece) {
        const int64_t count = std::min(rowsPerPiece, rows - row);
        const auto floats = static_cast<size_t>(count * stride);
        const uint64_t at = tensor.byteOffset + static_cast<uint64_t>(row * stride) * 4;
        if (block.isMapped()) {
            fill(row, block.mappedAs<float>().subspan(at / 4, floats));
            continue;
        }
        piece.assign(floats, 0);
        fill(row, piece);
        transfer.upload(block, at, std::as_bytes(std::span<const float>(piece)));
    }
}

void TensorStore::writeDense(const std::string& name, std::span<const float> values) {
    const Shape& shape = entry(name).shape;
    if (static_cast<int64_t>(values.size()) != shape.elements())
        throw Error(
            {.what = fmt::format("{} values do not fill {}", values.size(), shape.text()), .where = name, .hint = {}});
    const auto columns = static_cast<size_t>(shape.columns()), stride = static_cast<size_t>(shape.rowStride());
    write(name, [&](int64_t firstRow, std::span<float> rows) {
        for (size_t row = 0; row < rows.size() / stride; ++row)
            std::ranges::copy(values.subspan((static_cast<size_t>(firstRow) + row) * columns, columns),
                              rows.begin() + static_cast<std::ptrdiff_t>(row * stride));
    });
}

void TensorStore::zero(const std::string& name) {
    write(name, [](int64_t, std::span<float> rows) { std::ranges::fill(rows, 0.0f); });
}

std::vector<float> TensorStore::read(const std::string& name) const {
    const Entry& tensor = entry(name);
    const int64_t stride = tensor.shape.rowStride(), columns = tensor.shape.columns();
    std::vector<float> padded(static_cast<size_t>(tensor.shape.paddedElements())), dense;
    gpu::Transfer(context_).download(buffer(tensor), tensor.byteOffset, std::as_writable_bytes(std::span(padded)));
    dense.reserve(static_cast<size_t>(tensor.shape.elements()));
    for (int64_t row = 0; row < tensor.shape.rows(); ++row)
        dense.insert(dense.end(), padded.begin() + row * stride, padded.begin() + row * stride + columns);
    return dense;
}

} // namespace attn
