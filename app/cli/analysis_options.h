#pragma once

#include "app/cli/command.h"
#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_target.h"
#include "engine/inference/running_model.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::cli {

/// The options of a subcommand that analyses a run: the model, its prompt or picture, and the logit to measure.
struct AnalysisOptions {
    ModelOptions model;
    PromptOptions prompt;
    ImageOptions picture;
    std::string target, against;
    bool hasPrompt = true; ///< false if the subcommand chooses the text itself

    void addTo(Command& command); ///< all but the target
    void addTargetTo(Command& command);
};

/// An open model with the input that a subcommand analyses.
class Asked {
public:
    /// @param command its name, for hints  @param from another picture or text, from which values are copied; may be
    /// empty
    /// @throws Error if the model cannot read such an input
    Asked(const AnalysisOptions& options, const char* command, const std::string& from = {});

    bool isText() const { return input_.isText(); }
    bool hasClasses() const { return info().classes > 0; } ///< instead of tokens
    RunningModel& model() const { return *model_; }
    const ModelInfo& info() const { return model_->info(); }
    const Input& input() const { return input_; }
    const Image& picture() const { return *picture_; } ///< as stored in the file

    /// Refuses --position where the answer to explain is a class of the whole input. @throws Error
    void refusePosition(const Command& command) const;
    LogitTarget target() const; ///< @throws Error that names an unknown token or class
    /// The token or class with this name. @param option for messages
    int choiceNamed(const std::string& text, const char* option) const;

    /// Runs an analysis. Shows its progress on standard error if that is a terminal.
    template <class Result> std::shared_ptr<Result> run(const Analysis& analysis) const {
        return std::static_pointer_cast<Result>(runAny(analysis));
    }
    std::shared_ptr<AnalysisResult> runAny(const Analysis& analysis) const;

    // Names in results.

    std::string choice(int index) const; ///< a token or a class: its text between quotes, or its number
    nlohmann::json choiceJson(int index) const;
    std::string targetText(const LogitTarget& target) const; ///< "logit of "cat""
    nlohmann::json targetJson(const LogitTarget& target) const;
    std::string rowName(size_t row) const; ///< a token of the source or of the text, "CLS", "patch 1, 3"
    nlohmann::json rowJson(size_t row) const;
    size_t firstPatch() const { return info().prefix.size(); } ///< the row of the first patch
    size_t firstRow(int stream) const;                         ///< of a stream, in a text: see TextRows
    void print(nlohmann::json json) const;                     ///< with the warnings about the model and its picture
    std::string headName(int site, int head) const;            ///< "L2 H1", "Cross L0 H3"

private:
    std::unique_ptr<RunningModel> model_;
    Input input_;
    std::optional<Input> other_;
    std::optional<Image> picture_;
    std::vector<std::string> notes_; ///< on the picture
    std::string target_, against_;
};

/// Runs an analysis. Shows its progress on standard error if that is a terminal.
std::shared_ptr<AnalysisResult> runAnalysis(RunningModel& model, const AnalysisContext& context,
                                            const Analysis& analysis);

/// A token as results show it: its text between quotes, or its number.
std::string tokenText(const ModelInfo& model, int token);
nlohmann::json tokenJson(const ModelInfo& model, int token);

} // namespace attn::cli
