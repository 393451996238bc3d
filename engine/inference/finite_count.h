#pragma once

#include "engine/models/class_activation.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>

namespace attn {

/// Counts the numbers of a result, and those that are NaN or infinite: they are no answer, and no answer follows from
/// them. Finite weights give such numbers too, if they are much too large.
class FiniteCount {
public:
    void add(double number) {
        ++all_;
        wrong_ += std::isfinite(number) ? 0 : 1;
    }
    template <std::ranges::range Numbers> void add(const Numbers& numbers) {
        for (const auto number : numbers) add(static_cast<double>(number));
    }
    /// Counts numbers among which NaN stands for one that the model lacks, such as a head of a layer with fewer heads.
    template <std::ranges::range Numbers> void addExisting(const Numbers& numbers) {
        for (const auto number : numbers)
            if (!std::isnan(static_cast<double>(number))) add(static_cast<double>(number));
    }
    int64_t wrong() const { return static_cast<int64_t>(wrong_); } ///< how many are NaN or infinite
    /// @throws Error if any is not finite  @param subject what the numbers are: "logits"  @param where the model
    void require(const std::string& subject, const std::string& where) const;

private:
    size_t all_ = 0, wrong_ = 0;
};

/// @throws Error as FiniteCount::require()
template <std::ranges::range Numbers>
void requireFinite(const Numbers& numbers, const std::string& subject, const std::string& where) {
    FiniteCount count;
    count.add(numbers);
    count.require(subject, where);
}

/// The rule for logits, wherever they are used. Where a softmax follows, minus infinity among finite logits is that of
/// a token or class that the model bars: its probability is 0. Every other number that is not finite is no answer.
/// @throws Error as FiniteCount::require()
void requireLogits(std::span<const float> logits, const std::string& where,
                   ClassActivation activation = ClassActivation::Softmax);
/// How many logits are no answer by that rule. It also holds for the bias of a readout, which is added to the logits.
int64_t wrongLogits(std::span<const float> logits, ClassActivation activation = ClassActivation::Softmax);

} // namespace attn
