#pragma once

#include "engine/core/storage.h"

#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace attn {

class Device;

/// What a model needs if its weights are kept in a storage.
struct StorageNeeds {
    Storage storage = Storage::F32;
    int64_t parameterBytes = 0; ///< on the device: ModelInfo::parameterBytes
    /// How many numbers of each storage writing one token reads, in the order of kStorages. Norms and biases are f32.
    /// Of a table of embeddings only a row counts, unless the table is also the unembedding.
    std::array<int64_t, std::size(kStorages)> readNumbers{};
};

/// A model that need not be loaded, and what it would need in each storage. It follows from the shapes alone.
struct StorageChoice {
    std::string name;
    std::string dtype; ///< as ParameterSource::dtype()
    int64_t parameterCount = 0;
    /// The number of operations of a step that writes one token from a cache; 0: the model does not write so, and its
    /// speed does not follow from the weights that it reads.
    int operations = 0;
    std::vector<StorageNeeds> needs; ///< in the order of kStorages
};
/// @throws Error as openModelSource() and openVisionSource()
StorageChoice storageChoice(const std::string& path);

/// How fast a device multiplies weights with one vector, as writing does.
struct WeightSpeed {
    std::string device;
    uint64_t freeBytes = 0; ///< as Device::freeBytes()
    /// Includes reading from memory and widening; in the order of kStorages.
    std::array<double, std::size(kStorages)> secondsPerNumber{};
    double secondsPerOperation = 0; ///< of a short one
    double secondsPerStep = 0;      ///< to start one

    /// An estimate for writing after a short text. @return 0: it does not follow from the weights
    double tokensPerSecond(const StorageChoice& model, const StorageNeeds& needs) const;
};
/// Takes less than 0.1 s, besides the time to compile kernels that are not on disk yet.
WeightSpeed measureWeightSpeed(Device& device);

} // namespace attn
