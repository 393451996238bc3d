#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/patch_embedding.h"
#include "engine/core/failure.h"
#include "engine/inference/changes.h"
#include "engine/inference/model_info.h"
#include "engine/inference/site_pattern.h"
#include "engine/io/image.h"
#include "engine/runtime/device.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct WeightSet;

/// A request to a vision model: the model, the picture and the changes.
struct VisionQuery {
    std::string model;                          ///< path of the model's folder; empty: none
    std::shared_ptr<const WeightSet> weights{}; ///< the weights of a checkpoint; null: those in the folder
    std::string moment{};                       ///< title of that checkpoint: "step 120"; empty: none
    std::shared_ptr<const Image> picture{};     ///< null: none
    std::vector<int> hidden{};                  ///< patches replaced by the mean colour, in rising order
    /// Changes to the run. An empty text names this picture without hidden patches; any other text names `other`.
    Changes changes{};
    std::shared_ptr<const Image> other{}; ///< the picture that changes and analyses copy values from; null: none
    RolloutOptions rollout{};
    /// Weights the rollout by the gradient of this class's logit, and ignores `rollout`.
    std::optional<int> rolloutClass{};
    bool embedding = false; ///< whether to compute VisionSnapshot::embedding
    bool operator==(const VisionQuery&) const = default;
};

/// The answer of a vision model to a picture.
struct VisionAnswer {
    std::shared_ptr<const Image> seen; ///< the picture as the model reads it: resized and cropped
    std::vector<SitePattern> patterns; ///< one per layer; without values if the layer forms no pattern
    /// Mean attention distance of each layer: [heads], in pixels; empty without a pattern.
    std::vector<std::vector<float>> distances;
    std::vector<float> logits;        ///< [classes]; empty if the model has no classifier
    std::vector<float> probabilities; ///< [classes]; empty if the model has no classifier
    double elapsedMs = 0;             ///< time from the patches to the answer
};

/// The state that the views of a vision model show.
struct VisionSnapshot {
    uint64_t version = 0; ///< increases by one with each snapshot
    VisionQuery query;
    std::shared_ptr<const ModelInfo> model;          ///< null: no model is open
    std::shared_ptr<const VisionAnswer> answer;      ///< null without a picture and after a failure
    uint64_t answerVersion = 0;                      ///< increases by one with each new answer
    std::shared_ptr<const VisionAnswer> unedited;    ///< original run; null without changes
    std::shared_ptr<const TokenMap> rollout;         ///< null if a layer forms no pattern
    std::shared_ptr<const TokenMap> uneditedRollout; ///< rollout of `unedited`
    std::shared_ptr<const PatchEmbedding> embedding; ///< null until a query of this model asks for it
    double progress = 1;                             ///< of loading: 0 to 1; 1: loaded
    std::string device;
    std::optional<Failure> failure;                                        ///< why the query has no answer
    std::map<std::string, std::shared_ptr<const AnalysisResult>> analyses; ///< results on this model, by key
    struct Analysing {
        std::string key, what;
        float fraction = 0;
    };
    std::optional<Analysing> analysing;
    std::optional<Failure> analysisFailure; ///< of the last analysis; null if it was stopped
};

/// Runs a vision model on its own thread. A new query replaces one that waits. All public functions except waitIdle
/// return at once, and all are thread-safe.
class VisionSession {
public:
    explicit VisionSession(DeviceChoice choice);
    ~VisionSession();
    VisionSession(const VisionSession&) = delete;
    VisionSession& operator=(const VisionSession&) = delete;

    /// Runs the model on `query`, and stops an analysis that is running.
    void show(const VisionQuery& query);
    /// Runs an analysis on the query that is shown when its turn comes.
    void analyse(std::shared_ptr<const Analysis> analysis);
    void stopAnalysis();
    /// The newest snapshot; never null.
    std::shared_ptr<const VisionSnapshot> latest() const;
    /// Sets the function that the session's thread calls after each new snapshot.
    void setListener(std::function<void()> listener);
    /// Blocks until the session has no work left. @return false on time-out
    bool waitIdle(double timeoutSeconds = 60);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
