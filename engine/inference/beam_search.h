#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attn {

class LanguageModel;

/// How beam search writes.
struct BeamSettings {
    int width = 4;            ///< number of hypotheses that continue after each token
    double lengthPenalty = 1; ///< a hypothesis scores log p / tokens^lengthPenalty: 0 favours short ones
    int maxTokens = 64;       ///< of a hypothesis
    /// As in Sampling, but of log p: it makes tokens that already occurred less likely.
    float repetitionPenalty = 1;
    bool stopsEarly = false; ///< ends as soon as there are as many finished hypotheses as the width
    bool operator==(const BeamSettings&) const = default;
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
    std::vector<Hypothesis> hypotheses; ///< finished ones, at most `width`, the best first
    std::vector<BeamNode> tree;         ///< parents before children
};

/// A beam search that proceeds token by token: after each, the `width` most probable hypotheses stay. It ends when no
/// live hypothesis can become better than the finished ones.
/// @source Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks", arXiv:1409.3215, section 3.2;
/// Wu et al. 2016, "Google's Neural Machine Translation System", arXiv:1609.08144, section 7, for length penalties
class BeamSearch {
public:
    /// @param beginning the tokens that the hypotheses continue
    /// @throws Error if there are none, or no room after them, or a setting is out of range
    BeamSearch(LanguageModel& model, const BeamSettings& settings, std::vector<int> beginning);

    /// Adds a token to each live hypothesis. The model then holds one of them.
    /// @param isCancelled ends the step between two runs of the model, without any effect
    /// @return whether the search continues
    bool step(const std::function<bool()>& isCancelled = {});
    bool isDone() const { return isDone_; }
    /// Makes the model hold a hypothesis. It keeps the tokens that it already holds.
    void hold(int node);
    std::vector<int> tokensTo(int node) const; ///< without the beginning

    const BeamSettings& settings() const { return settings_; }
    const std::vector<int>& beginning() const { return beginning_; }
    const BeamResult& result() const { return result_; }
    /// The last token of the best hypothesis, also while it is not finished; 0: there is none.
    int best() const;

private:
    double scoreOf(double logProbability, int length) const;
    bool mayImprove() const; ///< whether a live hypothesis can still become better than the finished ones
    void extend(int node, std::vector<BeamNode>& candidates);
    void choose(std::vector<BeamNode> candidates);
    const std::vector<int>& stops() const;

    LanguageModel& model_;
    BeamSettings settings_;
    std::vector<int> beginning_;
    std::vector<int> live_{0}; ///< nodes
    int length_ = 0, most_ = 0;
    bool isDone_ = false;
    BeamResult result_;
};

/// Continues the tokens that a model holds by beam search. The model then holds the best hypothesis.
/// @throws Error as BeamSearch
BeamResult beamSearch(LanguageModel& model, const BeamSettings& settings);

} // namespace attn
