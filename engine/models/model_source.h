#pragma once

#include "engine/models/decoder.h"
#include "engine/models/generation_rules.h"
#include "engine/models/parameter_source.h"
#include "engine/text/tokenizer.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A model of text that can be loaded: its description, its tokenizer and its weights.
class ModelSource : public ParameterSource {
public:
    virtual const DecoderConfig& config() const = 0;
    virtual const Tokenizer* tokenizer() const = 0; ///< null if the folder has none
    /// The tokenizer of the source, for a model with an encoder.
    virtual const Tokenizer* sourceTokenizer() const { return tokenizer(); }
    virtual std::string example() const = 0;                ///< prompt to start with
    virtual const std::vector<int>& stopTokens() const = 0; ///< tokens that end generation
    /// The rules by which the model writes.
    virtual const GenerationRules& generation() const;
    /// Why the tokenizer of the folder cannot be read; empty: it can, or there is none.
    virtual std::string tokenizerProblem() const { return {}; }
};

/// Opens a Hugging Face folder, a .safetensors file inside one, or "builtin:induction".
/// @throws Error naming the file, the problem and the remedy
std::unique_ptr<ModelSource> openModelSource(const std::string& path);

} // namespace attn
