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

    /// The learning rate of a step. @param step from 0
    double at(int64_t step) const;
    bool operator==(const Schedule&) const = default;
};

} // namespace attn
