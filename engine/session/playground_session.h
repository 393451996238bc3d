#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/session/snapshot.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// What the playground is to work out: one attention by itself, on normal random q, k and v.
struct PlaygroundQuery {
    AttentionSpec spec;
    int64_t tokens = 32; ///< T = S
    int64_t width = 16;  ///< D
    uint64_t seed = 1;   ///< of q, k and v, and of what the spec would learn
    bool operator==(const PlaygroundQuery&) const = default;
};

/// Matrices of one kind that an attention formed, or its mask.
struct PlaygroundMap {
    std::string name;   ///< as AttentionRun names it; "mask" for the cells of the mask's expression
    int64_t heads = 1;  ///< 1 where heads do not differ
    int64_t planes = 1; ///< of each head: the channels of AFT, the steps of a recurrence
    int64_t rows = 0, columns = 0;
    std::vector<float> values; ///< [heads, planes, rows, columns]; NaN where a mask hides the cell
    /// @param head, plane any number: the last that there is, at most  @return [rows, columns]
    std::span<const float> at(int64_t head, int64_t plane = 0) const;
};

/// What the playground has to show at one moment.
struct PlaygroundSnapshot {
    uint64_t version = 0; ///< grows by one with each snapshot
    PlaygroundQuery query;
    std::vector<PlaygroundMap> maps; ///< in the order in which an attention forms them; none after a failure
    int64_t heads = 1;               ///< H
    double elapsedMs = 0;            ///< from taking up the query to its maps
    std::string device;
    std::optional<Failure> failure; ///< why this query has no maps
};

/// Runs attentions of any spec on one thread of its own, with a device of its own that is made for the first query.
/// Newer queries replace those that wait, so that a slider never builds up a backlog. All public functions are
/// thread-safe and return at once.
class PlaygroundSession {
public:
    struct Options {
        std::optional<std::string> device{};  ///< index or part of the name; empty: the best
        std::optional<int> softwareThreads{}; ///< of software Vulkan; empty: its default
        bool validation = false;
    };

    explicit PlaygroundSession(Options options);
    ~PlaygroundSession();
    PlaygroundSession(const PlaygroundSession&) = delete;
    PlaygroundSession& operator=(const PlaygroundSession&) = delete;

    /// What does not combine ends in a snapshot with a failure.
    void show(const PlaygroundQuery& query);

    /// Never null.
    std::shared_ptr<const PlaygroundSnapshot> latest() const;
    /// Called on the session's thread after each new snapshot.
    void setListener(std::function<void()> listener);
    /// Blocks until nothing is left to do but wait. @return false on time-out
    bool waitIdle(double timeoutSeconds = 60);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
