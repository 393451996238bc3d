#pragma once

#include "engine/analysis/analysis.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// The QK and OV circuits of a head, computed from weight matrices, for embeddings as the head's input: those of the
/// vocabulary, or those of the rows of a picture. The centring and the weights of norms are folded in. Their division,
/// positions and biases are left out.
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", "Splitting attention head terms
/// into
///         circuits". Their models have no norms.
struct HeadCircuits : AnalysisResult {
    int site = 0, head = 0;
    bool isOfTokens = true;  ///< of a text; false: of a picture
    std::vector<int> tokens; ///< the tokens of the rows below, or the rows of a picture (CLS, then patches)
    struct Pairs {
        size_t choices = 0;        ///< of each row: as many as asked for, or as there are
        std::vector<int> ids;      ///< [tokens, choices], by falling value
        std::vector<float> values; ///< [tokens, choices]
    };
    Pairs reads; ///< QK circuit: the tokens or rows with the highest scores as keys, for each as a query
    /// OV circuit: the tokens or classes whose logits rise most when the head attends to each token, or when it does so
    /// in the row that the classifier reads. Empty without a readout, and for one that is not linear.
    Pairs writes;
    /// For models that predict tokens: the sum of the eigenvalues of the OV circuit divided by the sum of their
    /// absolute values. 1 copies, -1 does the opposite.
    std::optional<float> copyingScore{};
    std::vector<float> scores; ///< for a picture, the scores of the QK circuit: [query rows, key rows]
    void count(FiniteCount& numbers) const override {
        for (const auto* each : {&reads.values, &writes.values, &scores}) numbers.add(*each);
        numbers.add(copyingScore.value_or(0));
    }
};

/// Computes HeadCircuits.
struct HeadCircuitsAnalysis : Analysis {
    int site = 0, head = 0, choices = 8;
    std::vector<int> tokens; ///< empty: the tokens of the current sequence, each once
    std::string key() const override { return "head_circuits"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

/// How strongly later heads read what earlier heads write: |B A| / (|B| |A|) with Frobenius norms, where A is the OV
/// matrix of the earlier head and B the QK or OV matrix of the later one. The matrices are the raw weights: unlike
/// HeadCircuits, no norm is folded in.
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", "Three kinds of composition"
struct CompositionScores : AnalysisResult {
    enum class Kind : uint8_t { Query, Key, Value };
    int sites = 0, heads = 0;
    std::vector<float> values;      ///< [3 kinds, site, head, earlier site, earlier head]; 0 if not earlier, NaN
                                    ///< if one of both heads has no weights but zeros
    std::vector<float> read, wrote; ///< squares of |B| for queries and keys, and of |A|: [site, head]
    void count(FiniteCount& numbers) const override { numbers.addExisting(values); }
    /// Why a score is NaN, as the end of a sentence.
    std::string whyUndefined(Kind kind, int site, int head, int earlierSite, int earlierHead) const;
    /// The score between a head and an earlier one.
    float at(Kind kind, int site, int head, int earlierSite, int earlierHead) const {
        const auto all = static_cast<size_t>(sites * heads);
        return values[(static_cast<size_t>(kind) * all + static_cast<size_t>(site * heads + head)) * all +
                      static_cast<size_t>(earlierSite * heads + earlierHead)];
    }
};

/// Computes CompositionScores.
struct CompositionScoresAnalysis : Analysis {
    std::string key() const override { return "composition_scores"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
