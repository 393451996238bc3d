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

    // Worker thread only.
    void run(const std::stop_token& stop);
    void execute(Command command);
    void fail(const Error& error);
    void on(const OpenModelCommand& command);
    void on(const SetPromptCommand& command);
    void on(const GenerateCommand& command);
    void on(const StopCommand& command);
    void on(const ResetCommand& command);
    void on(const TakeTokenCommand& command);
    void on(const GoToBranchCommand& command);
    void on(const RestoreBranchesCommand& command);
    void on(const SetSamplingCommand& command);
    void on(const SetViewCommand& command);
    void on(const ExplainCellCommand& command);
    void on(const SetHeadGateCommand& command);
    void on(const ShowWeightCommand& command);
    void on(const CaptureCommand& command);

    LanguageModel& model(); ///< @throws Error if none is open
    std::vector<int> promptTokens(const std::string& text) const;
    std::vector<int> fitToContext(const std::vector<int>& tokens);
    void runPath();          ///< brings the model to the current branch and refreshes everything shown
    void generateOne();
    void finishGenerating();
    void refreshSequence();  ///< tokens, text, branches, logits, newest rows
    void refreshViews();     ///< thumbnails and detail
    void publish();

    Options options_;
    std::unique_ptr<LanguageModel> model_;
    TokenPath path_;
    std::string promptText_, notice_;
    Sampling sampling_;
    SetViewCommand view_;
    Snapshot next_;          ///< the snapshot under construction
    int remaining_ = 0;      ///< tokens still to generate
    double tokensPerSecond_ = 0;
    Clock::time_point nextToken_{}, generationStart_{}, lastVisual_{};
    Clock::duration visualCost_{};
    int generated_ = 0;

    // Shared.
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    CommandQueue queue_;
    bool isBusy_ = false;
    std::shared_ptr<const Snapshot> latest_ = std::make_shared<Snapshot>();
    std::function<void()> listener_;
    std::atomic<bool> cancel_ = false;
    std::jthread thread_; // last: joins before anything else goes
};

} // namespace attn
