#pragma once

#include <cstdint>
#include <vector>

namespace attn {

struct Recipe;

/// A way to keep less of the forward pass: the backward pass computes it again, or finds it rounded.
/// @source Chen et al. 2016, arXiv:1604.06174, section 4.1; Gomez et al. 2017, arXiv:1707.04585, section 3; Kitaev et
/// al. 2020, "Reformer", arXiv:2001.04451, section 3 (chunks); Micikevicius et al. 2018, arXiv:1710.03740
enum class MemorySaving : uint8_t {
    Checkpointing, ///< Recipe::gradientCheckpointing
    Reversible,    ///< residual=reversible
    Chunks,        ///< chunks of a feed-forward layer
    ShortNumbers   ///< Recipe::precision: keeps the forward pass in 16 bits
};

/// The memory of a training step for activations and gradients, without parameters and optimiser states.
struct TrainingMemory {
    /// A step with the setting of one saving inverted.
    struct Alternative {
        MemorySaving saving = MemorySaving::Checkpointing;
        bool isUsed = false; ///< by the recipe
        uint64_t bytes = 0;  ///< memory of a step in which this one saving is inverted
        bool operator==(const Alternative&) const = default;
    };
    uint64_t bytes = 0; ///< as the recipe asks: Trainer::arenaBytes()
    /// The savings of the recipe, and checkpointing where it could be used.
    std::vector<Alternative> alternatives;
};

/// Computes the memory from the plans of the first stage's steps, without a device. Reads the data of the task.
/// @throws Error as Trainer
TrainingMemory trainingMemory(const Recipe& recipe);

} // namespace attn
