#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attn {

class LanguageModel;

/// What an analysis is given besides the model.
struct AnalysisInput {
    std::vector<int> tokens;                                             ///< of the present sequence
    std::function<void(float fraction, const std::string& what)> report; ///< progress; throws when it is stopped
};

/// What an analysis found. Immutable once published.
struct AnalysisResult {
    virtual ~AnalysisResult() = default;
    uint64_t sequenceVersion = 0; ///< Snapshot::sequenceVersion of the tokens it speaks of
};

/// Something that is worked out about a loaded model and the present sequence on the session's thread. It may run other
/// tokens and other gates: the session puts its own in place again.
struct Analysis {
    virtual ~Analysis() = default;
    /// Results are kept by it, and of two that wait with the same only the newer one runs.
    virtual std::string key() const = 0;
    virtual std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const = 0;
    /// The same question with what was left to the model, such as the likeliest token, as it was found: for another
    /// run to answer. @return null: nothing was left to it
    virtual std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const {
        static_cast<void>(result);
        return nullptr;
    }
};

} // namespace attn
