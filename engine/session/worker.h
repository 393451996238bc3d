#pragma once

#include "engine/session/command_queue.h"
#include "engine/session/language_model.h"
#include "engine/session/session.h"
#include "engine/session/token_path.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace attn {

/// The session's thread: the only one that touches the model.
class Session::Worker {
public:
    explicit Worker(Options options);
    ~Worker();

    void post(Command command);
    std::shared_ptr<const Snapshot> latest() const;
    void setListener(std::function<void()> listener);
    bool waitIdle(double timeoutSeconds);

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kVisualInterval{16};
    static constexpr double kRefiningMs = 20; ///< at a time: a command waits no longer
    /// Thrown out of loading and running when the user stops it.
    struct Cancelled {};

    // Worker thread only.
    void run(const std::stop_token& stop);
    void execute(Command command);
    void fail(const Error& error);
    void on(const OpenModelCommand& command);
    void on(const ShowWeightsCommand& command);
    void on(const SetPromptCommand& command);
    void on(const GenerateCommand& command);
    void on(const StopCommand& command);
    void on(const ResetCommand& command);
    void on(const TakeTokenCommand& command);
    void on(const GoToBranchCommand& command);
    void on(const RestoreBranchesCommand& command);
    void on(const SetSamplingCommand& command);
    void on(const SetViewCommand& command);
    void on(const SetProfileCommand& command);
    void on(const ExplainCellCommand& command);
    void on(const SetHeadGateCommand& command);
    void on(const ShowWeightCommand& command);
    void on(const CaptureCommand& command);
    void on(const CaptureInputsCommand& command);
    void on(const SetEditsCommand& command);
    void on(const WantUneditedCommand& command);
    void on(const RunAnalysisCommand& command);

    LanguageModel& model(); ///< @throws Error if none is open
    bool isStopped() const { return stops_ > 0; }
    std::unique_ptr<LanguageModel> load(std::unique_ptr<ModelSource> source, const std::string& path);
    /// Makes a loaded model the open one; the old one goes only now.
    void adopt(std::unique_ptr<LanguageModel> model, const std::string& path);
    void describe(const std::string& path, const std::string& name); ///< publishes what the model is now
    std::vector<int> promptTokens(const std::string& text) const;
    void checkToken(int token, const char* where, const char* hint); ///< @throws Error if it is outside the vocabulary
    size_t forgotten(size_t tokens) const; ///< how many of the oldest do not fit into the context
    bool isCurrent() const;                ///< whether the model has run exactly the current branch
    void catchUp(); ///< makes it so, after a Stop or a failure in between; what needs the cache or the logits begins
                    ///< with this
    /// Makes another path the current one and runs it. After a Stop or a failure the old path is in force.
    void moveTo(TokenPath path, std::string promptText);
    /// @param cell to explain again, else an explanation goes with the tokens it spoke of
    void runPath(const std::optional<ExplainCellCommand>& cell =
                     std::nullopt); ///< brings the model to the current branch and refreshes everything shown
    void warmUp();                  ///< one more plan, while nothing is asked for
    void generateOne();
    void finishGenerating();
    void refreshSequence(); ///< tokens, text, branches, logits, newest rows
    /// What the model says without gates and edits, and what views show of that if wanted; the cache is then empty if
    /// it had to run for that.
    void refreshUnedited(std::span<const int> tokens);
    UneditedViews uneditedViews(); ///< of what the model has run
    /// The same where the cache must hold the edited run again. @return whether it ran: pictures must then begin anew
    bool compareUnedited();
    /// @param unedited without gates and edits  @param report as AnalysisInput
    std::shared_ptr<AnalysisResult> analysed(const Analysis& analysis, bool unedited,
                                             const std::function<void(float, const std::string&)>& report);
    void workOut(const Edits& edits);
    void refreshEdits(); ///< works them out anew for another prompt or other weights
    void runEdited();    ///< runs the present path anew under what is changed about the model
    void refreshViews(); ///< thumbnails and detail
    void refreshDetail();
    void refreshProfile();
    void refineViews(); ///< a while, where they are coarse so far
    void publish();
    void publishIdle();

    Options options_;
    std::unique_ptr<LanguageModel> model_;
    TokenPath path_;
    std::string promptText_;
    struct Lost {
        std::string model; ///< path
        TokenPath path;
        std::string promptText;
    };
    std::optional<Lost>
        lost_; ///< what was written on a device that was lost: opening the same model again goes on with it
    Sampling sampling_;
    int weightSize_ = 0; ///< of the weight on display
    SetViewCommand view_;
    SetProfileCommand profiled_;
    Snapshot next_;     ///< the snapshot under construction
    int remaining_ = 0; ///< tokens still to generate
    double tokensPerSecond_ = 0;
    Clock::time_point nextToken_{}, generationStart_{}, lastVisual_{};
    Clock::duration visualCost_{};
    int generated_ = 0;
    bool canWarmUp_ = false, isRefining_ = false;
    bool hasStaleEdits_ = false;      ///< the prompt or the weights are others since they were worked out
    std::vector<int> uneditedTokens_; ///< of Snapshot::unedited
    bool wantsUnedited_ = false;
    struct Shown {
        SetViewCommand view;
        SetProfileCommand profile;
        std::optional<ExplainCellCommand> cell;
        bool operator==(const Shown&) const = default;
    };
    Shown shown() const { return {view_, profiled_, explained_}; }
    Shown uneditedShown_;                         ///< of Snapshot::uneditedViews
    std::optional<ExplainCellCommand> explained_; ///< of Snapshot::explanation

    // Shared.
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    CommandQueue queue_;
    bool isBusy_ = false;
    std::shared_ptr<const Snapshot> latest_ = std::make_shared<Snapshot>();
    std::function<void()> listener_;
    std::atomic<int> stops_ = 0; ///< Stop commands still queued: everything before them ends early
    std::jthread thread_;        // last: joins before anything else goes
};

} // namespace attn
