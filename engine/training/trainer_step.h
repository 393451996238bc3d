#pragma once

#include "engine/training/trainer.h"

#include <map>
#include <memory>
#include <string>

// What the files of the trainer share.

namespace attn::step_inputs {

inline constexpr const char* kLossScale = "loss_scale"; ///< also the name of the state
inline constexpr const char* kInverseScale = "inverse_loss_scale";

} // namespace attn::step_inputs

namespace attn {

struct Trainer::Loss {
    Objective::Forward model;
    Tensor losses; ///< [targets] of the first loss
    Tensor total;  ///< [1]
};

struct Trainer::Step {
    Loss loss;
    std::map<std::string, Tensor> outputs;
    std::shared_ptr<Graph> updateGraph; ///< the graph of the loss unless gradients accumulate
    std::map<std::string, Tensor> updateOutputs;
};

} // namespace attn
