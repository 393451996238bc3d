#include "engine/runtime/tensor_store.h"

#include "engine/core/error.h"
#include "engine/gpu/device_errors.h"
#include "engine/gpu/transfer.h"
#include "engine/host/pool.h"
#include "engine/system/large_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace attn {
namespace {

constexpr uint64_t kAlignment = 256, kBlockBytes = 256u << 20;

} // namespace

TensorStore::TensorStore(Device& device) : context_(device.context()) {}

TensorStore::~TensorStore() = default;

const gpu::Buffer& TensorStore::buffer(const Entry& entry) const { return blocks_[entry.block]; }

uint64_t storedBytes(const Shape& shape, Storage storage) {
    return std::max<uint64_t>(static_cast<uint64_t>(shape.rows() * storedRow(storage, shape.columns()).bytes), 16);
}

void TensorStore::reserve(const std::vector<std::pair<std::string, Shape>>& tensors, const StorageOf& storageOf) {
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
        const Storage storage = storageOf ? storageOf(name, shape) : Storage::F32;
        const uint64_t bytes = storedBytes(shape, storage);
        const uint64_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        if (blockBytes.empty() || blockBytes.back() + aligned > kBlockBytes) blockBytes.push_back(0);
        pending.push_back({name,
                           {shape, static_cast<uint32_t>(blocks_.size() + blockBytes.size() - 1), blockBytes.back(),
                            bytes, storage}});
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
    try {
        for (const Pending& tensor : pending) {
            entries_.emplace(tensor.name, tensor.entry);
            // Mapped memory of software devices mostly comes zeroed from the system, but this is not guaranteed.
            zero(tensor.name);
        }
    } catch (...) { // to fill memory that is not mapped takes memory
        for (const Pending& tensor : pending) entries_.erase(tensor.name);
        freeUnusedBlocks();
        throw;
    }
}

void TensorStore::resize(const std::vector<std::pair<std::string, Shape>>& states) {
    std::vector<std::pair<std::string, std::optional<Shape>>> grown; // with their former shapes
    grown.reserve(states.size());
    try {
        for (const auto& [name, shape] : states) { // one by one, so that few states lie in memory twice
            const auto found = entries_.find(name);
            std::optional<Shape> former;
            if (found != entries_.end()) {
                former = found->second.shape;
                if (storedBytes(shape, found->second.storage) < found->second.byteSize) continue;
            }
            move(name, shape);
            grown.emplace_back(name, former);
        }
    } catch (...) {
        for (const auto& [name, former] : grown)
            if (former)
                move(name, *former);
            else
                entries_.erase(name);
        freeUnusedBlocks();
        throw;
    }
    // States lose rows only now that all others have found room: none could have been given back.
    for (const auto& [name, shape] : states) move(name, shape);
}

void TensorStore::release(const std::vector<std::pair<std::string, Shape>>& states) {
    for (const auto& [name, shape] : states) entries_.erase(name);
    freeUnusedBlocks();
}

/// Gives a state another shape, in new memory.
void TensorStore::move(const std::string& name, const Shape& shape) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return reserve({{name, shape}});
    if (found->second.shape == shape) return;
    auto former = entries_.extract(found);
    Entry& old = former.mapped();
    const uint64_t bytes = storedBytes(shape, old.storage);
    const auto goBack = [&] {
        entries_.erase(name);
        entries_.insert(std::move(former));
        freeUnusedBlocks();
    };
    try {
        reserve({{name, shape}});
        copyParts(std::array{Part{old, entry(name), std::min(old.byteSize, bytes)}});
    } catch (const gpu::OutOfMemory&) {
        const bool fits = bytes <= old.byteSize;
        if (fits) { // it keeps its place, whose end is then unused
            old.shape = shape;
            old.byteSize = bytes;
        }
        goBack();
        if (fits) return;
        throw;
    } catch (...) {
        goBack();
        throw;
    }
    freeUnusedBlocks();
}

