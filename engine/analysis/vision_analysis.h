#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace attn {

class VisionModel;

/// The input of an analysis of a picture besides the model.
struct VisionAnalysisInput {
    std::span<const float> patches; ///< patches of the picture; hidden ones are replaced
    std::span<const float> other{}; ///< patches of another picture; empty: none
    std::function<void(float fraction, const std::string& what)> report =
        {}; ///< reports progress; throws if the analysis is stopped
};

/// The result of an analysis. Immutable once published.
struct VisionAnalysisResult {
    virtual ~VisionAnalysisResult() = default;
    uint64_t answerVersion = 0; ///< VisionSnapshot::answerVersion of the answer that was analysed
};

/// An analysis of a vision model on the current picture. It runs on the session's thread, and may set other gates and
/// edits: the session restores its own afterwards.
struct VisionAnalysis {
    virtual ~VisionAnalysis() = default;
    /// The key of its result in VisionSnapshot::analyses.
    virtual std::string key() const = 0;
    /// Computes the result. @throws Error if the model or the picture does not allow it
    virtual std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const = 0;
};

} // namespace attn
