#pragma once

#include "engine/core/storage.h"
#include "engine/inference/beam_search.h"
#include "engine/inference/given.h"
#include "engine/inference/pattern_views.h"
#include "engine/inference/picture_views.h"
#include "engine/inference/sampling.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attn {

struct Changes;
struct Analysis;
struct WeightSet;

/// How a command waits behind others. A command without a kind of its own is a Value.
enum class CommandKind : uint8_t {
    Value,    ///< sets a value: a newer command of its type replaces it
    RunValue, ///< a Value that also ends generation
    Step      ///< acts on what the commands before it leave: no command moves across it. It ends generation too
};

/// Opens a model folder, a .safetensors file or a constructed model ("builtin:induction"), and runs it on the input.
struct OpenModelCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
    std::string path;
    Storage storage = Storage::F32; ///< of the weights
    Given given{};                  ///< without a text: the model's example
    /// Without a text: reuses the user's last prompt if the new model can encode it. Examples do not count.
    bool keepsPrompt = false;
    std::string typedBefore{}; ///< that prompt, typed before the program started; unused if there is a newer one
};
/// Shows a checkpoint of a training run. If the open model has the same shape, its parameters are replaced, and the
/// prompt, the branches and every view stay. Otherwise the checkpoint opens as a model.
struct ShowWeightsCommand {
    std::shared_ptr<const WeightSet> weights; ///< null: read from `path`
    std::string path{};  ///< opens the same parameters again: a checkpoint, or the training run's folder
    std::string run{};   ///< the training run's folder, as the path of a model
    std::string title{}; ///< title of the checkpoint: "step 250"
    GivenText given{};   ///< the prompt if it opens as a model; empty: the model's example
    int64_t step = -1;   ///< of the training run
};
/// Longer prompts are refused. Of a prompt that is longer than its context, a model reads the last part.
inline constexpr size_t kMostPromptBytes = 262144, kMostPromptTokens = 65536;
/// Replaces the prompt. The model does not run again on leading tokens that the current sequence shares. An empty text
/// leaves what the tokenizer puts before every text; without that there is no text, and nothing is shown of one.
struct SetPromptCommand {
    static constexpr CommandKind kKind = CommandKind::RunValue;
    GivenText given;
    uint64_t number = 0; ///< of who posts texts, rising: see Snapshot::promptNumber
};
/// Replaces the picture that a vision model reads.
struct SetPictureCommand {
    static constexpr CommandKind kKind = CommandKind::RunValue;
    GivenPicture picture;
};
/// Generates up to maxTokens tokens, at most tokensPerSecond (0: as fast as possible). One token is a Step.
struct GenerateCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
    int maxTokens = 1;
    double tokensPerSecond = 0;
};
/// Searches for the most probable texts after the prompt (Snapshot::beams) and goes to the best one. It continues the
/// last search if that has the same settings and is not done.
struct BeamSearchCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
    BeamSettings settings;
    int steps = 0; ///< number of tokens to add to each hypothesis; 0: until the search is done
};
/// Goes to the end of a hypothesis of Snapshot::beams.
struct GoToHypothesisCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
    int node = 0;
};
/// Stops generation, loading or an export within 50 ms.
struct StopCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
};
/// Removes the generated tokens from the sequence, and keeps the branches.
struct ResetCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
};
/// Appends `token` instead of a sampled one: on a new branch, or on the existing child.
struct TakeTokenCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
    int token = 0;
    int node = -1; ///< of the branch tree, behind which it stands; -1: the current one
};
/// Moves to a node of the branch tree. The next token branches from there.
struct GoToBranchCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
    int node = 0;
};
/// A node of a branch tree, in the order in which the tree grew.
struct SavedToken {
    int parent = -1; ///< index of an earlier node; -1: the root
    int token = 0;
    std::optional<float> probability{}; ///< as in TokenInfo
    bool operator==(const SavedToken&) const = default;
};
/// Replaces the branch tree, for example with that of a session file. `current` is an index of `nodes` (-1: the root).
struct RestoreBranchesCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
    std::vector<SavedToken> nodes{}; ///< empty: those of `given`, as SetPromptCommand reads it
    int current = -1;
    int promptLength = 0;      ///< number of tokens, counted from the root, that belong to the prompt
    GivenText given{};         ///< with nodes: its tokens were read already
    std::vector<int> source{}; ///< for a model with an encoder: the tokens of the text; empty: the tokenizer reads it
    uint64_t number = 0;       ///< as SetPromptCommand's
    /// Whether it is announced before it is read: even its tokens may take a moment.
    bool isLong() const {
        constexpr size_t kLong = 2000; // bytes and tokens
        return given.text.size() + given.second.size() + given.tokens.size() + nodes.size() + source.size() >= kLong;
    }
};
struct SetSamplingCommand {
    Sampling sampling;
};
/// Chooses the hidden word that Snapshot::next predicts, of a model that fills words in. A new prompt chooses the last
/// one.
struct PredictWordCommand {
    int token = -1; ///< index in the sequence; one that is not hidden: the last hidden word
};
/// Chooses the head of Snapshot::profile. A negative layer chooses none.
struct SetProfileCommand {
    int site = -1, head = 0;
    bool operator==(const SetProfileCommand&) const = default;
};
/// Shows a parameter of the model: Snapshot::weight.
struct ShowWeightCommand {
    std::string name;
    int maximumSize = 256; ///< largest number of pixels across or down
};
/// Runs the model on the current sequence and writes the values of hooks to a file. `hooks` is a list of globs:
/// 'blocks.*.attn.hook_pattern,logits'.
struct CaptureCommand {
    static constexpr CommandKind kKind = CommandKind::Step;
    std::string hooks;
    std::string path; ///< .safetensors or .npz
};
/// Replaces all changes to the run.
struct SetChangesCommand {
    static constexpr CommandKind kKind = CommandKind::RunValue;
    std::shared_ptr<const Changes> changes; ///< null: none
};
/// The run that the views show.
enum class ShownRun : uint8_t {
    Changed,   ///< the run with its changes
    Original,  ///< the run without them; they are kept, and bypassed
    Difference ///< the changed run, with the views of the original one beside it
};
/// Chooses the run of all views and analyses. Difference: also Snapshot::originalViews and originalAnalyses.
struct ShowRunCommand {
    ShownRun run = ShownRun::Changed;
};
/// Runs an analysis on the current sequence: Snapshot::analyses. A newer one with the same key replaces it.
struct RunAnalysisCommand {
    std::shared_ptr<const Analysis> analysis;
};
/// Captures the queries, keys and values of a layer on the current sequence: Snapshot::siteInputs.
struct CaptureInputsCommand {
    int site = 0;
};

/// The commands that a window posts to a Session. A PatternRequest chooses Snapshot::grid and Snapshot::detail, which
/// the session computes again after each change of the sequence; a CellRequest chooses Snapshot::explanation.
using Command = std::variant<OpenModelCommand, ShowWeightsCommand, SetPromptCommand, SetPictureCommand, GenerateCommand,
                             BeamSearchCommand, GoToHypothesisCommand, StopCommand, ResetCommand, TakeTokenCommand,
                             GoToBranchCommand, RestoreBranchesCommand, SetSamplingCommand, PredictWordCommand,
                             PatternRequest, SetProfileCommand, CellRequest, ShowWeightCommand, CaptureCommand,
                             CaptureInputsCommand, SetChangesCommand, ShowRunCommand, RunAnalysisCommand>;

} // namespace attn