void TensorStore::copy(const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::vector<Part> parts;
    for (const auto& [from, to] : pairs) parts.push_back({entry(from), entry(to), entry(from).byteSize});
    copyParts(parts);
}

void TensorStore::copyRows(const std::vector<std::pair<std::string, Shape>>& tensors, const Rows& rows) {
    std::vector<Part> parts;
    for (const auto& [name, shape] : tensors) {
        Entry from = entry(name), to = from;
        const uint64_t row = from.byteSize / static_cast<uint64_t>(from.shape[0]);
        from.byteOffset += static_cast<uint64_t>(rows.from) * row;
        to.byteOffset += static_cast<uint64_t>(rows.to) * row;
        parts.push_back({from, to, static_cast<uint64_t>(rows.count) * row});
    }
    copyParts(parts);
}

void TensorStore::copyParts(std::span<const Part> parts) {
    std::vector<gpu::CommandRecorder::Copy> copies;
    for (const auto& [from, to, bytes] : parts) {
        const gpu::Buffer &source = buffer(from), &target = buffer(to);
        if (source.isMapped() && target.isMapped())
            std::ranges::copy(source.mapped().subspan(from.byteOffset, bytes),
                              target.mapped().subspan(to.byteOffset).begin());
        else
            copies.push_back({.from = &source,
                              .fromOffset = from.byteOffset,
                              .to = &target,
                              .toOffset = to.byteOffset,
                              .sizeBytes = bytes});
    }
    if (!copies.empty()) gpu::Transfer(context_).copy(copies);
}

void TensorStore::freeUnusedBlocks() {
    std::vector<bool> isUsed(blocks_.size());
    for (const auto& [name, entry] : entries_) isUsed[entry.block] = true;
    for (size_t block = 0; block < blocks_.size(); ++block)
        if (!isUsed[block]) {
            bytes_ -= blocks_[block].sizeBytes();
            blocks_[block] = {};
        }
    while (!blocks_.empty() && !isUsed[blocks_.size() - 1]) blocks_.pop_back();
}

const TensorStore::Entry& TensorStore::entry(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw Error({.what = "no such tensor on the device", .where = name});
    return found->second;
}

void TensorStore::write(const std::string& name, const std::function<void(int64_t, std::span<float>)>& fill) {
    const Entry& tensor = entry(name);
    const bool isCompact = tensor.storage != Storage::F32;
    const int64_t stride = tensor.shape.rowStride(), columns = tensor.shape.columns(), rows = tensor.shape.rows();
    const uint64_t rowBytes = static_cast<uint64_t>(storedRow(tensor.storage, columns).bytes);
    const int64_t rowsPerPiece = std::max<int64_t>(1, static_cast<int64_t>(gpu::Transfer::kPieceBytes / 4) / stride);
    const gpu::Buffer& block = buffer(tensor);
    gpu::Transfer transfer(context_);
    std::vector<float> piece;
    std::vector<std::byte> stored;
    for (int64_t row = 0; row < rows; row += rowsPerPiece) {
        const int64_t count = std::min(rowsPerPiece, rows - row);
        const auto floats = static_cast<size_t>(count * stride);
        const uint64_t at = tensor.byteOffset + static_cast<uint64_t>(row) * rowBytes;
        if (block.isMapped() && !isCompact) {
            fill(row, block.mappedAs<float>().subspan(at / 4, floats));
            continue;
        }
        piece.assign(floats, 0);
        fill(row, piece);
        if (!isCompact) {
            transfer.upload(block, at, std::as_bytes(std::span<const float>(piece)));
            continue;
        }
        stored.resize(block.isMapped() ? 0 : static_cast<size_t>(count) * rowBytes);
        std::byte* to = block.isMapped() ? block.mapped().data() + at : stored.data();
        host::Pool::shared().ranges(count, 16, 1, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r)
                encodeRow(tensor.storage,
                          std::span<const float>(piece).subspan(static_cast<size_t>(r * stride),
                                                                static_cast<size_t>(columns)),
                          to + static_cast<uint64_t>(r) * rowBytes);
        });
        if (!block.isMapped()) transfer.upload(block, at, stored);
    }
    fillWidened(name);
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
    const Entry& tensor = entry(name); // zero bytes mean zeros in every storage
    const gpu::Buffer& block = buffer(tensor);
    if (block.isMapped())
        clearMemory(block.mapped().subspan(tensor.byteOffset, tensor.byteSize));
    else
        gpu::Transfer(context_).upload(
            block, tensor.byteOffset, tensor.byteSize,
            [](uint64_t, std::span<std::byte> piece) { std::ranges::fill(piece, std::byte{0}); });
    fillWidened(name);
}

