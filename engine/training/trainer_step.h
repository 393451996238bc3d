#pragma once

#include "engine/training/trainer.h"

#include <map>
#include <memory>
#include <string>

// What the files of the trainer share.

namespace attn::step_inputs {

inline constexpr const char* kTargets = "targets";
inline constexpr const char* kWeights = "target_weights";
inline constexpr const char* kClasses = "text_classes";
inline constexpr const char* kClassWeights = "text_class_weights";
inline constexpr const char* kSegmentTargets = "segment_targets";
inline constexpr const char* kSegmentWeights = "segment_weights";
inline constexpr const char* kLossScale = "loss_scale"; ///< also the name of the state
inline constexpr const char* kInverseScale = "inverse_loss_scale";

/// The losses of the rows of logits. @param targets, weights names of inputs  @return [rows of logits]
Tensor lossesOf(Tensor logits, const char* targets, const char* weights, double smoothing = 0);

} // namespace attn::step_inputs

namespace attn {

struct Trainer::Loss {
    Objective::Forward model;
    Tensor losses; ///< [targets]
    Tensor total;  ///< [1]
};

struct Trainer::Step {
    Loss loss;
    std::map<std::string, Tensor> outputs;
    std::shared_ptr<Graph> updateGraph; ///< that of the loss unless gradients accumulate
    std::map<std::string, Tensor> updateOutputs;
};

} // namespace attn
