#pragma once

#include "engine/models/class_activation.h"
#include "engine/models/text_readout.h"

#include <string>
#include <vector>

namespace attn {

/// The classes of a text, by a model with a readout of classes.
struct TextClasses {
    TextReadout readout = TextReadout::TextClass;
    ClassActivation activation = ClassActivation::Softmax;
    std::vector<std::string> labels;
    std::vector<float> logits; ///< [rows, labels]: one row, or one for each token

    int rows() const { return labels.empty() ? 0 : static_cast<int>(logits.size() / labels.size()); }
};

/// A class with its probability, of a text or of a token; or an answer, which is a span of tokens.
struct ClassAnswer {
    int label = 0;          ///< index of the class; of an answer, 0
    int begin = 0, end = 0; ///< the tokens that it is about
    /// For an answer span, the probability of its first token times that of its last one; for a regression, the number
    /// itself.
    float probability = 0;
    float logit = 0; ///< of an answer, the sum of both
};

/// The classes of a text, the most probable one first; or the most probable class of each token, in the order of the
/// text; or the most probable answers, the best one first.
/// @param from first token of the passage that an answer lies in  @param most number of answers
std::vector<ClassAnswer> classAnswers(const TextClasses& classes, int from, int most);

} // namespace attn
