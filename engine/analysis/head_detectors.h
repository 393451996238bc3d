#pragma once

#include "engine/session/analysis.h"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Kinds of heads by what they look at.
enum class HeadKind : uint8_t {
    Induction,      ///< the token after an earlier one that is the same. @source Olsson et al. 2022, arXiv:2209.11895
    DuplicateToken, ///< an earlier token that is the same. @source Wang et al. 2022, arXiv:2211.00593
    PreviousToken,  ///< the token before
    CurrentToken,   ///< the token itself
    FirstToken,     ///< the first one, a sink. @source Xiao et al. 2023, arXiv:2309.17453
    FixedOffset,    ///< always as far back, by two tokens or more: a syntactic pattern. @source Clark et al. 2019,
                    ///< arXiv:1906.04341
    Positional, ///< the same places, whatever the tokens are, beyond what an even spread would give. @source Voita et
                ///< al. 2019, arXiv:1905.09418
    Local,      ///< the four tokens that end with itself
    Broad       ///< all that it sees, nearly alike
};
inline constexpr size_t kHeadKinds = 9;
std::string_view nameOf(HeadKind kind); ///< "previous token"

/// How much of each kind one head is, and what it is called for that.
struct HeadScores {
    int layer = 0, head = 0;
    std::array<float, kHeadKinds> scores{}; ///< 0..1 each
    int offset = 0;                         ///< of FixedOffset
    float of(HeadKind kind) const { return scores[static_cast<size_t>(kind)]; }
    /// Kinds that it is called, the most special first; none: mixed.
    std::vector<HeadKind> labels() const;
    std::string title() const;                    ///< "induction", "mixed"
    std::string explanation(HeadKind kind) const; ///< "82 % of its weight goes to the token before"
};

/// Scores of all heads, by layer then head, on random tokens that repeat and, where there is a tokenizer, on a probe
/// text; and a print of each head by which to find others like it.
struct HeadDetection : AnalysisResult {
    int layers = 0, heads = 0, period = 0; ///< tokens until the random ones repeat
    std::vector<HeadScores> all;
    std::string text; ///< the probe text; empty: none was read
    /// [heads of all layers, printTokens, printTokens] patterns on few random tokens, twice: as many for models of
    /// different vocabularies, but for the smallest.
    std::vector<float> prints;
    int printTokens = 0;
    std::span<const float> printOf(int layer, int head) const;
};

struct HeadDetectionAnalysis : Analysis {
    uint64_t seed = 1;
    std::string key() const override { return "head_detection"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

/// How alike two patterns are: the mean over the rows of the sum of sqrt(p q), 1 for equal ones. Models with other
/// vocabularies compare too, for their random tokens repeat alike.
/// @source Bhattacharyya 1943, "On a measure of divergence between two statistical populations"
float similarity(std::span<const float> a, std::span<const float> b);

struct SimilarHead {
    int layer = 0, head = 0;
    float similarity = 0;
};
/// Heads of `others` by falling similarity to one head; the head itself is left out where both are the same.
/// @throws Error if there is no such head, or the prints are of different numbers of tokens
std::vector<SimilarHead> headsLike(const HeadDetection& detection, int layer, int head, const HeadDetection& others);

/// Groups of heads whose mean similarity is at least `least`, as averageLinkage() makes them.
std::vector<std::vector<std::pair<int, int>>> headClusters(const HeadDetection& detection, float least);

} // namespace attn
