#pragma once

#include "engine/core/error.h"
#include "engine/core/failure.h"
#include "engine/inference/language_model.h"
#include "engine/inference/text_end.h"
#include "engine/inference/vision_model.h"
#include "engine/jobs/job_list.h"
#include "engine/jobs/publisher.h"
#include "engine/session/command_queue.h"
#include "engine/session/prompt.h"
#include "engine/session/sequence_builder.h"
#include "engine/session/session.h"
#include "engine/session/token_path.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace attn {

/// The session's thread, the only one that uses the model.
class Session::Worker {
public:
    explicit Worker(DeviceChoice choice);
    ~Worker();

    void post(Command command);
    Publisher<Snapshot>& snapshots() { return snapshots_; }
    bool waitIdle(double timeoutSeconds);

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kVisualInterval{16};
    static constexpr double kRefiningMs = 20; ///< per turn, the longest that a command waits
    /// Thrown to leave loading and running when the user stops them.
    struct Cancelled {};

    // Only for the worker thread.
    void run(const std::stop_token& stop);
    /// Executes a command, or does a piece of what earlier ones began.
    void work(std::optional<Command> command);
    void execute(Command command);
    void checkAnswer();
    void fail(Failure failure);
    void on(const OpenModelCommand& command);
    void on(const ShowWeightsCommand& command);
    void on(const SetPromptCommand& command);
    void on(const SetPictureCommand& command);
    void on(const GenerateCommand& command);
    void on(const BeamSearchCommand& command);
    void on(const GoToHypothesisCommand& command);
    void on(const StopCommand& command);
    void on(const ResetCommand& command);
    void on(const TakeTokenCommand& command);
    void on(const GoToBranchCommand& command);
    void on(const RestoreBranchesCommand& command);
    void on(const SetSamplingCommand& command);
    void on(const PredictWordCommand& command);
    void on(const PatternRequest& command);
    void on(const SetProfileCommand& command);
    void on(const CellRequest& command);
    void on(const ShowWeightCommand& command);
    void on(const CaptureCommand& command);
    void on(const CaptureInputsCommand& command);
    void on(const SetChangesCommand& command);
    void on(const ShowRunCommand& command);
    void on(const RunAnalysisCommand& command);

    RunningModel& model() const; ///< @throws Error if none is open
    LanguageModel& text() const; ///< @throws Error if none is open, or it reads pictures
    VisionModel& vision() const; ///< @throws Error if none is open, or it reads text
    AxisKind axis() const { return model().info().inputAxis(); } ///< of what the open model reads
    bool hasTokens() const;                                      ///< a model of text is open and has a prompt
    bool isStopped() const { return stops_ > 0; }
    void rememberTyped();                           ///< the prompt, unless it is an example
    bool canSpell(const std::string& prompt) const; ///< false for an empty one
    std::unique_ptr<RunningModel> load(std::unique_ptr<ModelSource> source, const std::string& path, Storage storage);
    bool replaceWeights(std::unique_ptr<ModelSource>& source); ///< @return whether the source fits the open model
    /// Makes a loaded model the open one, and destroys the old one.
    void adopt(std::unique_ptr<RunningModel> model, const std::string& path);
    void describe(const std::string& path, const std::string& name); ///< publishes the description of the model
    /// @throws Error if the model cannot read the text, or no second text
    Prompt encoded(GivenText given) const;
    /// The prompt of a saved session. @param tokens its tokens, whose text it is
    Prompt restored(const RestoreBranchesCommand& command, const std::vector<int>& tokens) const;
    Prompt sourcePrompt(GivenText given, std::vector<int> source) const; ///< for a model with an encoder
    void checkToken(int token, const char* where, const char* hint); ///< @throws Error if it is outside the vocabulary
    size_t forgotten(size_t tokens) const; ///< number of oldest tokens that do not fit into the context
    bool isCurrent() const;                ///< whether the model has run exactly the current branch
    /// Runs the input if the model has not, after a Stop or a failure. Call before using the cache or the logits.
    /// @throws Error if there is no input
    void catchUp();
    std::vector<int> promptTokens() const;       ///< of the current path
    std::string textOf(int token) const;         ///< as BranchNode::text
    void giveText(RestoreBranchesCommand given); ///< sets Snapshot::unread, before the work that it makes
    void showNoText(Prompt prompt); ///< leaves no text, and nothing that is shown of one. @param prompt is empty
    /// Makes another path the current one and runs it. After a Stop or a failure, the old path stays.
    void moveTo(TokenPath path, std::shared_ptr<const Prompt> prompt);
    TokenPath emptyPath() const;
    void updatePrefix(size_t dropped); ///< says which tokens a model may read in both directions: those of the prompt
    /// How many of the last tokens of the path run one by one: those that are in the cache so, and a short continuation
    /// that one comes back to, which then has the numbers that it had when it was written.
    size_t alone(std::span<const int> tokens);
    void runInput(); ///< runs what was given, if anything was, as the two that follow do
    /// Runs the current branch and updates all views. @param isNew whether it takes the place of Snapshot::unread
    void runPath(bool isNew = false);
    void refreshCell(); ///< explains the cell again, if there is one and the text still has it
    void runPicture();  ///< runs the picture, if there is one, and its original run
    std::shared_ptr<const PictureAnswer> answered(); ///< @pre there is a picture
    std::vector<float> givenPatches();               ///< of the picture with its hidden patches
    std::optional<Input> otherPicture();
    /// What an empty text in changes means: the prompt, or the picture without hidden patches.
    /// @param needsPicture else none is prepared
    Input unchangedInput(bool needsPicture);
    Input input(); ///< the input that has run
    void warmUp(); ///< prepares one plan while idle
    void generateOne();
    /// Whether the model ends a text with this token, the last one, or a picture with it.
    TokenLimits limits();                     ///< of the next token, by the rules of the model's folder
    std::optional<TextEnd> endOfRun() const;  ///< why generation ends here; none: it continues, or it was one step
    void sayEnd(TextEnd end, size_t written); ///< @param written tokens of the run that ends
    void finishGenerating();
    void requireContinuable(); ///< @throws Error if the model cannot continue the text
    void searchOne();          ///< one step of the beam search
    void finishSearching();
    void forgetSearch();           ///< it was after another prompt, or with other parameters or changes
    void refreshSearch();          ///< updates Snapshot::beams
    void takeHypothesis(int node); ///< makes the current path end there
    void refreshSequence();        ///< updates tokens, text, branches, logits, rows of the readout
    /// Updates the next tokens and, if wanted, the views of the original run. Clears the cache if it had to run.
    void refreshOriginal(std::span<const int> tokens);
    OriginalViews originalViews(); ///< views of the tokens in the cache
    /// Updates the original run, then runs the changed one again. @return whether it ran, so pictures must start again
    bool compareOriginal();
    /// @param original whether to run without the changes  @param report as in AnalysisInput
    std::shared_ptr<AnalysisResult> analysed(const Analysis& analysis, bool original,
                                             const std::function<void(float, const std::string&)>& report);
    void workOut(const Changes& changes);
    void refreshChanges(); ///< computes the changes again, after the prompt or the parameters changed
    void runAgain();       ///< runs the input with the current changes
    void refreshViews();   ///< updates thumbnails and detail
    void refreshDetail();
    void refreshProfile();
    void refineViews(); ///< refines coarse views for a while
    void publish();
    void listWork(); ///< lists what takes a while as a job, and tells how far it is
    void publishIdle();

