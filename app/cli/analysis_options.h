#pragma once

#include "app/cli/command.h"
#include "engine/analysis/effects.h"
#include "engine/analysis/head_detectors.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/whole_run.h"
#include "engine/session/analysis.h"

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

namespace attn::cli {

/// The logit that an analysis asks about.
struct TargetOptions {
    std::string token, other;

    void addTo(CLI::App& app);
    /// @throws Error for text that is not one token
    LogitTarget read(const LanguageModel& model) const;
};

/// Opens a model that is asked about a text. @throws Error for one that reads pictures
std::unique_ptr<LanguageModel> openForText(const ModelOptions& model, const char* command);

/// Runs an analysis with its progress on standard error where that is a terminal.
std::shared_ptr<AnalysisResult> runAnalysis(LanguageModel& model, std::vector<int> tokens, const Analysis& analysis);
template <class Result>
std::shared_ptr<Result> analyse(LanguageModel& model, std::vector<int> tokens, const Analysis& analysis) {
    return std::static_pointer_cast<Result>(runAnalysis(model, std::move(tokens), analysis));
}

/// A token as listings show it: its text between quotes, or its number.
std::string tokenText(const LanguageModel& model, int token);
nlohmann::json tokenJson(const LanguageModel& model, int token);
nlohmann::json targetJson(const LanguageModel& model, const LogitTarget& target);
std::string targetText(const LanguageModel& model, const LogitTarget& target);
void print(const nlohmann::json& json);

/// A target as answers name it: in text, and in JSON.
struct TargetName {
    std::string text;
    nlohmann::json json;
};
/// What `ablate` says. @param target name of the effects' own
void printEffects(const TargetName& target, const HeadEffects& effects, bool isJson);
/// What `patch` says. @param target likewise  @param tokens their names
void printPatching(const TargetName& target, const PatchEffects& effects, const std::vector<std::string>& tokens,
                   bool isJson);
/// What each part adds to a logit. @param more of the JSON  @param where the logit is: " after token 3", or nothing
void printContributions(const TargetName& target, float logit, std::span<const LogitAttribution::Component> components,
                        nlohmann::json more, const std::string& where, bool isJson);

/// What `detect` compares heads for.
struct LikenessOptions {
    std::vector<int> like; ///< layer and head that others are like; empty: none
    std::string in;        ///< another model whose heads they are; empty: the same
    double cluster = 0;    ///< likeness of a group; 0: no groups

    void addTo(CLI::App& app);
};
/// What `detect` says of heads like the one that is asked for. @param json to which it is added
void printLike(const LikenessOptions& options, std::span<const SimilarHead> heads, nlohmann::json& json, bool isJson);
/// What `detect` says of groups of like heads. @param groups layers and heads
void printGroups(std::span<const std::vector<std::pair<int, int>>> groups, nlohmann::json& json, bool isJson);

struct VisionQuestion;
/// What `detect` says of a picture. @param question whose target does not count
int detectVision(const VisionQuestion& question, const LikenessOptions& likeness);

} // namespace attn::cli
