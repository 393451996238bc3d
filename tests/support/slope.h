#pragma once

#include <vector>

namespace attn::test {

/// The slope of a result by one number, from two values near it. @param result  computes the result from the numbers
template <class Result> double slopeOf(std::vector<double>& numbers, size_t at, const Result& result) {
    constexpr double kStep = 1e-5;
    const double before = numbers[at];
    const auto resultAt = [&](double value) {
        numbers[at] = value;
        return result();
    };
    const double slope = (resultAt(before + kStep) - resultAt(before - kStep)) / (2 * kStep);
    resultAt(before);
    return slope;
}

} // namespace attn::test
