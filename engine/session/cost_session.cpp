#include "engine/session/cost_session.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/jobs/job_queue.h"
#include "engine/jobs/publisher.h"
#include "engine/runtime/device.h"
#include "engine/runtime/gpu_executor.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

namespace attn {

class CostSession::Worker {
public:
    explicit Worker(DeviceChoice choice, double longestPass) : choice_(std::move(choice)), longestPass_(longestPass) {}

    void ask(const CostQuery& query) {
        jobs_.add({.kind = "costs",
                   .key = kKey,
                   .title = query.measures ? "Measure the time and memory of attentions" : "",
                   .canPause = true,
                   .run = [this, query](JobControl& control) { run(query, control); }});
    }
    void cancel() { jobs_.stop(kKey); }
    Publisher<CostSnapshot>& snapshots() { return snapshots_; }
    bool waitIdle(double timeoutSeconds) { return jobs_.waitIdle(timeoutSeconds); }

private:
    static constexpr auto kKey = "costs";

    void run(const CostQuery& query, JobControl& control) {
        CostSnapshot next;
        next.query = query;
        next.isRunning = true;
        next.costs.resize(next.query.specs.size());
        next.remarks.resize(next.query.specs.size());
        next.failure = attempt("cost", [&] { answer(next, control); });
        device_.reset();
        next.isRunning = false;
        snapshots_.publish(next);
    }

    void answer(CostSnapshot& next, JobControl& control) {
        const CostQuery& query = next.query;
        if (query.measures) {
            device_ = Device::shared(choice_);
            next.device = device_->name();
        }
        int64_t lengths = 0, done = 0;
        for (int64_t tokens = query.from; tokens <= query.to; tokens *= 2) ++lengths;
        // By length first, so that the curves of all specs grow together.
        for (int64_t tokens = query.from; tokens <= query.to; tokens *= 2)
            for (size_t spec = 0; spec < query.specs.size(); ++spec) {
                if (!control.mayContinue()) return;
                if (next.remarks[spec].empty()) add(next, spec, tokens, control.isStopped());
                next.progress = static_cast<double>(++done) /
                                static_cast<double>(lengths * static_cast<int64_t>(next.costs.size()));
                control.report({.fraction = next.progress});
                snapshots_.publish(next);
            }
    }

    void add(CostSnapshot& next, size_t spec, int64_t tokens, const std::atomic<bool>& isStopped) {
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
                if (expected > longestPass_) {
                    next.remarks[spec] = fmt::format("{} tokens would take about {:.0f} s per pass", tokens, expected);
                    return;
                }
            }
            const auto measured =
                measureAttention(*device_, query.specs[spec], sizes, [&] { return isStopped.load(); });
            if (measured) costs.push_back(*measured);
        } catch (const Error& error) {
            next.remarks[spec] = fmt::format("{} tokens: {}", tokens, error.message());
        }
    }

    // Only for the session's thread.
    DeviceChoice choice_;
    double longestPass_;
    std::shared_ptr<Device> device_;

    // Shared between threads.
    Publisher<CostSnapshot> snapshots_;
    JobQueue jobs_;
};

CostSession::CostSession(DeviceChoice choice, double longestPass)
    : worker_(std::make_unique<Worker>(std::move(choice), longestPass)) {}
CostSession::~CostSession() = default;
void CostSession::ask(const CostQuery& query) { worker_->ask(query); }
void CostSession::cancel() { worker_->cancel(); }
std::shared_ptr<const CostSnapshot> CostSession::latest() const { return worker_->snapshots().latest(); }
void CostSession::setListener(std::function<void()> listener) { worker_->snapshots().setListener(std::move(listener)); }
bool CostSession::waitIdle(double timeoutSeconds) { return worker_->waitIdle(timeoutSeconds); }

} // namespace attn
