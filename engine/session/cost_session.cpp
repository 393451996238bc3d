#include "engine/session/cost_session.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/runtime/device.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/session/publisher.h"
#include "engine/session/query_thread.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

namespace attn {

class CostSession::Worker {
    struct NumberedQuery {
        CostQuery query;
        uint64_t number = 0; ///< number of the query
    };

public:
    explicit Worker(DeviceChoice choice, double longestPass)
        : choice_(std::move(choice)), longestPass_(longestPass),
          thread_([this](std::variant<NumberedQuery> query) { run(std::get<NumberedQuery>(query)); }) {}
    ~Worker() { cancel(); }

    void ask(const CostQuery& query) { thread_.ask(NumberedQuery{query, ++lastNumber_}); }
    void cancel() { cancelled_ = lastNumber_.load(); }
    Publisher<CostSnapshot>& snapshots() { return snapshots_; }
    bool waitIdle(double timeoutSeconds) { return thread_.waitIdle(timeoutSeconds); }

private:
    void run(const NumberedQuery& request) {
        CostSnapshot next;
        next.query = request.query;
        underway_ = request.number;
        next.isRunning = true;
        next.costs.resize(next.query.specs.size());
        next.remarks.resize(next.query.specs.size());
        next.failure = attempt("cost", [&] { answer(next); });
        device_.reset();
        next.isRunning = false;
        snapshots_.publish(next);
    }

    /// True also if there is a newer query.
    bool isCancelled() const { return cancelled_ >= underway_ || lastNumber_ > underway_; }

    void answer(CostSnapshot& next) {
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
                if (isCancelled()) return;
                if (next.remarks[spec].empty()) add(next, spec, tokens);
                next.progress = static_cast<double>(++done) /
                                static_cast<double>(lengths * static_cast<int64_t>(next.costs.size()));
                snapshots_.publish(next);
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
                if (expected > longestPass_) {
                    next.remarks[spec] = fmt::format("{} tokens would take about {:.0f} s per pass", tokens, expected);
                    return;
                }
            }
            const auto measured = measureAttention(*device_, query.specs[spec], sizes, [&] { return isCancelled(); });
            if (measured) costs.push_back(*measured);
        } catch (const Error& error) {
            next.remarks[spec] = fmt::format("{} tokens: {}", tokens, error.message());
        }
    }

    // Only for the session's thread.
    DeviceChoice choice_;
    double longestPass_;
    std::shared_ptr<Device> device_;
    uint64_t underway_ = 0;

    // Shared between threads.
    std::atomic<uint64_t> lastNumber_{0},
        cancelled_{0}; ///< number of queries so far, and number of the last cancelled one
    Publisher<CostSnapshot> snapshots_;
    QueryThread<NumberedQuery> thread_;
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
