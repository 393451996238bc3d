#include "engine/session/playground_session.h"

#include "engine/attention/random_features.h"
#include "engine/core/error.h"
#include "engine/ops/ops.h"
#include "engine/session/attention_run.h"
#include "engine/session/thread_priority.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace attn {
namespace {

constexpr float kHidden = std::numeric_limits<float>::quiet_NaN();

/// Numbers for each token alone, which a picture shows as one row.
bool isRowOfTokens(const std::string& name) { return name.starts_with("lsh.") || name == "routing.clusters"; }

PlaygroundMap maskMap(const MaskExpression& mask, const PlaygroundQuery& query, int64_t heads) {
    PlaygroundMap map{.name = "mask",
                      .heads = mask.dependsOnHead() ? heads : 1,
                      .rows = query.tokens,
                      .columns = query.tokens,
                      .values = {}};
    map.values.resize(static_cast<size_t>(map.heads * map.rows * map.columns), 0);
    BitRow row;
    for (int64_t head = 0; head < map.heads; ++head)
        for (int64_t i = 0; i < map.rows; ++i) {
            mask.row({.queries = map.rows,
                      .keys = map.columns,
                      .head = static_cast<int>(head),
                      .heads = static_cast<int>(heads)},
                     i, row);
            row.forEach(
                [&](int64_t j) { map.values[static_cast<size_t>((head * map.rows + i) * map.columns + j)] = 1; });
        }
    return map;
}

/// Leading axes become heads, as many as there are, and planes of each.
PlaygroundMap mapOf(NamedTensor&& tensor, int64_t heads) {
    std::vector<int64_t> extents = tensor.shape.extents();
    if (isRowOfTokens(tensor.name)) extents.insert(extents.end() - 1, 1);
    PlaygroundMap map{.name = std::move(tensor.name), .values = std::move(tensor.values)};
    map.columns = extents.back();
    map.rows = extents.size() > 1 ? extents[extents.size() - 2] : 1;
    const int64_t leading = static_cast<int64_t>(map.values.size()) / (map.rows * map.columns);
    map.heads = leading % heads == 0 ? heads : 1;
    map.planes = leading / map.heads;
    return map;
}

/// Cells that no query may see are neither a score nor a weight of zero.
void hide(PlaygroundMap& map, const PlaygroundMap& mask, const PlaygroundMap* scores) {
    if (map.rows != mask.rows || map.columns != mask.columns) return;
    for (int64_t head = 0; head < map.heads; ++head)
        for (int64_t plane = 0; plane < map.planes; ++plane) {
            const auto cells = map.at(head, plane), seen = mask.at(head);
            const auto scored = scores ? scores->at(head) : std::span<const float>();
            float* values = map.values.data() + (cells.data() - map.values.data());
            for (size_t cell = 0; cell < cells.size(); ++cell)
                if (seen[cell] == 0 || (scores && !(scored[cell] > static_cast<float>(kMasked) / 2)))
                    values[cell] = kHidden;
        }
}

} // namespace

std::span<const float> PlaygroundMap::at(int64_t head, int64_t plane) const {
    const auto size = static_cast<size_t>(rows * columns);
    const auto index = std::clamp<int64_t>(head, 0, heads - 1) * planes + std::clamp<int64_t>(plane, 0, planes - 1);
    return std::span(values).subspan(static_cast<size_t>(index) * size, size);
}

