#pragma once

#include "engine/inference/finite_count.h"
#include "engine/inference/input.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

class RunningModel;
struct SitePattern;

/// The input of an analysis besides the model.
struct AnalysisContext {
    Input input;                  ///< the current input
    std::optional<Input> other{}; ///< another picture, from which values are copied
    /// The patterns of the run on the input, one per site, if they are known: an analysis then need not run the model
    /// for them. Null: not known.
    const std::vector<SitePattern>* patterns = nullptr;
    std::function<void(float fraction, const std::string& what)> report{}; ///< progress; throws to stop the analysis
};

/// The result of an analysis. Immutable once published.
struct AnalysisResult {
    virtual ~AnalysisResult() = default;
    /// Adds the numbers that are finite in every right result; not those that may be missing, which are NaN.
    virtual void count(FiniteCount& numbers) const = 0;
    uint64_t inputVersion = 0; ///< version of the input that was analysed: Snapshot::sequenceVersion
};

/// A question about a loaded model on the current input. It runs on the session's thread, and may run other inputs and
/// set other changes: the session restores its own afterwards.
struct Analysis {
    virtual ~Analysis() = default;
    /// The key of its result in Snapshot::analyses. An analysis replaces one with the same key that waits.
    virtual std::string key() const = 0;
    /// Computes the result. @throws Error if the model or the input does not allow it
    virtual std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const = 0;
    /// This analysis with choices that it left to the model, such as the most probable token, fixed to those of
    /// `result`. It asks the same question about another run. @return null: nothing was left to the model
    virtual std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const {
        static_cast<void>(result);
        return nullptr;
    }
};

/// Computes a result, and checks its numbers: what programs show comes through here.
/// @throws Error as Analysis::run(), or if numbers of the result are not finite
std::shared_ptr<AnalysisResult> runAnalysis(const Analysis& analysis, RunningModel& model,
                                            const AnalysisContext& context);

} // namespace attn
