#include "engine/session/vision_session.h"

#include "engine/analysis/attention_distance.h"
#include "engine/core/failure.h"
#include "engine/inference/vision_model.h"
#include "engine/models/memory_source.h"
#include "engine/runtime/device.h"
#include "engine/session/publisher.h"
#include "engine/session/query_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <span>
#include <type_traits>

namespace attn {

class VisionSession::Worker {
public:
    struct AnalysisRequest {
        std::shared_ptr<const Analysis> analysis;
        uint64_t stops; ///< value of stops_ at that time
    };

    explicit Worker(DeviceChoice choice)
        : choice_(std::move(choice)),
          thread_([this](const auto& query) { std::visit([this](const auto& each) { this->on(each); }, query); }) {}

    ~Worker() { stopAnalysis(); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void show(const VisionQuery& query) {
        stopAnalysis();
        thread_.ask(query);
    }
    void analyse(std::shared_ptr<const Analysis> analysis) {
        thread_.ask(AnalysisRequest{.analysis = std::move(analysis), .stops = ++stops_});
    }
    void stopAnalysis() { ++stops_; }
    Publisher<VisionSnapshot>& snapshots() { return snapshots_; }
    bool waitIdle(double timeoutSeconds) { return thread_.waitIdle(timeoutSeconds); }

private:
    using Clock = std::chrono::steady_clock;

    struct Cancelled {};

    void on(const AnalysisRequest& request) {
        if (!model_ || !snapshots_.latest()->answer) return;
        VisionSnapshot next = *snapshots_.latest();
        auto last = Clock::now();
        const auto& analysis = request.analysis;
        const auto report = [&](float fraction, const std::string& what) {
            if (stops_ != request.stops) throw Cancelled{};
            if (next.analysing && Clock::now() - last < std::chrono::milliseconds(50)) return;
            last = Clock::now();
            next.analysing = VisionSnapshot::Analysing{.key = analysis->key(), .what = what, .fraction = fraction};
            snapshots_.publish(next);
        };
        next.analysisFailure.reset();
        const std::vector<float> gates = model_->gates();
        const std::optional<Input> other = otherOf(next.query);
        const HookEdits edits = model_->hookEdits();
        try {
            next.analysisFailure = attempt("analysis", [&] {
                auto result =
                    analysis->run(*model_, {.input = patchesOf(next.query), .other = other, .report = report});
                result->inputVersion = next.answerVersion;
                next.analyses[analysis->key()] = std::move(result);
            });
        } catch (const Cancelled&) { // the next query runs at once
        }
        setGates(gates);
        model_->setHookEdits(edits);
        model_->bypassEdits(false);
        next.analysing.reset();
        snapshots_.publish(std::move(next));
    }

    void setGates(const std::vector<float>& gates) {
        const ModelInfo& info = model_->info();
        const bool fits = gates.size() == static_cast<size_t>(info.layers * info.heads);
        for (int layer = 0; layer < info.layers; ++layer)
            for (int head = 0; head < info.heads; ++head)
                model_->setGate(layer, head, fits ? gates[static_cast<size_t>(layer * info.heads + head)] : 1);
    }

    /// Keeps the parts that did not change since the last query.
    void on(const VisionQuery& query) {
        VisionSnapshot next = *snapshots_.latest();
        const VisionQuery before = std::exchange(next.query, query);
        const bool isOther = query.model != before.model || query.weights != before.weights;
        next.failure = attempt("vision", [&] {
            if (isOther) open(next);
            if (!model_) return;
            if (isOther) next.analyses.clear();
            const bool isOtherPicture =
                isOther || !next.answer || query.picture != before.picture || query.hidden != before.hidden;
            if (isOtherPicture || query.changes != before.changes || query.other != before.other) {
                next.answer.reset();
                next.rollout.reset();
                ++next.answerVersion;
                if (isOtherPicture) forgetUnedited(next);
                if (query.picture) answer(next);
            }
            const bool isOtherRollout = query.rollout != before.rollout || query.rolloutClass != before.rolloutClass;
            if (next.answer && (!next.rollout || isOtherRollout)) next.rollout = rolledOut(query, *next.answer);
            if (next.unedited && (!next.uneditedRollout || isOtherRollout))
                next.uneditedRollout = unchanged([&] { return rolledOut(query, *next.unedited); });
            if (query.embedding && !next.embedding)
                next.embedding = std::static_pointer_cast<const PatchEmbedding>(
                    PatchEmbeddingAnalysis{}.run(*model_, {.input = {}}));
        });
        if (next.failure) {
            if (isOther) model_.reset(); // it may have half of the other parameters
            next.answer.reset();
            next.rollout.reset();
            forgetUnedited(next);
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
        if (source && model_ && model_->replaceWeights(source)) return; // another checkpoint
        model_.reset();                                                 // free its memory before the next model loads
        next.model.reset();
        if (!source) return;
        next.progress = 0;
        snapshots_.publish(next);
        auto last = Clock::now();
        model_ = std::make_unique<VisionModel>(std::move(source), choice_, [&](float fraction, const std::string&) {
            if (Clock::now() - last < std::chrono::milliseconds(50)) return;
            last = Clock::now();
            next.progress = static_cast<double>(fraction);
            snapshots_.publish(next);
        });
        ModelInfo info = model_->info();
        if (query.weights) info.name = std::filesystem::path(query.model).filename().string();
        next.model = std::make_shared<const ModelInfo>(std::move(info));
        next.device = model_->device().name();
        next.progress = 1;
        snapshots_.publish(next); // show the model before the first answer, which takes longest
    }

    /// The answer of the changed run and, if there are changes, of the original run.
    void answer(VisionSnapshot& next) {
        const VisionQuery& query = next.query;
        const bool readsPictures = !query.changes.interventions.empty();
        model_->setChanges(query.changes, readsPictures ? model_->patchesOf(*query.picture) : std::vector<float>(),
                           readsPictures ? otherOf(query) : std::nullopt);
        if (!model_->isEdited()) forgetUnedited(next);
        if (model_->isEdited() && !next.unedited) next.unedited = unchanged([&] { return answered(query); });
        next.answer = answered(query);
    }

    std::shared_ptr<const VisionAnswer> answered(const VisionQuery& query) {
        VisionAnswer answer{.seen = std::make_shared<const Image>(model_->seen(*query.picture)),
                            .patterns = {},
                            .distances = {},
                            .logits = {},
                            .probabilities = {}};
        const std::vector<float> patches = patchesOf(query);
        const Clock::time_point start = Clock::now();
        VisionModel::PatternsAndLogits result = model_->patternsAndLogits(patches);
        answer.patterns = std::move(result.patterns);
        answer.logits = std::move(result.logits);
        const ModelInfo& info = model_->info();
        for (const SitePattern& pattern : answer.patterns)
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
        // In normalised values, 0 is the mean colour of the training data.
        for (const int hidden : query.hidden)
            std::ranges::fill(std::span(patches).subspan(static_cast<size_t>(hidden) * patch, patch), 0.0f);
        return patches;
    }

    std::optional<Input> otherOf(const VisionQuery& query) const {
        return query.other ? std::optional<Input>(model_->patchesOf(*query.other)) : std::nullopt;
    }

    static void forgetUnedited(VisionSnapshot& next) {
        next.unedited.reset();
        next.uneditedRollout.reset();
    }

    /// The result of work in the original run.
    template <class Work> std::invoke_result_t<Work> unchanged(const Work& work) {
        struct Restore {
            VisionModel* model;
            ~Restore() { model->bypassEdits(false); }
        } restore{model_.get()};
        model_->bypassEdits(true);
        return work();
    }

    std::shared_ptr<const TokenMap> rolledOut(const VisionQuery& query, const VisionAnswer& answer) const {
        const auto& patterns = answer.patterns;
        if (std::ranges::any_of(patterns, [](const SitePattern& layer) { return layer.values.empty(); })) return {};
        RolloutAnalysis analysis;
        analysis.options = query.rollout;
        if (query.rolloutClass) analysis.target = LogitTarget{.token = *query.rolloutClass};
        const auto result = std::static_pointer_cast<const Rollout>(
            analysis.run(*model_, {.input = patchesOf(query), .patterns = &patterns}));
        return {result, &result->map};
    }

    // Only for the session's thread.
    DeviceChoice choice_;
    std::unique_ptr<VisionModel> model_;

    // Shared between threads.
    std::atomic<uint64_t> stops_ = 0; ///< increases when the requested analysis must stop
    Publisher<VisionSnapshot> snapshots_;
    QueryThread<VisionQuery, AnalysisRequest> thread_;
};

VisionSession::VisionSession(DeviceChoice choice) : worker_(std::make_unique<Worker>(std::move(choice))) {}
VisionSession::~VisionSession() = default;
void VisionSession::show(const VisionQuery& query) { worker_->show(query); }
void VisionSession::analyse(std::shared_ptr<const Analysis> analysis) { worker_->analyse(std::move(analysis)); }
void VisionSession::stopAnalysis() { worker_->stopAnalysis(); }
std::shared_ptr<const VisionSnapshot> VisionSession::latest() const { return worker_->snapshots().latest(); }
void VisionSession::setListener(std::function<void()> listener) {
    worker_->snapshots().setListener(std::move(listener));
}
bool VisionSession::waitIdle(double timeoutSeconds) { return worker_->waitIdle(timeoutSeconds); }

} // namespace attn
