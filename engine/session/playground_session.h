#pragma once

#include "engine/core/failure.h"
#include "engine/session/attention_comparison.h"
#include "engine/session/layer_inputs.h"
#include "engine/session/playground_input.h"
#include "engine/session/position_lab.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// Up to so many tokens every map is formed whole; beyond, a part of the effective pattern alone, where there is one.
inline constexpr int64_t kMostWholeTokens = 256;
/// Pixels across and down that part of a pattern.
inline constexpr int64_t kWindowPixels = 256;

/// What the playground is to work out: one attention by itself, on normal random q, k and v; or two of them on the
/// same.
struct PlaygroundQuery {
    AttentionSpec spec;
    int64_t tokens = 32;                  ///< T, and S unless keys says otherwise
    int64_t width = 16;                   ///< D
    uint64_t seed = 1;                    ///< of q, k and v, and of what the spec would learn
    std::optional<AttentionSpec> other{}; ///< to be compared with the first
    /// At most one of them: a model's own numbers, or a picture's features. Their sizes are those of the query, except
    /// that there may be more tokens.
    std::shared_ptr<const LayerInputs> layer{};
    std::shared_ptr<const TokenFeatures> features{};
    /// Which part of the pattern to see where there are more than kMostWholeTokens; by itself all of it.
    PatternWindow window{};
    int64_t keys = 0; ///< S, where keys come from another random sequence (cross-attention); 0: self-attention
    bool operator==(const PlaygroundQuery&) const = default;
};

/// What the playground has to show at one moment.
struct PlaygroundSnapshot {
    uint64_t version = 0; ///< grows by one with each snapshot
    PlaygroundQuery query;
    std::vector<PlaygroundMap> maps;      ///< in the order in which an attention forms them; none after a failure
    int64_t heads = 1;                    ///< H
    std::vector<PlaygroundMap> otherMaps; ///< of the query's other attention
    std::optional<AttentionComparison> comparison; ///< of the two
    double elapsedMs = 0;                          ///< from taking up the query to its maps
    std::string device;
    std::optional<Failure> failure;                    ///< why this query has no maps
    std::shared_ptr<const PositionPictures> positions; ///< of the newest answered query of positions
    std::optional<Failure> positionFailure;            ///< why that query has none
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
    /// Of a position part; the maps stay.
    void show(const PositionQuery& query);

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
