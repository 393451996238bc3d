#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// One named parameter of the loaded model, as stored by the engine (linear weights are [out, in]).
struct ParameterInfo {
    std::string name;       ///< engine name, e.g. "blocks.0.attn.W_Q"
    std::string sourceName; ///< name in the file, empty for constructed models
    std::vector<int64_t> shape;
    int64_t count = 0;
};

/// What is known of a model without running it. Immutable once published.
struct ModelInfo {
    std::string name;        ///< folder name or "induction"
    std::string path;        ///< what the user opened; "builtin:induction" for the constructed one
    std::string family;      ///< "gpt2", "gpt_neo", "gpt_neox", "llama", "induction"
    std::string familyTitle; ///< "Llama"
    std::string configJson;  ///< pretty-printed config as found in the folder
    std::string dtype;       ///< dtype in the file: "F32", "F16", "BF16"
    int layers = 0;
    int heads = 0;
    int keyValueHeads = 0; ///< G; G < H means grouped-query attention
    int headWidth = 0;     ///< D
    int modelWidth = 0;    ///< C
    int feedForwardWidth = 0;
    int vocabulary = 0;    ///< V, rows of the embedding
    int contextLength = 0; ///< the largest number of tokens that the program runs this model on
    int64_t parameterCount = 0;
    int64_t parameterBytes = 0; ///< float32 bytes on the device
    bool hasTokenizer = false;
    std::string tokenizerSummary;        ///< e.g. "BPE with byte fallback, 512 tokens"
    std::vector<std::string> tokenTexts; ///< display piece of every id; empty without a tokenizer
    std::string positionScheme;          ///< e.g. "rotary, half-split, base 10000"
    std::vector<int> slidingWindow;      ///< per layer, in tokens; 0: the layer has no window
    std::vector<ParameterInfo> parameters;
    std::vector<std::string> hooks;    ///< every probe name the model offers, in execution order
    std::vector<std::string> warnings; ///< e.g. "2 NaN in blocks.0.mlp.W_in"
};

} // namespace attn
