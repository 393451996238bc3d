#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attn {

class LanguageModel;

/// The input of an analysis besides the model.
struct AnalysisInput {
    std::vector<int> tokens; ///< tokens of the current sequence
    std::function<void(float fraction, const std::string& what)>
        report; ///< reports progress; throws if the analysis is stopped
};

/// The result of an analysis. Immutable once published.
struct AnalysisResult {
    virtual ~AnalysisResult() = default;
    uint64_t sequenceVersion = 0; ///< Snapshot::sequenceVersion of the tokens that were analysed
};

/// An analysis of a loaded model on the current sequence. It runs on the session's thread, and may run other tokens and
/// set other gates: the session restores its own afterwards.
struct Analysis {
    virtual ~Analysis() = default;
    /// The key of its result in Snapshot::analyses. An analysis replaces one with the same key that waits.
    virtual std::string key() const = 0;
    /// Computes the result. @throws Error if the model or the sequence does not allow it
    virtual std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const = 0;
    /// This analysis with choices that it left to the model, such as the most likely token, fixed to those of `result`.
    /// It asks the same question about another run. @return null: nothing was left to the model
    virtual std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const {
        static_cast<void>(result);
        return nullptr;
    }
};

} // namespace attn
