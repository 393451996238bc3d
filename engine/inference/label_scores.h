#pragma once

#include "engine/models/class_activation.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// How often a label is said, is right, and is there.
struct LabelScore {
    int64_t said = 0, right = 0, there = 0; ///< `right` are both
    double precision() const;               ///< share of right ones among those said; 0 if it is never said
    double recall() const;                  ///< share of those said among those there; 0 if it is never there
    double f1() const;                      ///< harmonic mean of both; 0 if both are 0
};

/// How near numbers come to the right ones. Correlations are NaN where one side does not vary.
struct NumberScore {
    double squaredError = 0, absoluteError = 0; ///< means over the examples
    double pearson = 0;                         ///< of the numbers
    double spearman = 0;                        ///< of their ranks; equal numbers share the mean of their ranks
};

/// The answers of a classifier to many examples, measured.
/// @source Sorower 2010, "A literature survey on algorithms for multi-label learning", section 7; scikit-learn,
///         precision_recall_fscore_support: micro counts all labels together, macro is the mean of the labels
struct LabelScores {
    ClassActivation activation = ClassActivation::Softmax;
    int64_t examples = 0;
    /// Mean loss: cross-entropy of the right class, or of all labels (both in nats), or the squared error.
    double loss = 0;
    double exactMatch = 0;            ///< share of examples of which every label is right: with one class, the accuracy
    std::vector<LabelScore> labels{}; ///< of classes; a label of several is said from a probability of 1/2 on
    std::vector<NumberScore> numbers{}; ///< of a regression, one for each output

    LabelScore micro() const;
    struct Means {
        double precision = 0, recall = 0, f1 = 0;
    };
    Means macro() const;
};

/// The mean of a value over the numbers that have it. @return NaN if none has
double meanOf(std::span<const NumberScore> numbers, double NumberScore::*value);

/// Measures answers. @param logits [examples, labels]  @param targets the same size: 1 or 0, or numbers
/// @pre labels > 0
LabelScores labelScores(ClassActivation activation, int64_t labels, std::span<const float> logits,
                        std::span<const double> targets);

} // namespace attn
