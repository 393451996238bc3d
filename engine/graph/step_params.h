#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace attn {

/// The numbers that change from step to step. They live in one small device buffer (binding 0 of every shader), one
/// 32-bit word each in this order, so a change needs no new plan and no new recording.
enum class StepScalar : uint8_t {
    Step, ///< counter of steps, for random numbers
    Seed,
    QueryLength,        ///< live rows T of this step
    CacheOffset,        ///< first row of the caches that this step writes
    KeyLength,          ///< live rows S of the caches once this step has written: CacheOffset + QueryLength
    MicroStep,          ///< the index among the steps whose gradients add up to one update
    LearningRate,       ///< float
    MomentCorrection,   ///< float: 1 / (1 - beta1^t) of Adam's update t = 1, 2, ...
    VarianceCorrection, ///< float: 1 / sqrt(1 - beta2^t)
    Beginning,          ///< always 0: where a write of a whole state begins
    Count
};

struct StepParams {
    std::array<uint32_t, 16> words{};
    uint32_t& operator[](StepScalar scalar) { return words[static_cast<std::size_t>(scalar)]; }
    uint32_t operator[](StepScalar scalar) const { return words[static_cast<std::size_t>(scalar)]; }
    void setNumber(StepScalar scalar, double value) {
        (*this)[scalar] = std::bit_cast<uint32_t>(static_cast<float>(value));
    }
    double number(StepScalar scalar) const { return static_cast<double>(std::bit_cast<float>((*this)[scalar])); }
};

} // namespace attn
