#pragma once

#include "engine/models/model_source.h"
#include "engine/training/objective.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A model from which training starts.
struct StartingModel {
    std::unique_ptr<const ModelSource> source;
    std::string tokenizerJson;                       ///< as wholeTokenizerJson(); empty for a model of pictures
    std::map<std::string, std::string> smallFiles{}; ///< of tokens and of generation beside it, by their names
    std::string hash; ///< contentHash() of config.json, tokenizer.json and the files with weights

    /// The dense values of a parameter.
    std::vector<float> read(const std::string& parameter, const Shape& shape) const;
};

/// The settings of a recipe's task, with the tokens or the preprocessing of the model from which it starts.
TaskSettings settingsFor(const Recipe& recipe, const std::optional<StartingModel>& start);

/// The new tokens or classes of a model that is trained further.
struct NewRows {
    std::vector<std::optional<int>> before; ///< of each, its row in the model before; empty: all are the same
    int64_t rowsBefore = 0;

    /// The values of a parameter of [rows,...] with those of known rows copied. @param fresh initial values of a new
    /// model
    std::vector<float> fill(const StartingModel& start, const std::string& parameter, const Shape& shape,
                            std::vector<float> fresh) const;
};

/// Opens a model to train it further on a task.
/// @throws Error if it cannot be read, cannot be trained, reads text in place of pictures or the reverse, or is not the
///         model of StartingPoint::hash
StartingModel openStartingModel(const StartingPoint& start, const Task& task);

/// A recipe with the hash and the architecture of the model from which it starts, and the attention that the recipe
/// asks for. @throws Error as requireAsked() and AttentionSpec::parse()
Recipe startingFrom(const StartingModel& model, Recipe recipe);

/// The parameters of the model that training changes, without adapters.
/// @param blocks as ModelStructure::blocks()  @param isNew as Objective::isNew()
/// @throws Error listing the kinds of parameters if a glob of StartingPoint::trained matches none
std::vector<std::string> trainedParameters(const StartingPoint& start, std::span<const std::string> parameters,
                                           std::span<const std::string> blocks,
                                           const std::function<bool(const std::string&)>& isNew);

/// The factor of the learning rate of a parameter, by StartingPoint::layerDecay. @param blocks as
/// ModelStructure::blocks()
double rateFactor(const StartingPoint& start, const std::string& parameter, std::span<const std::string> blocks);

/// The index of the block of a parameter, or -1. @param blocks as ModelStructure::blocks()
int blockOf(std::span<const std::string> blocks, const std::string& parameter);
/// The kinds of parameters, as an enumeration: "blocks.*.attn.W_Q" for that of every block.
std::string kindsOf(std::span<const std::string> parameters, std::span<const std::string> blocks);

/// The share of a text's characters, blanks aside, that tokens cannot write: they become the unknown token, or nothing.
double unknownShare(std::string_view text, const Tokenizer& tokenizer);
/// A sentence for people if the model's tokens cannot write more than one in a hundred characters of the beginning of
/// the recipe's text; else empty, as for a recipe without a text or with other tokens.
/// @throws Error if the text or the tokenizer cannot be read
std::string unknownWarning(const Recipe& recipe);
/// What a person should know of the data that a recipe names before it trains, as unknownWarning(),
/// unreadFields() and picturesWarning() say it. @throws Error if they cannot be read
std::string dataWarning(const Recipe& recipe);

/// The dense values of a parameter.
std::vector<float> readDense(const ReadStored& stored, const std::string& parameter, const Shape& shape);

} // namespace attn
