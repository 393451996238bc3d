#pragma once

#include <cstdint>
#include <string>

namespace attn {

/// The learning rate over the steps of a training run: a linear warm-up, then a decay.
struct Schedule {
    enum class Kind : uint8_t {
        Constant,
        InverseSquareRoot, ///< rate * sqrt(warmUp / step). @source Vaswani et al. 2017, arXiv:1706.03762, section 5.3
        Cosine,            ///< half a cosine to the final rate. @source Loshchilov and Hutter 2017, arXiv:1608.03983
        Linear             ///< linear decay to the final rate
    };
    Kind kind = Kind::Cosine;
    double rate = 1e-3;
    double finalRate = 0;
    int64_t warmUp = 0; ///< steps from rate / (warmUp + 1) to rate
    int64_t steps = 1000;
    /// Equal parts of the steps. In each the windows of masks are twice as wide as in the one before, up to their own
    /// width in the last, and the learning rate is half as high.
    /// @source Beltagy et al. 2020, arXiv:2004.05150, section 4.2
    int64_t stages = 1;

    /// The stage of a step, from 0. @param step from 0
    int64_t stageOf(int64_t step) const;
    /// The divisor of windows in a stage.
    int64_t windowDivisor(int64_t stage) const { return int64_t{1} << (stages - 1 - stage); }
    /// The learning rate of a step. @param step from 0
    double at(int64_t step) const;
    bool operator==(const Schedule&) const = default;

private:
    double rateInOneStage(int64_t step) const;
};

} // namespace attn
