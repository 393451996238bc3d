#pragma once

#include "engine/inference/pattern_views.h"
#include "engine/inference/sampling.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attn {

struct Changes;
struct Analysis;
struct WeightSet;

/// Opens a model folder, a .safetensors file or a constructed model ("builtin:induction"), and runs it on the prompt.
struct OpenModelCommand {
    std::string path;
    std::string prompt;            ///< empty: the model's example
    std::vector<int> promptTokens; ///< replaces `prompt` for models without a tokenizer
};
/// Shows a checkpoint of a training run. If the open model has the same shape, its parameters are replaced, and the
/// prompt, the branches and every view stay. Otherwise the checkpoint opens as a model. A newer command replaces one
/// that waits.
struct ShowWeightsCommand {
    std::shared_ptr<const WeightSet> weights; ///< null: read from `path`
    std::string path;              ///< opens the same parameters again: a checkpoint, or the training run's folder
    std::string run;               ///< the training run's folder, as the path of a model
    std::string title;             ///< title of the checkpoint: "step 250"
    std::vector<int> promptTokens; ///< the prompt if it opens as a model; empty: the model's example
};
/// Longer prompts are refused. A model reads at most 4096 tokens at a time and forgets those before them.
inline constexpr size_t kMostPromptBytes = 65536, kMostPromptTokens = 16384;
/// Replaces the prompt. The model does not run again on leading tokens that the current sequence shares.
struct SetPromptCommand {
    std::string text;
    std::vector<int> tokens; ///< replaces `text` if not empty
};
/// Generates up to maxTokens tokens, at most tokensPerSecond (0: as fast as possible). One token is a Step.
struct GenerateCommand {
    int maxTokens = 1;
    double tokensPerSecond = 0;
};
/// Stops generation, loading or an export within 50 ms.
struct StopCommand {};
/// Removes the generated tokens from the sequence, and keeps the branches.
struct ResetCommand {};
/// Appends `token` instead of a sampled one: on a new branch, or on the existing child.
struct TakeTokenCommand {
    int token = 0;
};
/// Moves to a node of the branch tree. The next token branches from there.
struct GoToBranchCommand {
    int node = 0;
};
/// Replaces the branch tree, for example with that of a session file. Nodes are pairs (parent index, token id), where
/// parent -1 is the root. `current` is an index of `nodes` (-1: the root).
struct RestoreBranchesCommand {
    std::vector<std::pair<int, int>> nodes;
    int current = -1;
    std::string prompt;
    int promptLength = 0; ///< number of tokens, counted from the root, that belong to the prompt
};
struct SetSamplingCommand {
    Sampling sampling;
};
/// Chooses the head of Snapshot::profile. A negative layer chooses none.
struct SetProfileCommand {
    int site = -1, head = 0;
    bool operator==(const SetProfileCommand&) const = default;
};
/// Sets the gate of a head, a layer or the whole model.
struct SetHeadGateCommand {
    int site = 0, head = 0; ///< head -1: the whole site; site -1: the whole model
    float gate = 1;         ///< factor on the output of the head: 0 removes it, 1 leaves it unchanged
};
/// Shows a parameter of the model: Snapshot::weight.
struct ShowWeightCommand {
    std::string name;
    int maximumSize = 256; ///< largest number of pixels across or down
};
/// Runs the model on the current sequence and writes the values of hooks to a file. `hooks` is a list of globs:
/// 'blocks.*.attn.hook_pattern,logits'.
struct CaptureCommand {
    std::string hooks;
    std::string path; ///< .safetensors or .npz
};
/// Replaces all changes except gates.
struct SetEditsCommand {
    std::shared_ptr<const Changes> edits; ///< null: none
};
/// Turns the views and analyses of the original run on or off: Snapshot::uneditedViews and uneditedAnalyses.
struct WantUneditedCommand {
    bool isWanted = false;
};
/// Runs an analysis on the current sequence: Snapshot::analyses.
struct RunAnalysisCommand {
    std::shared_ptr<const Analysis> analysis;
};
/// Captures the queries, keys and values of a layer on the current sequence: Snapshot::siteInputs.
struct CaptureInputsCommand {
    int site = 0;
};

/// What a window asks of a Session. A PatternRequest chooses Snapshot::grid and Snapshot::detail, which the session
/// computes again after each change of the sequence; a CellRequest chooses Snapshot::explanation.
using Command =
    std::variant<OpenModelCommand, ShowWeightsCommand, SetPromptCommand, GenerateCommand, StopCommand, ResetCommand,
                 TakeTokenCommand, GoToBranchCommand, RestoreBranchesCommand, SetSamplingCommand, PatternRequest,
                 SetProfileCommand, CellRequest, SetHeadGateCommand, ShowWeightCommand, CaptureCommand,
                 CaptureInputsCommand, SetEditsCommand, WantUneditedCommand, RunAnalysisCommand>;

} // namespace attn
