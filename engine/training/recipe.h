#pragma once

#include "engine/ops/training_ops.h"
#include "engine/training/schedule.h"
#include "engine/training/tasks/task.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace attn {

struct AttentionSpec;
struct DecoderConfig;

/// The shape of a model to train.
struct Architecture {
    /// "gpt2": learned positions, layer norm, GELU; "llama": rotary, RMS norm, SwiGLU; "vit": of tasks over pictures.
    std::string family = "gpt2";
    int64_t layers = 2, heads = 4, keyValueHeads = 0; ///< 0 key/value heads: as many as heads
    int64_t width = 64;
    int64_t feedForward = 0;             ///< 0: 4 widths (gpt2) or 8/3 of it (llama), rounded up to a multiple of 8
    std::string activation = "gelu_new"; ///< of gpt2: "gelu_new", "gelu" or "relu"
    bool bias = true;                    ///< of gpt2; without, biases stay at zero
    bool attentionOnly = false;          ///< of gpt2: no feed-forward layers
    /// Attention composed of parts, as AttentionSpec::parse reads it; several between semicolons take turns from layer
    /// to layer. Heads and widths are the architecture's, unless the expression says how heads share keys. Empty: the
    /// family's own.
    std::string attention{};
    int64_t patch = 4;                 ///< of vit: pixels on a side
    std::string pooling = "cls";       ///< of vit: what the head reads, "cls" or "mean" of the patches
    std::string positions = "learned"; ///< of vit: "learned", "sinusoidal" or "none"
    int64_t window = 0;       ///< of vit: tokens on a side of Swin's windows, which every other layer shifts; 0: none
    int64_t merges = 0;       ///< of vit: how often 2 x 2 tokens become one of twice the width, evenly over the layers
    int64_t pooledTokens = 0; ///< of vit: tokens that are left from the middle layer on, by Token Pooling; 0: all
    double initialDeviation = 0.02; ///< of matrices; narrow models learn sooner from more than GPT-2's 0.02
    bool operator==(const Architecture&) const = default;
};

struct Optimiser {
    enum class Kind : uint8_t { Sgd, Adam, AdamW };
    Kind kind = Kind::AdamW;
    double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    double momentum = 0.9; ///< of SGD
    double decay = 0.1;    ///< of matrices; norms and biases have none
    double clip = 1;       ///< most of the gradient's global norm; 0: no limit
    bool operator==(const Optimiser&) const = default;
};

/// Everything that decides how a run goes: the same recipe on the same device gives the same bits.
struct Recipe {
    std::string task = "sort";
    TaskSettings settings; ///< its seed is the run's
    Architecture architecture;
    Optimiser optimiser;
    Schedule schedule;    ///< its steps are the run's
    int batch = 64;       ///< sequences per step
    int accumulation = 1; ///< equal parts of the batch whose gradients add up
    double smoothing = 0; ///< of labels
    double dropout = 0;
    bool gradientCheckpointing = false; ///< computes each block's activations anew in the backward pass: less memory
    int64_t evaluateEvery = 100, checkpointEvery = 500; ///< steps
    bool operator==(const Recipe&) const = default;
};

/// What to begin with for a task: it reaches the task's success level, where it is known to be reached.
Recipe suggestedRecipe(const Task& task);

/// @throws Error naming the field and what it may be
void check(const Recipe& recipe);
nlohmann::json toJson(const Recipe& recipe);
/// Fields that are missing keep their defaults. @throws Error naming the field that is unknown or out of range
Recipe recipeFromJson(const nlohmann::json& json, const std::string& file);

/// Why an architecture's attention cannot be trained.
struct AttentionProblem {
    std::string sentence;
    std::string nearest; ///< the whole expression that can be; empty: none is known
};
/// For lines that a person types: every training task is causal. None where the attention can be trained.
std::optional<AttentionProblem> attentionProblem(const Architecture& architecture);

/// Architecture::attention for each layer; empty where the family's own is meant. @throws Error as AttentionSpec::parse
std::vector<AttentionSpec> attentionOf(const Architecture& architecture);

/// The model's description. @param context positions  @throws Error as check()
DecoderConfig decoderOf(const Architecture& architecture, int64_t vocabulary, int64_t context);

} // namespace attn
