#include "engine/session/playground_session.h"

#include "engine/core/attempt.h"
#include "engine/inference/finite_count.h"
#include "engine/jobs/job_queue.h"
#include "engine/jobs/publisher.h"
#include "engine/playground/attention_run.h"
#include "engine/playground/block_maps.h"
#include "engine/runtime/device.h"
#include "engine/runtime/gpu_executor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace attn {

class PlaygroundSession::Worker {
public:
    explicit Worker(DeviceChoice choice) : choice_(std::move(choice)) {}

    template <class Query> void show(const Query& query) {
        jobs_.add({.kind = "playground",
                   .key = std::is_same_v<Query, PositionQuery> ? "positions" : "maps",
                   .title = {},
                   .run = [this, query](JobControl&) { snapshots_.publish(answered(query)); }});
    }
    Publisher<PlaygroundSnapshot>& snapshots() { return snapshots_; }
    bool waitIdle(double timeoutSeconds) { return jobs_.waitIdle(timeoutSeconds); }

private:
    using Clock = std::chrono::steady_clock;

    PlaygroundSnapshot answered(const PlaygroundQuery& query) {
        PlaygroundSnapshot next;
        next.query = query;
        const auto before = snapshots_.latest();
        next.positions = before->positions;
        next.positionFailure = before->positionFailure;
        const Clock::time_point start = Clock::now();
        next.failure = attempt("playground", [&] { answer(next); });
        if (next.failure) {
            next.maps.clear();
            next.otherMaps.clear();
            next.comparison.reset();
            next.paths.reset();
        } else { // the maps stay: they show which numbers are too large
            next.failure = attempt("playground", [&] { requireOutput(next); });
        }
        next.elapsedMs = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        return next;
    }

    /// @throws Error if the output of an attention is not finite
    static void requireOutput(const PlaygroundSnapshot& next) {
        for (const auto* maps : {&next.maps, &next.otherMaps})
            for (const PlaygroundMap& map : *maps)
                if (map.name == "z") requireFinite(map.values, "numbers of the output", "playground");
    }

    PlaygroundSnapshot answered(const PositionQuery& query) const {
        PlaygroundSnapshot next = *snapshots_.latest();
        next.positions.reset();
        next.positionFailure = attempt(
            "playground", [&] { next.positions = std::make_shared<const PositionPictures>(positionPictures(query)); });
        return next;
    }

    void answer(PlaygroundSnapshot& next) {
        const PlaygroundQuery& query = next.query;
        if (const auto device = Device::shared(choice_); device != device_) {
            runs_ = {}; // they lie on the former device, which was lost
            tiles_.reset();
            device_ = device;
        }
        next.device = device_->name();
        const bool isCross = query.keys > 0 && !query.layer && !query.features;
        const int64_t keys = isCross ? query.keys : query.tokens;
        const bool isWhole = std::max(query.tokens, keys) <= kMostWholeTokens;
        const PatternWindow window = boundedWindow(query.window, query.tokens, keys, kWindowPixels);
        const auto run = [&](const AttentionSpec& spec, Inputs& inputs, std::unique_ptr<AttentionRun>& kept) {
            const bool ofStream = readsStream(spec);
            const int64_t width = ofStream && query.layer ? query.layer->streamWidth : query.width;
            const AttentionSizes sizes{.queries = query.tokens, .keys = keys, .width = width};
            if (!kept || !kept->become(spec, sizes, isWhole ? std::nullopt : std::optional(window), query.seed)) {
                kept.reset(); // free its memory first
                kept = std::make_unique<AttentionRun>(
                    isWhole ? AttentionRun(*device_, spec, sizes, {}, query.seed)
                            : AttentionRun::ofWindow(*device_, spec, sizes, window, query.seed));
            }
            AttentionRun& attention = *kept;
            fill(inputs, query, {attention.heads(), attention.groups(), query.tokens, width, keys, ofStream});
            attention.setInputs(inputs.numbers.q, inputs.numbers.k, inputs.numbers.v);
            attention.run();
            next.heads = std::max(next.heads, attention.heads());
            if (!isWhole) return std::vector{windowMap(attention, spec, window)};
            auto maps = mapsOf(attention, spec, query.tokens, keys);
            std::ranges::move(blockMaps(*device_, spec, query.tokens, width, query.seed), std::back_inserter(maps));
            return maps;
        };
        next.maps = run(query.spec, inputs_[0], runs_[0]);
        if (query.path && isWhole) walkTiles(next, {.queries = query.tokens, .keys = keys, .width = query.width});
        if (!query.other) {
            runs_[1].reset();
            return;
        }
        next.otherMaps = run(*query.other, inputs_[1], runs_[1]);
        next.comparison = compare(next.maps, next.otherMaps);
    }

