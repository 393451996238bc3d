#pragma once

#include "app/cli/command.h"
#include "engine/analysis/analysis.h"
#include "engine/analysis/effects.h"
#include "engine/analysis/head_detectors.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/whole_run.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn::cli {

/// The logit that an analysis measures.
struct TargetOptions {
    std::string token, other;

    void addTo(Command& command);
    /// @throws Error for text that is not one token
    LogitTarget read(const LanguageModel& model) const;
};

/// Opens a model that reads text. @throws Error for one that reads pictures
std::unique_ptr<LanguageModel> openForText(const ModelOptions& model, const char* command);

/// Runs an analysis with its progress on standard error where that is a terminal.
/// @param other the picture from which values are copied; no value: none
std::shared_ptr<AnalysisResult> runAnalysis(RunningModel& model, Input input, std::optional<Input> other,
                                            const Analysis& analysis);
template <class Result>
std::shared_ptr<Result> analyse(LanguageModel& model, std::vector<int> tokens, const Analysis& analysis) {
    return std::static_pointer_cast<Result>(runAnalysis(model, std::move(tokens), {}, analysis));
}

/// A token as results show it: its text between quotes, or its number.
std::string tokenText(const LanguageModel& model, int token);
nlohmann::json tokenJson(const LanguageModel& model, int token);
nlohmann::json targetJson(const LanguageModel& model, const LogitTarget& target);
std::string targetText(const LanguageModel& model, const LogitTarget& target);

/// A target as results name it: in text, and in JSON.
struct TargetName {
    std::string text;
    std::shared_ptr<const nlohmann::json> json; ///< never null
};
TargetName targetName(const LanguageModel& model, const LogitTarget& target);
/// Prints the result of `ablate`. @param target the logit that was measured
void printEffects(const TargetName& target, const HeadEffects& effects, bool isJson);
/// Prints the result of `patch`. @param target the logit that was measured  @param tokens names of the rows
void printPatching(const TargetName& target, const PatchEffects& effects, const std::vector<std::string>& tokens,
                   bool isJson);
/// Prints what each component adds to a logit. @param more JSON to which the result is added
/// @param where the position of the logit: " after token 3", or nothing
void printContributions(const TargetName& target, float logit, std::span<const LogitAttribution::Component> components,
                        nlohmann::json more, const std::string& where, bool isJson);

/// Which heads `detect` compares.
struct SimilarityOptions {
    std::vector<int> like; ///< layer and head that others are compared with; empty: none
    std::string in;        ///< model whose heads are compared with it; empty: the same
    double cluster = 0;    ///< least similarity within a group; 0: no groups

    void addTo(Command& command);
};
/// Prints the heads that are similar to the one of the options. @param json to which they are added
void printLike(const SimilarityOptions& options, std::span<const SimilarHead> heads, nlohmann::json& json, bool isJson);
/// Prints groups of similar heads. @param groups layers and heads  @param json to which they are added
void printGroups(std::span<const std::vector<std::pair<int, int>>> groups, nlohmann::json& json, bool isJson);

struct VisionQuestion;
/// `detect` for a picture. @param question its target is ignored
int detectVision(const VisionQuestion& question, const SimilarityOptions& similarity);

} // namespace attn::cli
