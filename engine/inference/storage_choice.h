#pragma once

#include "engine/core/storage.h"
#include "engine/runtime/device.h"

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace attn {

/// The memory that a model takes, and what it reads for a token, if its weights are kept in a storage.
struct StorageNeeds {
    Storage storage = Storage::F32;
    int64_t parameterBytes = 0; ///< on the device: ModelInfo::parameterBytes
    /// How many of them are read to write one token. Of a table of embeddings that is one row, unless the table is also
    /// the unembedding. 0: the model does not write from a cache, and its speed does not follow from its weights.
    int64_t readBytes = 0;
    bool isAsQ8 = false; ///< every weight is kept as with q8_0, since its rows are too short for blocks of this storage
};

/// A model that need not be loaded, and what it would need in each storage. It follows from the shapes alone.
struct StorageChoice {
    std::string path;
    std::string name;
    std::string dtype; ///< as ModelSource::dtype()
    int64_t parameterCount = 0;
    std::vector<StorageNeeds> needs; ///< in the order of kStorages

    bool writes() const { return needs.front().readBytes > 0; } ///< one token after another, from a cache
};
/// @throws Error as openModelSource() and openModelSource()
StorageChoice storageChoice(const std::string& path);

/// How fast a device runs a model in each storage.
struct WeightSpeed {
    std::string device;
    uint64_t freeBytes = 0; ///< as Device::freeBytes()
    /// The speed of writing after a short text, in the order of kStorages; 0: not known.
    std::array<double, std::size(kStorages)> tokensPerSecond{};
};
/// Runs a model of the same shapes, whose weights are zeros, in each storage. A model that is too large for that runs
/// with fewer layers and a smaller vocabulary, and the time of the rest is in proportion to the bytes that it reads.
/// Takes about a second for a large model, and less for a small one.
/// @param isCancelled asked before each storage; the others are then not known
/// @throws Error as openModelSource()
WeightSpeed measureWeightSpeed(const DeviceChoice& device, const StorageChoice& model,
                               const std::function<bool()>& isCancelled = {});

} // namespace attn
