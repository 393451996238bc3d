#pragma once

#include "engine/core/failure.h"
#include "engine/session/attention_cost.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What costs are asked for: every spec at lengths that double.
struct CostQuery {
    std::vector<AttentionSpec> specs;
    int64_t from = 64, to = 16384; ///< tokens
    int64_t width = 32;            ///< D
    bool measures = false;         ///< runs each on the device; else formulas alone, which takes no device
    bool operator==(const CostQuery&) const = default;
};

/// How far an answer has come.
struct CostSnapshot {
    uint64_t version = 0; ///< grows by one with each snapshot
    CostQuery query;
    std::vector<std::vector<AttentionCost>> costs; ///< of each spec by rising length; shorter where it ended early
    std::vector<std::string> remarks;              ///< of each spec: why it ended early; empty: it did not
    double progress = 0;                           ///< 0..1
    bool isRunning = false;
    std::string device;
    std::optional<Failure> failure; ///< why there is no device
};

/// Works costs out and measures them on a thread of its own, with a device of its own while it measures. A newer query
/// ends the one that runs. All public functions are thread-safe and return at once.
class CostSession {
public:
    struct Options {
        std::optional<std::string> device{};  ///< index or part of the name; empty: the best
        std::optional<int> softwareThreads{}; ///< of software Vulkan; empty: its default
        bool validation = false;
        double longestPass = 3; ///< seconds: a length that would take longer a pass is left out, and said so
    };

    explicit CostSession(Options options);
    ~CostSession();
    CostSession(const CostSession&) = delete;
    CostSession& operator=(const CostSession&) = delete;

    void ask(const CostQuery& query);
    /// Ends what runs after the pass under way; what was found stays.
    void cancel();

    /// Never null.
    std::shared_ptr<const CostSnapshot> latest() const;
    /// Called on the session's thread after each new snapshot.
    void setListener(std::function<void()> listener);
    /// Blocks until nothing is left to do but wait. @return false on time-out
    bool waitIdle(double timeoutSeconds = 60);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