    DeviceChoice choice_;
    std::unique_ptr<RunningModel> model_;
    TokenPath path_;
    std::shared_ptr<const Prompt> prompt_; ///< null: there is no text
    SequenceBuilder sequence_;
    std::string example_; ///< the prompt that the model opened with, unless somebody asked for it
    /// The last prompt that is no example; empty: somebody has chosen the example since; none: not known.
    std::optional<std::string> lastTyped_;
    GivenPicture given_;
    struct LostInput {
        std::string model; ///< path
        TokenPath path;
        std::shared_ptr<const Prompt> prompt;
        std::shared_ptr<const GivenPicture> picture;
    };
    /// The input when the device was lost. Opening the same model again restores it.
    std::optional<LostInput> lostInput_;
    Sampling sampling_;
    int weightSize_ = 0; ///< size of the shown parameter
    PatternRequest view_;
    SetProfileCommand profiled_;
    Snapshot next_; ///< the snapshot under construction
    Activity listedActivity_ = Activity::Idle;
    RemainingTime timeLeft_;
    /// The last command was posted before a model of pictures took the place of one of text, or the other way round.
    /// It fails silently if only the earlier one can do it.
    bool isForEarlier_ = false;
    bool isRun_ = false;    ///< the last command sets Snapshot::runFailure
    std::string analysing_; ///< key of the analysis that runs; empty: none
    int remaining_ = 0;     ///< tokens still to generate
    int asked_ = 0;         ///< tokens of the last GenerateCommand
    double tokensPerSecond_ = 0;
    Clock::time_point nextToken_{}, generationStart_{}, lastVisual_{};
    Clock::duration visualCost_{};
    int generated_ = 0;
    std::optional<BeamSearch> search_; ///< of Snapshot::beams
    int searchSteps_ = 0;              ///< still to do; 0: it rests
    bool hasOpened_ = false;           ///< a model, with success
    bool canWarmUp_ = false, isRefining_ = false;
    bool hasStaleChanges_ = false; ///< the prompt or the parameters changed since the changes were computed
    /// What Snapshot::original is the run of.
    struct Ran {
        std::vector<int> tokens;
        Input sides; ///< LanguageModel::sides()
        int promptLength = 0;
        bool operator==(const Ran&) const = default;
    };
    std::optional<Ran> originalOf_;
    struct Shown {
        PatternRequest view;
        SetProfileCommand profile;
        std::optional<CellRequest> cell;
        bool operator==(const Shown&) const = default;
    };
    Shown shown() const { return {view_, profiled_, explained_}; }
    Shown originalShown_;                  ///< settings of Snapshot::originalViews
    std::optional<CellRequest> explained_; ///< cell of Snapshot::explanation

    // Shared between threads.
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    CommandQueue queue_;
    bool isBusy_ = false;
    Publisher<Snapshot> snapshots_;
    std::atomic<int> stops_ = 0;            ///< queued Stop commands; commands before them end early
    std::atomic<bool> hasOtherRun_ = false; ///< a command waits that changes what an analysis reads
    std::unique_ptr<ListedJob> listed_;     ///< loading, an export or an analysis; null: none is running
    std::jthread thread_;                   // last: joins before other members are destroyed
};

} // namespace attn
