#pragma once

#include "engine/models/memory_source.h"
#include "engine/session/attention_rollout.h"
#include "engine/session/edits.h"
#include "engine/session/layer_pattern.h"
#include "engine/session/patch_embedding.h"
#include "engine/session/vision_analysis.h"
#include "engine/session/vision_info.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What a vision model is to be asked.
struct VisionQuery {
    std::string model;                          ///< path of its folder; empty: none
    std::shared_ptr<const WeightSet> weights{}; ///< in place of the folder's: of a run at one moment
    std::string moment{};                       ///< of the run, for people: "step 120"; empty: none
    std::shared_ptr<const Image> picture{};     ///< null: none yet
    std::vector<int> hidden{};                  ///< patches of the mean colour, in rising order
    std::vector<float> gates{};                 ///< [layers, heads]; another count: all open
    Edits edits{};                        ///< an empty text: this picture with no patch hidden; any other: `other`
    std::shared_ptr<const Image> other{}; ///< that edits and analyses take values from; null: none
    RolloutOptions rollout{};
    std::optional<int>
        rolloutClass{};     ///< rolls out by the gradient of this class's logit; the options do not count then
    bool embedding = false; ///< whether what a patch is made into is asked for too
    bool operator==(const VisionQuery&) const = default;
};

/// What a model makes of a picture.
struct VisionAnswer {
    std::shared_ptr<const Image> seen;         ///< resized and cropped
    std::vector<LayerPattern> patterns;        ///< of each layer; one that forms none has no values
    std::vector<std::vector<float>> distances; ///< of each layer: [heads], in pixels; empty where it forms none
    std::vector<float> logits;                 ///< [classes]; empty without a head
    std::vector<float> probabilities;          ///< likewise
    double elapsedMs = 0;                      ///< from the patches to the answer
};

struct VisionSnapshot {
    uint64_t version = 0; ///< grows by one with each snapshot
    VisionQuery query;
    std::shared_ptr<const VisionInfo> model;         ///< null: none is open
    std::shared_ptr<const VisionAnswer> answer;      ///< null without a picture, and after a failure
    uint64_t answerVersion = 0;                      ///< grows by one with each other answer
    std::shared_ptr<const VisionAnswer> unedited;    ///< with all gates open and no edits; null where there are none
    std::shared_ptr<const TokenMap> rollout;         ///< null where some layer forms no pattern
    std::shared_ptr<const TokenMap> uneditedRollout; ///< likewise of `unedited`
    std::shared_ptr<const PatchEmbedding> embedding; ///< null unless it was asked for since the model was opened
    double progress = 1;                             ///< of loading, from 0; 1: loaded
    std::string device;
    std::optional<Failure> failure;                                              ///< why the query has no answer
    std::map<std::string, std::shared_ptr<const VisionAnalysisResult>> analyses; ///< by key; of this model
    struct Analysing {
        std::string key, what;
        float fraction = 0;
    };
    std::optional<Analysing> analysing;
    std::optional<Failure> analysisFailure; ///< of the last one; none where it was stopped
};

/// Runs a vision model on one thread of its own. The newest query replaces those that wait. All public functions are
/// thread-safe and return at once.
class VisionSession {
public:
    struct Options {
        std::optional<std::string> device{};
        std::optional<int> softwareThreads{};
        bool validation = false;
    };

    explicit VisionSession(Options options);
    ~VisionSession();
    VisionSession(const VisionSession&) = delete;
    VisionSession& operator=(const VisionSession&) = delete;

    void show(const VisionQuery& query); ///< stops an analysis that is underway
    /// Of what is shown by then.
    void analyse(std::shared_ptr<const VisionAnalysis> analysis);
    void stopAnalysis();
    /// Never null.
    std::shared_ptr<const VisionSnapshot> latest() const;
    /// Called on the session's thread after each new snapshot.
    void setListener(std::function<void()> listener);
    /// Blocks until nothing is left to do but wait. @return false on time-out
    bool waitIdle(double timeoutSeconds = 60);

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace attn
