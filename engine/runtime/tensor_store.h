#pragma once

#include "engine/gpu/buffer.h"
#include "engine/graph/plan.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Parameters and states on the device, by name. Shared by all plans of a model, so that plans can take turns on one
/// cache.
class TensorStore {
public:
    explicit TensorStore(gpu::Context& context) : context_(context) {}

    struct Entry {
        Shape shape;
        uint32_t block = 0; ///< index of the buffer
        uint64_t byteOffset = 0;
        uint64_t byteSize = 0; ///< padded
    };

    /// Makes room for all of them at once; those that exist keep their contents. Zeroed.
    /// @throws Error if a name exists with another shape; gpu::OutOfMemory with the sizes when the device is full
    void reserve(const std::vector<std::pair<std::string, Shape>>& tensors);

    bool contains(const std::string& name) const { return entries_.contains(name); }
    const Entry& entry(const std::string& name) const;
    const gpu::Buffer& buffer(const Entry& entry) const { return blocks_[entry.block]; }

    /// Fills a tensor. `fill` receives the padded rows, zeroed, in pieces that begin at whole rows: (first row, rows).
    void write(const std::string& name, const std::function<void(int64_t firstRow, std::span<float> rows)>& fill);

    /// @throws Error if there are not as many values as the tensor has
    void writeDense(const std::string& name, std::span<const float> values);

    /// Dense values. Slow; for views of weights and for tests.
    std::vector<float> read(const std::string& name) const;

    void zero(const std::string& name);

    uint64_t bytes() const { return bytes_; }

private:
    gpu::Context& context_;
    std::map<std::string, Entry> entries_;
    std::vector<gpu::Buffer> blocks_;
    uint64_t bytes_ = 0;
};

} // namespace attn
