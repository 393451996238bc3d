#pragma once

#include "engine/core/failure.h"
#include "engine/inference/model_info.h"
#include "engine/inference/pattern_views.h"
#include "engine/inference/sequence.h"
#include "engine/inference/site_inputs.h"
#include "engine/inference/text_classes.h"
#include "engine/inference/weight_view.h"
#include "engine/session/commands.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct AnalysisResult;

enum class Activity { Idle, Loading, Prefilling, Generating, Exporting, Analysing };

struct Status {
    Activity activity = Activity::Idle;
    float progress = 0;          ///< 0..1 while Loading, Exporting or Analysing
    std::string detail;          ///< e.g. "blocks.3.mlp.W_in"
    bool preparesEngine = false; ///< until the first run is done, on a device whose kernels are not on disk yet
    std::string device;          ///< "llvmpipe (LLVM 15.0.6, 256 bits)"
    double tokensPerSecond = 0;  ///< speed of the last generation; 0: none yet
    double lastPrefillMs = 0;
    int64_t deviceBytes = 0;   ///< memory allocated on the device
    int64_t residentBytes = 0; ///< resident memory of this process
};

/// The views of the same sequence with all changes bypassed. A member is null when Snapshot's is.
struct OriginalViews {
    std::shared_ptr<const PatternGrid> grid;
    std::shared_ptr<const PatternTile> detail;
    std::shared_ptr<const ReadoutRows> readoutRows;
    std::shared_ptr<const HeadProfile> profile;
    std::shared_ptr<const CellExplanation> explanation;
};

/// A beam search after the prompt, as far as it has come.
struct BeamTree {
    BeamSettings settings;
    std::vector<BeamNode> nodes;    ///< the root is the end of the prompt
    std::vector<std::string> texts; ///< of the nodes' tokens; the root has none
    std::vector<int> finished;      ///< last nodes of the finished hypotheses, the best first
    bool isDone = false;
};

/// The state that views show. Consecutive snapshots share the parts that did not change.
struct Snapshot {
    uint64_t version = 0;  ///< increases by one with each snapshot
    uint64_t openings = 0; ///< number of OpenModelCommands that have begun
    /// The largest number of a text that was taken. Texts up to this one are in the snapshot, or never will be: they
    /// failed, or a newer command has taken their place.
    uint64_t promptNumber = 0;
    uint64_t sequenceVersion = 0; ///< changes when the input or the run changes; the parts below belong to it
    Status status;
    std::shared_ptr<const ModelInfo> model;
    std::string modelPath; ///< as the user opened it; "builtin:induction" for the constructed one; empty: none
    std::shared_ptr<const Sequence> sequence; ///< null for models of pictures
    /// The text that the open model was given last and has not read: it reads it now, it was stopped, or it could not.
    /// `sequence` is what it has read. Null: there is no other.
    std::shared_ptr<const RestoreBranchesCommand> unread;
    bool readsUnread = false; ///< it reads it now
    bool hasEnded = false;    ///< the last token of the text is the model's, and one of those that end a text
    /// Why the model writes no more, as a sentence. Empty: it has written nothing yet, it writes, or a person has gone
    /// to another place of the text.
    std::string ended;
    std::shared_ptr<const BranchTree> branches;
    std::shared_ptr<const BeamTree> beams; ///< the last search after this prompt; null: none
    std::shared_ptr<const NextToken> next;
    std::shared_ptr<const TextClasses> classes; ///< null for models without a readout of classes
    std::shared_ptr<const PatternGrid> grid;
    std::shared_ptr<const PatternTile> detail; ///< the selected head (or aggregate)
    std::shared_ptr<const ReadoutRows> readoutRows;
    std::shared_ptr<const HeadProfile> profile; ///< profile of the head in the last SetProfileCommand
    std::shared_ptr<const CellExplanation> explanation;
    std::shared_ptr<const GivenPicture> picture;         ///< null for models of text
    std::shared_ptr<const PictureAnswer> answer;         ///< null without a picture and after a failure
    std::shared_ptr<const PictureAnswer> originalAnswer; ///< `answer` of the original run; null without changes
    std::shared_ptr<const WeightView> weight;
    std::shared_ptr<const SiteInputs> siteInputs; ///< answer to the last CaptureInputsCommand
    std::shared_ptr<const Changes> changes;       ///< to the run, also while the original one is shown; null: none
    ShownRun run = ShownRun::Changed;
    bool isChanged = false;                    ///< the run that is shown has changes
    std::shared_ptr<const NextToken> original; ///< `next` of the original run; null without changes or generating
    std::shared_ptr<const TextClasses> originalClasses; ///< `classes` of the original run, as `unedited`
    std::shared_ptr<const OriginalViews> originalViews; ///< as `unedited`, while `run` is Difference
    std::map<std::string, std::shared_ptr<const AnalysisResult>> analyses; ///< the last result by Analysis::key()
    /// Results on the original run, for the analyses that ran while `run` was Difference.
    std::map<std::string, std::shared_ptr<const AnalysisResult>> originalAnalyses;
    /// Why the last run of an analysis has no result, by Analysis::key(): it failed, or it was stopped.
    std::map<std::string, Failure> failedAnalyses;
    std::optional<ShowWeightsCommand> shown; ///< the checkpoint that the model shows
    std::optional<Failure> failure;          ///< failure of the last command; null after a success
    /// Failure of the last command that runs the model on an input, or opens it; null after a success. Commands that
    /// only ask for views leave it.
    std::optional<Failure> runFailure;
    uint64_t failureCount = 0; ///< number of failures; tells a repeated failure from an old one
    bool readsLongPrompt() const { return readsUnread && unread->isLong(); } ///< which takes more than a moment
    /// The tokens along the axis of a site's queries, or of its keys; empty without a text.
    std::span<const TokenInfo> queries(int site) const { return tokensOf(site, &Site::queryStream); }
    std::span<const TokenInfo> keys(int site) const { return tokensOf(site, &Site::keyStream); }
    /// The input that makes the same model read this text again: what the person gave, with the tokens that follow as
    /// target.
    GivenText textSoFar() const;
    /// The path that opens this model with these weights again.
    std::string path() const { return shown ? shown->path : model ? modelPath : std::string(); }
    std::string finishedExport; ///< path written by the last CaptureCommand

private:
    std::span<const TokenInfo> tokensOf(int site, int Site::*stream) const {
        if (!sequence || !model || site < 0 || site >= model->siteCount()) return {};
        const bool isOfSource = model->readsSource && model->site(site).*stream == 0;
        return isOfSource ? sequence->source : sequence->tokens;
    }
};

} // namespace attn
