#include "engine/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {

int64_t Schedule::stageOf(int64_t step) const {
    return std::clamp<int64_t>(step * stages / std::max<int64_t>(steps, 1), 0, stages - 1);
}

double Schedule::at(int64_t step) const { return rateInOneStage(step) / std::exp2(static_cast<double>(stageOf(step))); }

double Schedule::rateInOneStage(int64_t step) const {
    const auto t = static_cast<double>(step), warm = static_cast<double>(warmUp);
    if (step < warmUp) return rate * (t + 1) / (warm + 1);
    const double done = std::clamp((t - warm) / std::max(static_cast<double>(steps) - warm, 1.0), 0.0, 1.0);
    switch (kind) {
    case Kind::Constant:
        return rate;
    case Kind::InverseSquareRoot:
        return rate * std::sqrt(std::max(warm, 1.0) / std::max(t, std::max(warm, 1.0)));
    case Kind::Cosine:
        return finalRate + (rate - finalRate) * 0.5 * (1 + std::cos(std::numbers::pi * done));
    case Kind::Linear:
        return rate + (finalRate - rate) * done;
    }
    return rate;
}

} // namespace attn
