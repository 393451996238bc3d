#pragma once

#include "engine/models/memory_source.h"
#include "engine/session/sampling.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attn {

struct Edits;
struct Analysis;

/// Opens a model folder, a .safetensors file or "builtin:induction", and runs the prompt on it when one is given.
struct OpenModelCommand {
    std::string path;
    std::string prompt;            ///< empty: the model's own example
    std::vector<int> promptTokens; ///< instead of prompt, for models without a tokenizer
};
/// Shows a moment of a training run: its weights take the place of the open model's if that is of the same shape, and
/// the prompt, the branches and every view stay; else it is opened. Of several that wait only the newest runs.
struct ShowWeightsCommand {
    std::shared_ptr<const WeightSet> weights; ///< null: those at `path`
    std::string path;                         ///< what opens the same again: a checkpoint, or the run's folder
    std::string run;                          ///< the run's folder, its path as a model
    std::string title;                        ///< of the moment: "step 250"
    std::vector<int> promptTokens;            ///< when it is opened; empty: the model's own example
};
/// Replaces the prompt; tokens shared with the present sequence are not run again.
struct SetPromptCommand {
    std::string text;
    std::vector<int> tokens; ///< used instead of text when not empty
};
/// Generates up to maxTokens tokens, at most tokensPerSecond (0: as fast as possible). maxTokens 1 is a Step.
struct GenerateCommand {
    int maxTokens = 1;
    double tokensPerSecond = 0;
};
/// Ends generation, loading or an export within 50 ms.
struct StopCommand {};
/// Back to the prompt alone, branches kept.
struct ResetCommand {};
/// Takes `token` as the next one instead of sampling: a new branch (or the existing child).
struct TakeTokenCommand {
    int token = 0;
};
/// Moves to a node of the branch tree (click on an earlier token: branch from there).
struct GoToBranchCommand {
    int node = 0;
};
/// Replaces the branch tree, as when a session file is opened: tokens as (parent index, token id), parent -1 is the
/// root; `current` indexes the list (-1: the root alone).
struct RestoreBranchesCommand {
    std::vector<std::pair<int, int>> nodes;
    int current = -1;
    std::string prompt;
    int promptLength = 0; ///< how many tokens from the root on are prompt
};
struct SetSamplingCommand {
    Sampling sampling;
};
enum class HeadAggregate { None, Mean, Maximum };
/// What the attention views show; the session keeps computing exactly this after each change.
struct SetViewCommand {
    int layer = 0;
    int head = 0;
    HeadAggregate aggregate = HeadAggregate::None; ///< over the heads of the layer
    int thumbnailSize = 64;                        ///< pixels across, 0: no thumbnails wanted
    bool detail = true;                            ///< the selected head at full resolution wanted
    int detailSize = 1024;                         ///< most pixels across of the detail
    int queryBegin = 0, queryEnd = 0;              ///< token range of the detail; 0,0: all
    int keyBegin = 0, keyEnd = 0;
    bool hidesFirst = false; ///< as PatternTile::leavesOutFirst
    bool operator==(const SetViewCommand&) const = default;
};
/// The head whose profile is wanted. @param layer negative: none
struct SetProfileCommand {
    int layer = -1, head = 0;
    bool operator==(const SetProfileCommand&) const = default;
};
struct ExplainCellCommand {
    int layer = 0, head = 0, query = 0, key = 0;
    bool operator==(const ExplainCellCommand&) const = default;
};
struct SetHeadGateCommand {
    int layer = 0, head = 0; ///< head -1: the whole layer; layer -1: the whole model
    float gate = 1;          ///< 0 removes the head's output, 1 leaves it
};
struct ShowWeightCommand {
    std::string name;
    int maximumSize = 256; ///< most pixels across or down
};
/// Runs the present sequence with the named hooks requested and writes them. Globs as in
/// 'blocks.*.attn.hook_pattern,logits'.
struct CaptureCommand {
    std::string hooks;
    std::string path; ///< .safetensors or .npz
};
/// Takes the place of all interventions and patterns set by hand.
struct SetEditsCommand {
    std::shared_ptr<const Edits> edits; ///< null: none
};
/// While wanted, what views show of the run without gates and edits is worked out beside the changed one:
/// Snapshot::uneditedViews, and with each analysis Snapshot::uneditedAnalyses.
struct WantUneditedCommand {
    bool isWanted = false;
};
/// Works something out: Snapshot::analyses.
struct RunAnalysisCommand {
    std::shared_ptr<const Analysis> analysis;
};
/// Works out what a layer's attention is given on the present sequence: Snapshot::layerInputs.
struct CaptureInputsCommand {
    int layer = 0;
};

using Command =
    std::variant<OpenModelCommand, ShowWeightsCommand, SetPromptCommand, GenerateCommand, StopCommand, ResetCommand,
                 TakeTokenCommand, GoToBranchCommand, RestoreBranchesCommand, SetSamplingCommand, SetViewCommand,
                 SetProfileCommand, ExplainCellCommand, SetHeadGateCommand, ShowWeightCommand, CaptureCommand,
                 CaptureInputsCommand, SetEditsCommand, WantUneditedCommand, RunAnalysisCommand>;

} // namespace attn
