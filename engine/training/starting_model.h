#pragma once

#include "engine/models/model_source.h"
#include "engine/training/objective.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A model from which training starts.
struct StartingModel {
    std::unique_ptr<const ModelSource> source; ///< never null
    std::string tokenizerJson;
    std::string hash; ///< contentHash() of config.json, tokenizer.json and the files with weights
};

/// Opens a model to train it further.
/// @throws Error if it cannot be read, cannot be trained, or is not the model of StartingPoint::hash
StartingModel openStartingModel(const StartingPoint& start);

/// A recipe with the hash and the architecture of the model from which it starts.
Recipe startingFrom(const StartingModel& model, Recipe recipe);

/// The parameters that training changes. @param hasNewTokens the starting model has other tokens
/// @throws Error listing the kinds of parameters if a glob of StartingPoint::trained matches none
std::vector<std::string> trainedParameters(const StartingPoint& start, std::span<const std::string> parameters,
                                           bool hasNewTokens);

/// The factor of the learning rate of a parameter, by StartingPoint::layerDecay.
double rateFactor(const StartingPoint& start, const std::string& parameter, int64_t layers);

/// The dense values of a parameter.
std::vector<float> readDense(const ReadStored& stored, const std::string& parameter, const Shape& shape);

} // namespace attn
