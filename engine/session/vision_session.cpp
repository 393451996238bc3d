#include "engine/session/vision_session.h"

#include "engine/session/attention_distance.h"
#include "engine/session/publisher.h"
#include "engine/session/query_thread.h"
#include "engine/session/vision_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>

namespace attn {

class VisionSession::Worker {
public:
    explicit Worker(Options options)
        : options_(std::move(options)),
          thread_([this](const std::variant<VisionQuery>& asked) { answer(std::get<VisionQuery>(asked)); }) {}

    void show(const VisionQuery& query) { thread_.ask(query); }
    Publisher<VisionSnapshot>& snapshots() { return snapshots_; }
    bool waitIdle(double timeoutSeconds) { return thread_.waitIdle(timeoutSeconds); }

private:
    using Clock = std::chrono::steady_clock;

    /// What did not change since the query before is kept.
    void answer(const VisionQuery& query) {
        VisionSnapshot next = *snapshots_.latest();
        const VisionQuery before = std::exchange(next.query, query);
        const bool isOther = query.model != before.model || query.weights != before.weights;
        next.failure = attempt("vision", [&] {
            if (isOther) open(next);
            if (!model_) return;
            if (isOther || !next.answer || query.picture != before.picture || query.hidden != before.hidden) {
                next.answer.reset();
                next.rollout.reset();
                if (query.picture) next.answer = answered(query);
            }
            const bool isOtherRollout = query.rollout != before.rollout || query.rolloutClass != before.rolloutClass;
            if (next.answer && (!next.rollout || isOtherRollout)) next.rollout = rolledOut(next);
            if (query.embedding && !next.embedding)
                next.embedding = std::make_shared<const PatchEmbedding>(patchEmbedding(*model_));
        });
        if (next.failure) {
            if (isOther) model_.reset(); // it may hold half of the other's weights
            next.answer.reset();
            next.rollout.reset();
        }
        next.progress = 1;
        snapshots_.publish(std::move(next));
    }

    void open(VisionSnapshot& next) {
        next.answer.reset();
        next.rollout.reset();
        next.embedding.reset();
        const VisionQuery& query = next.query;
        std::unique_ptr<VisionSource> source = query.model.empty() ? nullptr
                                               : query.weights     ? makeMemoryVisionSource(query.weights)
                                                                   : openVisionSource(query.model);
        if (source && model_ && model_->takeWeights(source)) return; // another moment of a run
        model_.reset();                                              // before the next one needs the memory
        next.model.reset();
        if (!source) return;
        next.progress = 0;
        snapshots_.publish(next);
        auto last = Clock::now();
        model_ = std::make_unique<VisionModel>(std::move(source),
                                               VisionModel::Options{.device = options_.device,
                                                                    .softwareThreads = options_.softwareThreads,
                                                                    .validation = options_.validation},
                                               [&](float fraction, const std::string&) {
                                                   if (Clock::now() - last < std::chrono::milliseconds(50)) return;
                                                   last = Clock::now();
                                                   next.progress = static_cast<double>(fraction);
                                                   snapshots_.publish(next);
                                               });
        VisionInfo info = model_->info();
        if (query.weights) info.name = std::filesystem::path(query.model).filename().string();
        next.model = std::make_shared<const VisionInfo>(std::move(info));
        next.device = model_->context().traits().name;
        next.progress = 1;
        snapshots_.publish(next); // the first answer takes longest
    }

    std::shared_ptr<const VisionAnswer> answered(const VisionQuery& query) {
        VisionAnswer answer{.seen = std::make_shared<const Image>(model_->seen(*query.picture)),
                            .patterns = {},
                            .distances = {},
                            .logits = {},
                            .probabilities = {}};
        const std::vector<float> patches = patchesOf(query);
        const Clock::time_point start = Clock::now();
        VisionModel::Look look = model_->look(patches);
        answer.patterns = std::move(look.patterns);
        answer.logits = std::move(look.logits);
        const VisionInfo& info = model_->info();
        for (const LayerPattern& pattern : answer.patterns)
            answer.distances.push_back(pattern.values.empty()
                                           ? std::vector<float>()
                                           : attentionDistances(pattern, info.grid.width, info.patch));
        answer.probabilities = probabilitiesOf(answer.logits);
        answer.elapsedMs = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        return std::make_shared<const VisionAnswer>(std::move(answer));
    }

    std::vector<float> patchesOf(const VisionQuery& query) const {
        std::vector<float> patches = model_->patchesOf(*query.picture);
        const size_t patch = patches.size() / static_cast<size_t>(model_->config().grid().area());
        // Normalised numbers: 0 is the mean colour of what the model was trained on.
        for (const int hidden : query.hidden)
            std::ranges::fill(std::span(patches).subspan(static_cast<size_t>(hidden) * patch, patch), 0.0f);
        return patches;
    }

    std::shared_ptr<const TokenMap> rolledOut(const VisionSnapshot& snapshot) const {
        const auto& patterns = snapshot.answer->patterns;
        if (std::ranges::any_of(patterns, [](const LayerPattern& layer) { return layer.values.empty(); })) return {};
        if (snapshot.query.rolloutClass)
            return std::make_shared<const TokenMap>(gradientRollout(
                patterns, model_->patternGradients(patchesOf(snapshot.query), *snapshot.query.rolloutClass)));
        return std::make_shared<const TokenMap>(attentionRollout(patterns, snapshot.query.rollout));
    }

    // The session's thread only.
    Options options_;
    std::unique_ptr<VisionModel> model_;

    // Shared.
    Publisher<VisionSnapshot> snapshots_;
    QueryThread<VisionQuery> thread_;
};

VisionSession::VisionSession(Options options) : worker_(std::make_unique<Worker>(std::move(options))) {}
VisionSession::~VisionSession() = default;
void VisionSession::show(const VisionQuery& query) { worker_->show(query); }
std::shared_ptr<const VisionSnapshot> VisionSession::latest() const { return worker_->snapshots().latest(); }
void VisionSession::setListener(std::function<void()> listener) {
    worker_->snapshots().setListener(std::move(listener));
}
bool VisionSession::waitIdle(double timeoutSeconds) { return worker_->waitIdle(timeoutSeconds); }

} // namespace attn
