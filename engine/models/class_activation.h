#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

class ConfigReader;

/// The function that turns the logits of a classifier into its answers.
enum class ClassActivation : uint8_t {
    Softmax, ///< one class of several: the probabilities sum to 1
    Sigmoid, ///< each class is there or not: the probabilities need not sum to 1
    None     ///< a regression: the logit is the answer
};

/// The activation of a config.json, from problem_type and the number of labels.
/// @throws Error naming problem_type if its value is unknown
/// @source transformers, pipelines/text_classification.py and image_classification.py: regression: none; several labels
///         at once, or a single label: sigmoid; else softmax
ClassActivation classActivation(const ConfigReader& read, int64_t labels);

/// The numbers that a classifier says. @return the same size; the logits themselves if there is no activation
std::vector<float> saidOf(std::span<const float> logits, ClassActivation activation);

/// The softmax of logits. @return the same size, sums to 1
std::vector<float> probabilitiesOf(std::span<const float> logits);

/// What answers say, in words: the most probable label; the labels from a probability of 1/2 on; the numbers.
/// @param said as saidOf(), or the right answers  @param labels names of the answers
std::string answerText(ClassActivation activation, std::span<const std::string> labels, std::span<const float> said);

/// "softmax", "sigmoid" or "none".
std::string_view nameOf(ClassActivation activation);
/// The value of problem_type in config.json: "multi_label_classification".
std::string_view problemType(ClassActivation activation);
/// The meaning of the answers, in a sentence for the person.
std::string_view meaningOf(ClassActivation activation);

/// The mean distance of what a regression said from the right numbers. @param said, right of the same size, at least 1
double meanDistance(std::span<const float> said, std::span<const float> right);

} // namespace attn
