#pragma once

#include "engine/training/run.h"

#include <string>
#include <string_view>

namespace attn::cli {

// What the commands train and eval say of a training run. They print on standard output.

void printEvaluation(const Trainer& trainer, const Evaluation& evaluation, std::string_view split);
/// Prints BLEU of targets that the model writes from their sources alone, each up to its own end.
void printBleu(Trainer& trainer, Split split, std::string_view name);
/// Prints scores of spans, the usual measure for tags and answers, besides the fraction of right targets.
void printSpans(Trainer& trainer, Split split, std::string_view name);
/// Prints how many pictures of each class (rows) the model takes for each class (columns).
void printConfusion(const Trainer& trainer, const Evaluation& evaluation);
/// "12 x 64 tokens", "64 pictures".
std::string batchText(const Trainer& trainer);
/// "81920 parameters"; after a start from a model "5120 trained parameters (0.57 % of the model's 890624)".
std::string parameterText(const Trainer& trainer);

} // namespace attn::cli
