#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attn {

class LanguageModel;

/// How beam search writes.
struct BeamSettings {
    int width = 4;            ///< number of hypotheses that go on after each token
    double lengthPenalty = 1; ///< a hypothesis scores log p / tokens^lengthPenalty: 0 favours short ones
    int maxTokens = 64;       ///< of a hypothesis
};

/// A token in the tree of all hypotheses that were considered. Node 0 is the root and has no token.
struct BeamNode {
    enum class Fate : uint8_t {
        Kept,    ///< it was among the best after its step
        Dropped, ///< it was not
        Finished ///< it ends with a stop token, or is as long as it may be
    };
    int token = -1, parent = -1;
    double logProbability = 0; ///< of all tokens from the root to this one
    double score = 0;          ///< logProbability by the length penalty
    Fate fate = Fate::Kept;
};

/// A finished hypothesis.
struct Hypothesis {
    std::vector<int> tokens; ///< without those before the search
    double logProbability = 0, score = 0;
    int node = 0; ///< its last token in the tree
};

struct BeamResult {
    std::vector<Hypothesis> hypotheses; ///< at most `width`, the best first
    std::vector<BeamNode> tree;         ///< parents before children
};

/// Continues the tokens that a model holds by beam search: after each token, the `width` most probable hypotheses go
/// on. The search ends when no live hypothesis can become better than the finished ones. The model then holds the best
/// one.
/// @param isCancelled ends the search between two runs of the model; the result then has no hypotheses
/// @source Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks", arXiv:1409.3215, section 3.2;
/// Wu et al. 2016, "Google's Neural Machine Translation System", arXiv:1609.08144, section 7, for length penalties
/// @throws Error if the model holds no tokens, or a setting is out of range
BeamResult beamSearch(LanguageModel& model, const BeamSettings& settings,
                      const std::function<bool()>& isCancelled = {});

} // namespace attn
