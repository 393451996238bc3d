#pragma once

#include "engine/core/failure.h"
#include "engine/core/no_limit.h"
#include "engine/playground/attention_cost.h"
#include "engine/runtime/device.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A request for costs: all specs, at lengths that double.
struct CostQuery {
    std::vector<AttentionSpec> specs;
    int64_t from = 64, to = 16384; ///< tokens
    int64_t width = 32;            ///< D
    bool measures = false;         ///< also measures each on the device; false: formulas only, without a device
    bool operator==(const CostQuery&) const = default;
};

/// The current state of an answer.
struct CostSnapshot {
    uint64_t version = 0; ///< increases by one with each snapshot
    CostQuery query;
    std::vector<std::vector<AttentionCost>> costs; ///< per spec, by rising length; shorter if it ended early
    std::vector<std::string> remarks;              ///< per spec: why it ended early; else empty
    double progress = 0;                           ///< 0 to 1
    bool isRunning = false;
    std::string device;
    std::optional<Failure> failure; ///< why there is no device
};

/// Computes costs on its own thread, and measures them on the shared device. A new query cancels the one that runs. All
/// public functions except waitIdle return at once, and all are thread-safe.
class CostSession {
public:
    /// @param longestPass seconds; skips lengths with a longer pass, with a remark
    explicit CostSession(DeviceChoice choice, double longestPass = 3);
    ~CostSession();
    CostSession(const CostSession&) = delete;
    CostSession& operator=(const CostSession&) = delete;

    /// Starts a query.
    void ask(const CostQuery& query);
    /// Stops after the current pass, and keeps the results so far.
    void cancel();

    /// The newest snapshot; never null.
    std::shared_ptr<const CostSnapshot> latest() const;
    /// Sets the function that the session's thread calls after each new snapshot.
    void setListener(std::function<void()> listener);
    /// Blocks until the session has no work left. @return false on time-out
    bool waitIdle(double timeoutSeconds = kNoLimit);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
