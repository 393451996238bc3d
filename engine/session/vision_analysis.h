#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace attn {

class VisionModel;

/// What an analysis of a picture is given besides the model.
struct VisionAnalysisInput {
    std::span<const float> patches;                                           ///< of the picture, hidden ones hidden
    std::span<const float> other{};                                           ///< of another picture; empty: none
    std::function<void(float fraction, const std::string& what)> report = {}; ///< progress; throws when it is stopped
};

/// What an analysis found. Immutable once published.
struct VisionAnalysisResult {
    virtual ~VisionAnalysisResult() = default;
    uint64_t answerVersion = 0; ///< VisionSnapshot::answerVersion of the answer it speaks of
};

/// Something that is worked out about a vision model and the present picture on the session's thread. It may set other
/// gates and edits: the session puts its own in place again.
struct VisionAnalysis {
    virtual ~VisionAnalysis() = default;
    /// Results are kept by it.
    virtual std::string key() const = 0;
    virtual std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const = 0;
};

} // namespace attn
