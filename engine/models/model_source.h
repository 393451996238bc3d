#pragma once

#include "engine/models/decoder.h"
#include "engine/models/weight_recipe.h"
#include "engine/text/tokenizer.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A model that can be loaded: its description, its tokenizer and its weights, from a folder or by construction.
class ModelSource {
public:
    virtual ~ModelSource() = default;

    virtual const DecoderConfig& config() const = 0;
    virtual const std::string& configText() const = 0; ///< JSON for display
    virtual std::string familyTitle() const = 0;
    virtual std::string dtype() const = 0;                  ///< dtype of most parameters: "F32", "F16", "BF16"
    virtual const Tokenizer* tokenizer() const = 0;         ///< null if the folder has none
    virtual std::string example() const = 0;                ///< prompt to start with
    virtual const std::vector<int>& stopTokens() const = 0; ///< tokens that end generation
    virtual std::string sourceName(const std::string& parameter) const = 0; ///< name in the file, empty if constructed

    /// Reads a parameter.
    /// @return the number of values that are NaN or infinite
    /// @throws Error naming the file and the tensor if it is missing or has another shape
    virtual int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const = 0;
};

/// Opens a Hugging Face folder, a .safetensors file inside one, or "builtin:induction".
/// @throws Error naming the file, the problem and the remedy
std::unique_ptr<ModelSource> openModelSource(const std::string& path);

} // namespace attn
