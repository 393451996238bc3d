#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/head_prints.h"
#include "engine/models/structure.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A name for what heads do: where their queries look. Tokens and patches have kinds of their own: see textHeadKinds()
/// and patchHeadKinds().
struct HeadKind {
    const char* id;      ///< "one_offset"
    const char* title;   ///< "one offset"
    const char* finding; ///< about a head of this kind; {0} stands for its score, and {1} for its tokens back
    const char* source;  ///< the paper; empty: the definition is ours
    float least = 0.4f;  ///< smallest HeadScores::beyond that names a head
    int tier = 0;        ///< a kind implies those of higher tiers, which are less specific
    /// The title of a head whose offset is part of the name; null: `title`.
    std::string (*offsetTitle)(int down, int right) = nullptr;
};

/// The scores of one head for all kinds, and the names that follow from them.
struct HeadScores {
    int site = 0, head = 0;
    std::string label{}; ///< of the head in figures: "L2 H1", "Cross L0 H3"
    std::span<const HeadKind> kinds{};
    std::vector<float> scores{}; ///< [kinds] 0 to 1; NaN: no token can be of use to this kind
    /// [kinds] what names the head. Of patches, the scores beyond an even distribution over the visible tokens: 0 for
    /// an even one, 1 for all of the weight. Of tokens, the scores.
    std::vector<float> beyond{};
    int down = 0, right = 0; ///< the strongest offset, in tokens of the site

    HeadScores() = default;
    HeadScores(int site, int head, std::span<const HeadKind> kinds); ///< all NaN
    template <class Kind> float of(Kind kind) const { return scores[static_cast<size_t>(kind)]; }
    /// The kinds that fit the head: the most specific ones with sufficient scores, the strongest first. Empty: mixed.
    std::vector<size_t> labels() const;
    std::optional<size_t> kind() const; ///< the first of labels()
    std::string title() const;          ///< "induction", "3 back", "one offset (0, +1)", "mixed"
    /// A sentence about a kind: "82 % of its attention goes to the previous token".
    std::string finding(size_t kind) const;
};

/// The kinds and fingerprints of the heads of a model.
struct HeadDetection : AnalysisResult {
    std::span<const HeadKind> kinds{};
    std::vector<HeadScores> heads; ///< by site, then head, for sites that form a pattern
    std::vector<HeadPrint> prints; ///< one per head
    std::vector<float> alike;      ///< [heads, heads] similarity of their fingerprints
    float leastAlike = 0.8f;       ///< similarity from which heads are worth grouping
    int period = 0;                ///< of texts: number of random tokens that repeat
    std::string text;              ///< of texts: the fixed text that was read, too; empty: none

    /// @return the index of a head in `heads`  @throws Error if there is no such head
    size_t indexOf(int site, int head) const;
    void count(FiniteCount& numbers) const override {
        for (const HeadPrint& print : prints)
            for (const auto* each : {&print.weights, &print.offsets}) numbers.add(*each);
        numbers.add(alike);
    }
    const HeadScores* find(int site, int head) const; ///< null: there is no such head
    /// Adds the heads of a site.
    void add(std::vector<HeadScores> scores, std::vector<HeadPrint> fingerprints, const ModelStructure& structure,
             int site);
};

/// Computes HeadDetection. The heads of texts are measured on random tokens that repeat and on a fixed English text,
/// those of pictures on the picture, and on the same picture with its patches shuffled.
struct HeadDetectionAnalysis : Analysis {
    uint64_t seed = 1;
    std::string key() const override { return "head_kinds"; }
    /// @throws Error if no layer forms a pattern
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

/// A head, by its index, and its similarity to another one.
struct SimilarHead {
    size_t index = 0;
    float similarity = 0;
};
/// The heads of `others` by falling similarity to one head, without the head itself if both are the same detection.
/// @throws Error if their fingerprints cannot be compared
std::vector<SimilarHead> similarHeads(const HeadDetection& detection, size_t head, const HeadDetection& others);
/// Groups of heads by averageLinkage(), with a mean similarity of at least `least`. @return indices of `heads`
std::vector<std::vector<size_t>> headGroups(const HeadDetection& detection, float least);
/// The indices of all heads by kind, then by falling score. Mixed heads come last.
std::vector<size_t> headsByKind(const HeadDetection& detection);

} // namespace attn
