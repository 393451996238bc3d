#include "engine/session/cost_session.h"

#include "engine/core/error.h"
#include "engine/session/thread_priority.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace attn {

class CostSession::Worker {
public:
    explicit Worker(Options options)
        : options_(std::move(options)), thread_([this](const std::stop_token& stop) { run(stop); }) {}
    ~Worker() { isCancelled_ = true; }

    void ask(const CostQuery& query) {
        {
            const std::lock_guard lock(mutex_);
            wanted_ = query;
            isIdle_ = false;
            isCancelled_ = true;
        }
        changed_.notify_all();
    }
    void cancel() { isCancelled_ = true; }
    std::shared_ptr<const CostSnapshot> latest() const {
        const std::lock_guard lock(mutex_);
        return latest_;
    }
    void setListener(std::function<void()> listener) {
        const std::lock_guard lock(mutex_);
        listener_ = std::move(listener);
    }
    bool waitIdle(double timeoutSeconds) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [&] { return isIdle_; });
    }

private:
    void run(const std::stop_token& stop) {
        lowerThreadPriority();
        for (;;) {
            CostSnapshot next;
            {
                std::unique_lock lock(mutex_);
                if (!wanted_) {
                    isIdle_ = true;
                    changed_.notify_all();
                    changed_.wait(lock, stop, [&] { return wanted_.has_value(); });
                }
                if (stop.stop_requested()) return;
                next.query = *std::exchange(wanted_, std::nullopt);
                isCancelled_ = false;
            }
            next.isRunning = true;
            next.costs.resize(next.query.specs.size());
            next.remarks.resize(next.query.specs.size());
            try {
                answer(next);
            } catch (const Error& error) {
                next.failure = Failure{error.message(), error.where(), error.hint()};
            } catch (const std::exception& error) {
                next.failure = Failure{error.what(), "cost", "please report this"};
            }
            kernels_.reset();
            context_.reset();
            next.isRunning = false;
            publish(next);
        }
    }

    void answer(CostSnapshot& next) {
        const CostQuery& query = next.query;
        if (query.measures) {
            context_ =
                std::make_unique<gpu::Context>(gpu::Context::Options{.device = options_.device,
                                                                     .validation = options_.validation,
                                                                     .softwareThreads = options_.softwareThreads});
            kernels_ = std::make_unique<KernelLibrary>(*context_);
            next.device = context_->traits().name;
        }
        int64_t lengths = 0, done = 0;
        for (int64_t tokens = query.from; tokens <= query.to; tokens *= 2) ++lengths;
        // Length by length, so that the lines grow beside each other.
        for (int64_t tokens = query.from; tokens <= query.to; tokens *= 2)
            for (size_t spec = 0; spec < query.specs.size(); ++spec) {
                if (isCancelled_) return;
                if (next.remarks[spec].empty()) add(next, spec, tokens);
                next.progress = static_cast<double>(++done) /
                                static_cast<double>(lengths * static_cast<int64_t>(next.costs.size()));
                publish(next);
            }
    }

    void add(CostSnapshot& next, size_t spec, int64_t tokens) {
        const CostQuery& query = next.query;
        std::vector<AttentionCost>& costs = next.costs[spec];
        const AttentionSizes sizes{.queries = tokens, .keys = tokens, .width = query.width};
        try {
            if (!query.measures) {
                costs.push_back(attentionCost(query.specs[spec], sizes));
                return;
            }
            const AttentionCost formula = attentionCost(query.specs[spec], sizes);
            if (!costs.empty() && costs.back().operations > 0) {
                const double expected = *costs.back().milliseconds / 1e3 * formula.operations / costs.back().operations;
                if (expected > options_.longestPass) {
                    next.remarks[spec] = fmt::format("{} tokens would take about {:.0f} s a pass", tokens, expected);
                    return;
                }
            }
            const auto measured =
                measureAttention(*context_, *kernels_, query.specs[spec], sizes, [&] { return isCancelled_.load(); });
            if (measured) costs.push_back(*measured);
        } catch (const Error& error) {
            next.remarks[spec] = fmt::format("{} tokens: {}", tokens, error.message());
        }
    }

    void publish(const CostSnapshot& next) {
        std::function<void()> listener;
        {
            const std::lock_guard lock(mutex_);
            auto published = std::make_shared<CostSnapshot>(next);
            published->version = latest_->version + 1;
            latest_ = std::move(published);
            listener = listener_;
        }
        if (listener) listener();
    }

    // The session's thread only.
    Options options_;
    std::unique_ptr<gpu::Context> context_;
    std::unique_ptr<KernelLibrary> kernels_;

    // Shared.
    std::atomic<bool> isCancelled_{false};
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<CostQuery> wanted_;
    bool isIdle_ = true;
    std::shared_ptr<const CostSnapshot> latest_ = std::make_shared<CostSnapshot>();
    std::function<void()> listener_;
    std::jthread thread_; // last: joins before anything else goes
};

CostSession::CostSession(Options options) : worker_(std::make_unique<Worker>(std::move(options))) {}
CostSession::~CostSession() = default;
void CostSession::ask(const CostQuery& query) { worker_->ask(query); }
void CostSession::cancel() { worker_->cancel(); }
std::shared_ptr<const CostSnapshot> CostSession::latest() const { return worker_->latest(); }
void CostSession::setListener(std::function<void()> listener) { worker_->setListener(std::move(listener)); }
bool CostSession::waitIdle(double timeoutSeconds) { return worker_->waitIdle(timeoutSeconds); }

} // namespace attn
