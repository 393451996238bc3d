#pragma once

#include "engine/models/class_activation.h"
#include "engine/models/text_readout.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

class Tokenizer;

/// The tokens of which an answer can be made: `begin` and those after it, before `end`.
struct Passage {
    int begin = 0, end = 0;
    bool operator==(const Passage&) const = default;
};

/// The passage of a question: the second text (token type 1), or the only one, without the tokens that the template
/// puts around it. @param types of the first tokens; those of the others are 0  @param tokenizer that knows these
/// tokens; null: the token before the second text separates, as it does behind it
Passage passageOf(std::span<const int> tokens, std::span<const int> types, const Tokenizer* tokenizer);

/// The classes of a text, by a model with a readout of classes.
struct TextClasses {
    TextReadout readout = TextReadout::TextClass;
    ClassActivation activation = ClassActivation::Softmax;
    std::vector<std::string> labels;
    std::vector<float> logits; ///< [rows, labels]: one row, or one for each token
    Passage passage{};         ///< of answer spans

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
/// text; or answerSpans(). @param most number of answers
std::vector<ClassAnswer> classAnswers(const TextClasses& classes, int most);

/// The most probable answers in a passage, the best one first, of any length. Both probabilities are shared among the
/// tokens of the passage and the first token of all (CLS), which stands for "no answer" and is never one.
/// @param first, last logits of each token of the text: that an answer begins and that it ends there
/// @source select_starts_ends() of transformers' QuestionAnsweringPipeline, without its limit of 15 tokens
std::vector<ClassAnswer> answerSpans(std::span<const float> first, std::span<const float> last, const Passage& passage,
                                     int most);

} // namespace attn