const gpu::Buffer& TensorStore::widened(const std::string& name) {
    if (const auto found = widened_.find(name); found != widened_.end()) return found->second;
    const Shape shape = entry(name).shape;
    gpu::Buffer copy(context_, {.sizeBytes = storedBytes(shape, Storage::F32),
                                .placement = gpu::Placement::DeviceLocal,
                                .name = name + " as floats"});
    const gpu::Buffer& kept = widened_.emplace(name, std::move(copy)).first->second;
    try {
        fillWidened(name);
    } catch (...) {
        widened_.erase(name); // who asks next must not read what it does not hold
        throw;
    }
    bytes_ += kept.sizeBytes();
    return kept;
}

void TensorStore::fillWidened(const std::string& name) {
    const auto found = widened_.find(name);
    if (found == widened_.end()) return;
    const std::vector<float> dense = read(name); // rows of compact storage have no padding
    if (const gpu::Buffer& copy = found->second; copy.isMapped())
        std::ranges::copy(dense, copy.mappedAs<float>().begin());
    else
        gpu::Transfer(context_).upload(copy, 0, std::as_bytes(std::span(dense)));
}

void TensorStore::copyFrom(const TensorStore& from, std::span<const std::string> names) {
    std::vector<gpu::CommandRecorder::Copy> copies;
    for (const std::string& name : names) {
        const Entry &target = entry(name), &source = from.entry(name);
        if (!(target.shape == source.shape))
            throw Error(
                {.what = fmt::format("has shape {} and cannot take {}", target.shape.text(), source.shape.text()),
                 .where = name});
        const gpu::Buffer &to = buffer(target), &other = from.buffer(source);
        const bool isReachable = &context_ == &from.context_ || (to.isMapped() && other.isMapped());
        if (isReachable && target.storage == source.storage)
            copies.push_back({.from = &other,
                              .fromOffset = source.byteOffset,
                              .to = &to,
                              .toOffset = target.byteOffset,
                              .sizeBytes = target.byteSize});
        else
            writeDense(name, from.read(name));
    }
    gpu::Transfer(context_).copy(copies);
    for (const std::string& name : names) fillWidened(name);
}

std::shared_ptr<TensorStore> makeStore(std::shared_ptr<Device> device) {
    struct Held {
        explicit Held(std::shared_ptr<Device> on) : device(std::move(on)), store(*device) {}
        std::shared_ptr<Device> device; // destroyed after what lies on it
        TensorStore store;
    };
    const auto held = std::make_shared<Held>(std::move(device));
    return {held, &held->store};
}

std::vector<float> TensorStore::read(const std::string& name) const {
    const Entry& tensor = entry(name);
    const int64_t columns = tensor.shape.columns();
    const auto rowBytes = static_cast<size_t>(storedRow(tensor.storage, columns).bytes);
    std::vector<std::byte> stored(tensor.byteSize);
    gpu::Transfer(context_).download(buffer(tensor), tensor.byteOffset, stored);
    std::vector<float> dense(static_cast<size_t>(tensor.shape.elements()));
    for (int64_t row = 0; row < tensor.shape.rows(); ++row)
        decodeRow(tensor.storage, stored.data() + static_cast<size_t>(row) * rowBytes,
                  std::span(dense).subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns)));
    return dense;
}

} // namespace attn
