#pragma once

#include "engine/analysis/analysis.h"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Head kinds: names for the behaviour of heads on text. Each comment names the tokens that the head attends to.
enum class HeadKind : uint8_t {
    /// The token that followed an earlier copy of the query token.
    /// @source Olsson et al. 2022, "In-context Learning and Induction Heads", arXiv:2209.11895: the prefix matching
    ///         score. Theirs repeats 25 random tokens four times after a BOS token. Ours repeats at most 24 random
    ///         tokens twice and has no BOS token.
    Induction,
    DuplicateToken, ///< an earlier copy of the query token. @source Wang et al. 2022, arXiv:2211.00593
    PreviousToken,  ///< the previous token
    CurrentToken,   ///< the query token itself
    FirstToken,     ///< the first token, as an attention sink. @source Xiao et al. 2023, arXiv:2309.17453
    FixedOffset,    ///< the token at a fixed distance of 2 to 8. @source Clark et al. 2019, arXiv:1906.04341
    /// The same positions on two texts of different random tokens: the weight on which both patterns agree, beyond an
    /// even distribution. This definition is ours. Voita et al. 2019, arXiv:1905.09418, section 5.1, call a head
    /// positional if its largest weight is nearly always at one relative position; PreviousToken and FixedOffset
    /// measure that.
    Positional,
    Local, ///< the last four tokens, including the query token
    Broad  ///< all visible tokens, almost evenly
};
inline constexpr size_t kHeadKinds = 9;
/// The name of a kind for people: "previous token".
std::string_view nameOf(HeadKind kind);

/// The scores of one head for all kinds, and the names that follow from them.
struct HeadScores {
    int site = 0, head = 0;
    std::array<float, kHeadKinds> scores{}; ///< 0 to 1 each
    int offset = 0;                         ///< distance of FixedOffset, in tokens
    /// The score for a kind.
    float of(HeadKind kind) const { return scores[static_cast<size_t>(kind)]; }
    /// The kinds that fit the head, the most specific first. Empty for a mixed head.
    std::vector<HeadKind> labels() const;
    std::string title() const; ///< "induction", "3 back", "mixed"
    /// A sentence about the score for a kind: "82 % of its attention goes to the previous token".
    std::string explanation(HeadKind kind) const;
};

/// The kinds and fingerprints of all heads of a model. Scores come from random tokens that repeat and, if the model has
/// a tokenizer, also from a fixed English text.
struct HeadDetection : AnalysisResult {
    int sites = 0, heads = 0, period = 0; ///< tokens until the random tokens repeat
    std::vector<HeadScores> all;          ///< by site, then head
    std::string text;                     ///< the fixed text; empty: not used
    /// Fingerprints [sites, heads, printTokens, printTokens]: patterns on a few random tokens that repeat once. Models
    /// of different vocabularies have the same size, except models of very few tokens.
    std::vector<float> prints;
    int printTokens = 0;
    /// The fingerprint of a head: [printTokens, printTokens].
    std::span<const float> printOf(int site, int head) const;
};

/// Computes HeadDetection.
struct HeadDetectionAnalysis : Analysis {
    uint64_t seed = 1;
    std::string key() const override { return "head_detection"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

/// The similarity of two fingerprints: the mean over rows of the sum of sqrt(p q), 1 if they are equal. Models with
/// different vocabularies can be compared, because their random tokens repeat at the same positions.
/// @source Bhattacharyya 1943, "On a measure of divergence between two statistical populations"
float similarity(std::span<const float> a, std::span<const float> b);

/// A head and its similarity to another one.
struct SimilarHead {
    int site = 0, head = 0;
    float similarity = 0;
};
/// The heads of `others` by falling similarity to one head, without the head itself if both models are the same.
/// @throws Error if there is no such head, or the fingerprints have different numbers of tokens
std::vector<SimilarHead> similarHeads(const HeadDetection& detection, int layer, int head, const HeadDetection& others);

/// Groups of heads by averageLinkage(), with a mean similarity of at least `least`. @return (layer, head) pairs
std::vector<std::vector<std::pair<int, int>>> headClusters(const HeadDetection& detection, float least);

} // namespace attn
