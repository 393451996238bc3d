#pragma once

#include "engine/core/failure.h"
#include "engine/core/no_limit.h"
#include "engine/inference/site_inputs.h"
#include "engine/playground/attention_comparison.h"
#include "engine/playground/path_comparison.h"
#include "engine/playground/playground_input.h"
#include "engine/playground/position_lab.h"
#include "engine/runtime/device.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// The largest number of tokens for whole maps. With more tokens, only a window of the effective pattern is computed.
inline constexpr int64_t kMostWholeTokens = 256;
/// Pixels across and down that window.
inline constexpr int64_t kWindowPixels = 256;

/// A request to the playground: one attention, or two to compare, on the same q, k and v, which are normal random
/// numbers by default.
struct PlaygroundQuery {
    AttentionSpec spec;
    int64_t tokens = 32;                  ///< T, and S unless keys says otherwise
    int64_t width = 16;                   ///< D
    uint64_t seed = 1;                    ///< seed of q, k, v and of learned tensors
    std::optional<AttentionSpec> other{}; ///< a second attention to compare; empty: none
    /// Inputs from a model's layer, or features of a picture; at most one is set. The sizes must fit the query, except
    /// that they may have more tokens.
    std::shared_ptr<const SiteInputs> layer{};
    std::shared_ptr<const TokenFeatures> features{};
    /// The window of the pattern to show with more than kMostWholeTokens. By default the whole pattern.
    PatternWindow window{};
    int64_t keys = 0; ///< S for cross-attention with keys from another random sequence; 0: self-attention
    std::optional<uint64_t> inputSeed{}; ///< seed of random q, k, v if it is not that of learned tensors
    /// Also computes the output by tiles; the map "z" is then that of this path. Ignored if the kernel cannot.
    std::optional<AttentionPath> path{};
    bool operator==(const PlaygroundQuery&) const = default;
};

/// The state that the playground shows.
struct PlaygroundSnapshot {
    uint64_t version = 0; ///< increases by one with each snapshot
    PlaygroundQuery query;
    std::vector<PlaygroundMap> maps;               ///< in order of computation; empty after a failure
    int64_t heads = 1;                             ///< H
    std::vector<PlaygroundMap> otherMaps;          ///< maps of the second attention
    std::optional<AttentionComparison> comparison; ///< comparison of both
    std::optional<PathComparison> paths;           ///< of the first attention, if the query asks for a path
    double elapsedMs = 0;                          ///< time from the start of the query to its maps
    std::string device;
    std::optional<Failure> failure;                    ///< why this query has no maps
    std::shared_ptr<const PositionPictures> positions; ///< answer to the newest PositionQuery
    std::optional<Failure> positionFailure;            ///< why that query has no answer
};

/// Runs attentions of any spec on its own thread and the shared device, from the first query on. A new query replaces
/// one that waits, so a slider does not fill a queue. All public functions except waitIdle return at once, and all are
/// thread-safe.
class PlaygroundSession {
public:
    explicit PlaygroundSession(DeviceChoice choice);
    ~PlaygroundSession();
    PlaygroundSession(const PlaygroundSession&) = delete;
    PlaygroundSession& operator=(const PlaygroundSession&) = delete;

    /// Runs a query. A spec with parts that do not combine gives a snapshot with a failure.
    void show(const PlaygroundQuery& query);
    /// Runs a query about a position part. The maps stay.
    void show(const PositionQuery& query);

    /// The newest snapshot; never null.
    std::shared_ptr<const PlaygroundSnapshot> latest() const;
    /// Sets the function that the session's thread calls after each new snapshot.
    void setListener(std::function<void()> listener);
    /// Blocks until the session has no work left. @return false on time-out
    bool waitIdle(double timeoutSeconds = kNoLimit);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