    /// Computes the output of the first attention by tiles too.
    void walkTiles(PlaygroundSnapshot& next, const AttentionSizes& sizes) {
        const PlaygroundQuery& query = next.query;
        auto traffic = pathTraffic(query.spec, sizes);
        const auto formed = std::ranges::find(next.maps, "z", &PlaygroundMap::name);
        if (!traffic || formed == next.maps.end()) return;
        if (!tiles_ || !tiles_->become(query.spec, sizes, {}, query.seed)) {
            tiles_.reset();
            tiles_ = std::make_unique<AttentionRun>(*device_, query.spec, sizes, std::array<std::string, 1>{"z"},
                                                    query.seed);
        }
        const AttentionNumbers& numbers = inputs_[0].numbers;
        tiles_->setInputs(numbers.q, numbers.k, numbers.v);
        tiles_->run();
        next.paths = comparePaths(std::move(*traffic), *tiles_, *formed);
        if (query.path == AttentionPath::Tiled) *formed = next.paths->output;
    }

    struct Inputs {
        AttentionExtents extents;
        uint64_t seed = 0;
        std::shared_ptr<const SiteInputs> layer;
        std::shared_ptr<const TokenFeatures> features;
        AttentionNumbers numbers; ///< empty: none yet
    };

    /// Kept between queries. They stay the same while a user drags a parameter, and drawing them takes as long as an
    /// attention.
    static void fill(Inputs& inputs, const PlaygroundQuery& query, const AttentionExtents& extents) {
        const uint64_t seed = query.inputSeed.value_or(query.seed);
        if (!inputs.numbers.q.empty() && inputs.extents == extents && inputs.seed == seed &&
            inputs.layer == query.layer && inputs.features == query.features)
            return;
        AttentionExtents otherHeads = extents;
        otherHeads.heads = inputs.extents.heads;
        otherHeads.groups = inputs.extents.groups;
        const bool continues = inputs.seed == seed && !inputs.layer && inputs.features == query.features &&
                               (!query.features || inputs.extents == otherHeads);
        AttentionNumbers former = continues ? std::move(inputs.numbers) : AttentionNumbers();
        inputs = {.extents = extents,
                  .seed = seed,
                  .layer = query.layer,
                  .features = query.features,
                  .numbers = query.layer      ? layerNumbers(*query.layer, extents)
                             : query.features ? projectedNumbers(*query.features, extents, seed, std::move(former))
                                              : randomNumbers(extents, seed, std::move(former))};
    }

    // Only for the session's thread.
    DeviceChoice choice_;
    std::shared_ptr<Device> device_;
    std::array<Inputs, 2> inputs_{};
    std::array<std::unique_ptr<AttentionRun>, 2> runs_{}; ///< runs of the last query, for a similar next one
    std::unique_ptr<AttentionRun> tiles_;                 ///< computes the output by tiles

    // Shared between threads.
    Publisher<PlaygroundSnapshot> snapshots_;
    JobQueue jobs_;
};

PlaygroundSession::PlaygroundSession(DeviceChoice choice) : worker_(std::make_unique<Worker>(std::move(choice))) {}
PlaygroundSession::~PlaygroundSession() = default;
void PlaygroundSession::show(const PlaygroundQuery& query) { worker_->show(query); }
void PlaygroundSession::show(const PositionQuery& query) { worker_->show(query); }
std::shared_ptr<const PlaygroundSnapshot> PlaygroundSession::latest() const { return worker_->snapshots().latest(); }
void PlaygroundSession::setListener(std::function<void()> listener) {
    worker_->snapshots().setListener(std::move(listener));
}
bool PlaygroundSession::waitIdle(double timeoutSeconds) { return worker_->waitIdle(timeoutSeconds); }

} // namespace attn
