#pragma once

#include <cstdint>
#include <vector>

namespace attn {

/// The factor of the loss in training with F16, which keeps small gradients from becoming zero. It is halved after
/// gradients that overflow, whose update is left out, and doubled after many steps without one.
/// @source Micikevicius et al. 2018, arXiv:1710.03740, section 3.2; the numbers are those of PyTorch's GradScaler
struct LossScale {
    static constexpr int64_t kGoodSteps = 2000; ///< until it is doubled

    double scale = 65536;
    int64_t goodSteps = 0; ///< since it last changed
    int64_t skipped = 0;   ///< steps whose update was left out

    /// Takes account of a step. @param overflowed whether its gradients were not finite
    void add(bool overflowed) {
        if (overflowed) {
            scale /= 2;
            goodSteps = 0;
            ++skipped;
        } else if (++goodSteps == kGoodSteps) {
            scale *= 2;
            goodSteps = 0;
        }
    }

    /// As numbers of a checkpoint, and back.
    std::vector<float> numbers() const {
        return {static_cast<float>(scale), static_cast<float>(goodSteps), static_cast<float>(skipped)};
    }
    static LossScale from(const std::vector<float>& numbers) {
        return {.scale = static_cast<double>(numbers.at(0)),
                .goodSteps = static_cast<int64_t>(numbers.at(1)),
                .skipped = static_cast<int64_t>(numbers.at(2))};
    }
    bool operator==(const LossScale&) const = default;
};

} // namespace attn
