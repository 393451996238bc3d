#pragma once

#include "engine/data/split.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>

// What `train` and `eval` print of an evaluation.

namespace attn {
class Trainer;
struct Evaluation;
} // namespace attn

namespace attn::cli {

/// @param path    that the person gave  @param recipe of the training run
/// @param otherwise ends the remedy for a folder that is no training run
/// @throws Error with the reason if the path is no training run
void requireRun(const std::string& path, const std::filesystem::path& recipe, const std::string& otherwise = {});

nlohmann::json evaluationJson(const Trainer& trainer, const Evaluation& evaluation);
void printEvaluation(const Trainer& trainer, const Evaluation& evaluation, std::string_view split);

/// Prints BLEU of targets that the model writes from their sources alone, each up to its own end.
/// @param json receives it instead, if it is not null
void printBleu(Trainer& trainer, Split split, std::string_view name, nlohmann::json* json = nullptr);
/// Prints scores of spans, the usual measure for tags and answers, besides the fraction of right targets.
/// @param json receives them instead, if it is not null
void printSpans(Trainer& trainer, Split split, std::string_view name, nlohmann::json* json = nullptr);
/// Prints how many pictures of each class (rows) the model takes for each class (columns).
void printConfusion(const Trainer& trainer, const Evaluation& evaluation);

} // namespace attn::cli
