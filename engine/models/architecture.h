#pragma once

#include <cstdint>
#include <string>

namespace attn {

/// The shape of a model to train.
struct Architecture {
    /// "gpt2": learned positions, layer norm, GELU; "llama": rotary, RMS norm, SwiGLU; "bert": for tasks that mask
    /// tokens or ask for classes; "xlnet": for permuted text; "vit": for tasks with pictures; for tasks with a source
    /// "t5" (relative positions, RMS norm, gated GELU), "bart" (learned positions, norms after the sums) or "marian"
    /// (sinusoids, norms after the sums).
    std::string family = "gpt2";
    int64_t layers = 2, heads = 4, keyValueHeads = 0; ///< of each stack; keyValueHeads 0: equal to `heads`
    int64_t width = 64;
    int64_t feedForward = 0;             ///< F; 0: 4 width (gpt2) or 8/3 width (llama), rounded up to a multiple of 8
    std::string activation = "gelu_new"; ///< gpt2: "gelu_new", "gelu" or "relu"
    bool bias = true;                    ///< gpt2; false: biases stay 0
    bool attentionOnly = false;          ///< gpt2: no MLPs
    /// Composed attention in the syntax of AttentionSpec::parse(). Layers alternate between several expressions, which
    /// are separated by semicolons. The architecture sets heads and widths, unless the expression shares keys between
    /// heads. Empty: the attention of the family.
    std::string attention{};
    int64_t patch = 4;                 ///< vit: pixels per side
    std::string pooling = "cls";       ///< vit: input of the classifier, "cls" or "mean" of the patches
    std::string positions = "learned"; ///< vit: "learned", "sinusoidal" or "none"; t5, bart: "learned" or "none"
    int64_t window = 0;       ///< vit: tokens per side of Swin's windows, shifted in every other layer; 0: none
    int64_t merges = 0;       ///< vit: number of times that 2 x 2 tokens become one of twice the width, evenly spaced
    int64_t pooledTokens = 0; ///< vit: tokens after Token Pooling before the middle layer; 0: no pooling
    std::string init = "scaled_normal"; ///< the rule for the first numbers of matrices: see initialisations()
    double initialDeviation =
        0.02; ///< of matrices, for rules that have one; narrow models learn faster with more than GPT-2's 0.02
    bool operator==(const Architecture&) const = default;
};

} // namespace attn
