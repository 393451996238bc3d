#include "engine/models/class_activation.h"

#include "engine/models/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {

ClassActivation classActivation(const ConfigReader& read, int64_t labels) {
    const std::string type = read.text("problem_type", "");
    if (type == "regression") return ClassActivation::None;
    if (type == "multi_label_classification" || labels == 1) return ClassActivation::Sigmoid;
    if (!type.empty() && type != "single_label_classification")
        read.fail("problem_type", fmt::format("is \"{}\"", type),
                  "supported: single_label_classification, multi_label_classification, regression");
    return ClassActivation::Softmax;
}

std::vector<float> probabilitiesOf(std::span<const float> logits) {
    std::vector<float> result(logits.begin(), logits.end());
    if (result.empty()) return result;
    const float largest = *std::ranges::max_element(result);
    double sum = 0;
    for (float& value : result) {
        value = std::exp(value - largest);
        sum += static_cast<double>(value);
    }
    for (float& value : result) value = static_cast<float>(value / sum);
    return result;
}

std::vector<float> saidOf(std::span<const float> logits, ClassActivation activation) {
    if (activation == ClassActivation::Softmax) return probabilitiesOf(logits);
    std::vector<float> result(logits.begin(), logits.end());
    if (activation == ClassActivation::Sigmoid)
        for (float& value : result) value = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(value))));
    return result;
}

std::string answerText(ClassActivation activation, std::span<const std::string> labels, std::span<const float> said) {
    if (activation == ClassActivation::Softmax)
        return labels[static_cast<size_t>(std::ranges::max_element(said) - said.begin())];
    std::string text;
    for (size_t i = 0; i < said.size(); ++i) {
        if (activation == ClassActivation::Sigmoid && said[i] < 0.5f) continue;
        text += text.empty() ? "" : ", ";
        if (activation == ClassActivation::Sigmoid)
            text += labels[i];
        else if (std::abs(said[i]) >= 1e4f && std::abs(said[i]) < 1e9f) // 17500, not 1.75e+04
            text += fmt::format("{:.0f}", said[i]);
        else
            text += fmt::format("{:.4g}", said[i]);
    }
    return text.empty() ? "none" : text;
}

std::string_view nameOf(ClassActivation activation) {
    return activation == ClassActivation::Softmax   ? "softmax"
           : activation == ClassActivation::Sigmoid ? "sigmoid"
                                                    : "none";
}

std::string_view problemType(ClassActivation activation) {
    return activation == ClassActivation::Softmax   ? "single_label_classification"
           : activation == ClassActivation::Sigmoid ? "multi_label_classification"
                                                    : "regression";
}

std::string_view meaningOf(ClassActivation activation) {
    return activation == ClassActivation::Softmax ? "softmax: the probabilities of all labels sum to 1"
           : activation == ClassActivation::Sigmoid
               ? "sigmoid: each label has a probability of its own, and they need not sum to 1"
               : "regression: each number is the model's answer, not a probability";
}

double meanDistance(std::span<const float> said, std::span<const float> right) {
    double sum = 0;
    for (size_t i = 0; i < said.size(); ++i)
        sum += std::abs(static_cast<double>(said[i]) - static_cast<double>(right[i]));
    return sum / static_cast<double>(said.size());
}

} // namespace attn