class PlaygroundSession::Worker {
public:
    explicit Worker(Options options)
        : options_(std::move(options)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

    void show(const PlaygroundQuery& query) {
        {
            const std::lock_guard lock(mutex_);
            wanted_ = query;
            isIdle_ = false;
        }
        changed_.notify_all();
    }
    std::shared_ptr<const PlaygroundSnapshot> latest() const {
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
    using Clock = std::chrono::steady_clock;

    void run(const std::stop_token& stop) {
        lowerThreadPriority();
        for (;;) {
            PlaygroundSnapshot next;
            {
                std::unique_lock lock(mutex_);
                if (!wanted_) {
                    isIdle_ = true;
                    changed_.notify_all();
                    changed_.wait(lock, stop, [&] { return wanted_.has_value(); });
                }
                if (stop.stop_requested()) return;
                next.query = *std::exchange(wanted_, std::nullopt);
            }
            const Clock::time_point start = Clock::now();
            try {
                answer(next);
            } catch (const Error& error) {
                next.failure = Failure{error.message(), error.where(), error.hint()};
            } catch (const std::bad_alloc&) {
                next.failure = Failure{"the computer is out of memory", "playground", "choose fewer tokens or heads"};
            } catch (const std::exception& error) {
                next.failure = Failure{error.what(), "playground", "please report this"};
            }
            if (next.failure) next.maps.clear();
            next.elapsedMs = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
            publish(std::move(next));
        }
    }

    void answer(PlaygroundSnapshot& next) {
        const PlaygroundQuery& query = next.query;
        if (!context_) {
            context_ =
                std::make_unique<gpu::Context>(gpu::Context::Options{.device = options_.device,
                                                                     .validation = options_.validation,
                                                                     .softwareThreads = options_.softwareThreads});
            kernels_ = std::make_unique<KernelLibrary>(*context_);
        }
        next.device = context_->traits().name;
        AttentionRun attention(*context_, *kernels_, query.spec,
                               {.queries = query.tokens, .keys = query.tokens, .width = query.width}, {}, query.seed);
        next.heads = attention.heads();
        drawInputs(query, attention.heads(), attention.groups());
        attention.setInputs(inputs_.q, inputs_.k, inputs_.v);
        attention.run();

        const auto results = attention.results();
        const auto take = [&](const std::string& name) {
            if (std::ranges::find(results, name) == results.end()) return;
            next.maps.push_back(mapOf(attention.result(name), next.heads));
        };
        PlaygroundMap mask = maskMap(query.spec.mask.staticPart(), query, next.heads);
        take("scores");
        for (const std::string& name : results)
            if (name != "scores" && name != "pattern" && name != "z") take(name);
        take("pattern");
        // Hidden last, by scores that still say where content hides a cell.
        std::optional<PlaygroundMap> scores;
        if (!next.maps.empty() && next.maps.front().name == "scores") scores = next.maps.front();
        for (PlaygroundMap& map : next.maps)
            if (map.name == "scores" || map.name == "pattern") hide(map, mask, scores ? &*scores : nullptr);
        next.maps.insert(next.maps.begin() + (scores ? 1 : 0), std::move(mask));
        take("z");
    }

    /// Kept from query to query: while a part's parameter is dragged they stay as they are, and drawing them takes as
    /// long as an attention.
    void drawInputs(const PlaygroundQuery& query, int64_t heads, int64_t groups) {
        const std::array<int64_t, 4> sizes{query.tokens, query.width, heads, groups};
        if (inputs_.sizes == sizes && inputs_.seed == query.seed) return;
        const auto draw = [&](int64_t count, uint64_t which) {
            return gaussianRows(count * query.tokens, query.width, 1, 3 * query.seed + which);
        };
        inputs_ = {.sizes = sizes, .seed = query.seed, .q = draw(heads, 0), .k = draw(groups, 1), .v = draw(groups, 2)};
    }

    void publish(PlaygroundSnapshot&& next) {
        std::function<void()> listener;
        {
            const std::lock_guard lock(mutex_);
            next.version = latest_->version + 1;
            latest_ = std::make_shared<const PlaygroundSnapshot>(std::move(next));
            listener = listener_;
        }
        if (listener) listener();
    }

    // The session's thread only.
    Options options_;
    std::unique_ptr<gpu::Context> context_;
    std::unique_ptr<KernelLibrary> kernels_;
    struct Inputs {
        std::array<int64_t, 4> sizes{}; ///< tokens, width, heads, groups
        uint64_t seed = 0;
        std::vector<float> q, k, v;
    } inputs_{};

    // Shared.
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<PlaygroundQuery> wanted_;
    bool isIdle_ = true;
    std::shared_ptr<const PlaygroundSnapshot> latest_ = std::make_shared<PlaygroundSnapshot>();
    std::function<void()> listener_;
    std::jthread thread_; // last: joins before anything else goes
};

PlaygroundSession::PlaygroundSession(Options options) : worker_(std::make_unique<Worker>(std::move(options))) {}
PlaygroundSession::~PlaygroundSession() = default;
void PlaygroundSession::show(const PlaygroundQuery& query) { worker_->show(query); }
std::shared_ptr<const PlaygroundSnapshot> PlaygroundSession::latest() const { return worker_->latest(); }
void PlaygroundSession::setListener(std::function<void()> listener) { worker_->setListener(std::move(listener)); }
bool PlaygroundSession::waitIdle(double timeoutSeconds) { return worker_->waitIdle(timeoutSeconds); }

} // namespace attn
