#pragma once

#include "engine/core/storage.h"
#include "engine/graph/plan.h"
#include "engine/runtime/device.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn {

namespace gpu {
class Buffer;
}

/// The bytes of a tensor in a storage, with the padding of its rows.
uint64_t storedBytes(const Shape& shape, Storage storage);

/// The parameters and states on the device, by name. All plans of a model share them, so plans can take turns with one
/// cache.
class TensorStore {
public:
    explicit TensorStore(Device& device);
    ~TensorStore();
    TensorStore(const TensorStore&) = delete;
    TensorStore& operator=(const TensorStore&) = delete;

    struct Entry {
        Shape shape;
        uint32_t block = 0; ///< index of the buffer
        uint64_t byteOffset = 0;
        uint64_t byteSize = 0; ///< padded
        Storage storage = Storage::F32;
    };
    /// The storage of a tensor that is about to be allocated. It must fit the tensor's rows (storageFor()).
    using StorageOf = std::function<Storage(const std::string& name, const Shape& shape)>;

    /// Allocates memory for all tensors at once, filled with zeros; existing tensors keep their contents.
    /// @throws Error if a name exists with another shape
    /// @throws gpu::OutOfMemory with the sizes if the device is full
    void reserve(const std::vector<std::pair<std::string, Shape>>& tensors, const StorageOf& storageOf = {});

    /// Gives states another number of rows, in new memory: the rows that they had stay, others are zeros. Whatever was
    /// built on the store before must not run again. States that do not exist are allocated.
    /// @throws gpu::OutOfMemory; the states are then as before
    void resize(const std::vector<std::pair<std::string, Shape>>& states);
    /// Forgets states, and gives back their memory. What was built on them must not run again.
    void release(const std::vector<std::pair<std::string, Shape>>& states);
    /// Copies whole tensors on the device. @param pairs of names, from and to, with the same shapes
    void copy(const std::vector<std::pair<std::string, std::string>>& pairs);
    /// Rows of the first axis, to another place of the same tensor.
    struct Rows {
        int64_t from = 0, to = 0, count = 0;
    };
    /// Copies rows of each tensor on the device. @param rows that do not overlap
    void copyRows(const std::vector<std::pair<std::string, Shape>>& tensors, const Rows& rows);

    bool contains(const std::string& name) const { return entries_.contains(name); }
    /// @throws Error if there is no such tensor
    const Entry& entry(const std::string& name) const;
    const gpu::Buffer& buffer(const Entry& entry) const;

    /// A tensor as floats, for kernels that cannot read its storage: a copy that is made when it is first asked for,
    /// and written when the tensor is. Kernels that write to the tensor do not reach it.
    const gpu::Buffer& widened(const std::string& name);

    /// Fills a tensor, and rounds the values to its storage. @param fill receives zeroed, padded rows in pieces of
    /// whole rows, with the index of the first row
    void write(const std::string& name, const std::function<void(int64_t firstRow, std::span<float> rows)>& fill);

    /// Fills a tensor with values without padding. @throws Error if their number differs from the tensor's size
    void writeDense(const std::string& name, std::span<const float> values);

    /// Fills tensors with those of the same names in another store. Where both stores lie on one device and keep a
    /// tensor alike, its bytes do not pass through the host.
    /// @param from no run may be writing to it  @throws Error if it lacks a tensor, or has one of another shape
    void copyFrom(const TensorStore& from, std::span<const std::string> names);

    /// Reads the values without padding. Slow; for views of parameters and for tests.
    std::vector<float> read(const std::string& name) const;

    void zero(const std::string& name);

    uint64_t bytes() const { return bytes_; }

private:
    void move(const std::string& name, const Shape& shape);
    struct Part {
        Entry from, to;
        uint64_t bytes = 0;
    };
    void copyParts(std::span<const Part> parts);
    void freeUnusedBlocks();
    void fillWidened(const std::string& name); ///< with the tensor's values, if there is such a copy

    gpu::Context& context_;
    std::map<std::string, Entry> entries_;
    std::vector<gpu::Buffer> blocks_; ///< an empty one was freed
    std::map<std::string, gpu::Buffer> widened_;
    uint64_t bytes_ = 0;
};

/// An empty store that holds its device, for what outlives whoever made it.
std::shared_ptr<TensorStore> makeStore(std::shared_ptr<Device> device);

} // namespace attn
