#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

class ModelSource;

/// A setting of a model: what its configuration asks for, and what this program does.
struct ModelSetting {
    std::string name;    ///< "Windows"
    std::string asked;   ///< the fields of the configuration with their values; empty: it says nothing
    std::string inForce; ///< "layers 0, 2: the last 4 tokens; layers 1, 3: all earlier tokens"
    bool operator==(const ModelSetting&) const = default;
};

/// The settings that change a model's numbers, and what was left out, in the order in which a reader needs them.
/// @param capacity the largest number of tokens of a text that the program runs the model on
std::vector<ModelSetting> settingsOf(const ModelSource& source, int64_t capacity);

} // namespace attn
