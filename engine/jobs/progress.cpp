#include "engine/jobs/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {

Progress ofSteps(int64_t step, int64_t steps) {
    return {.fraction = steps > 0 ? static_cast<double>(step) / static_cast<double>(steps) : -1,
            .step = step,
            .steps = steps};
}

std::string timeText(double seconds) {
    constexpr double kMinute = 60, kHour = 3600;
    if (seconds < 1.5 * kMinute) return fmt::format("{:.0f} s", std::ceil(seconds));
    if (seconds < 1.5 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
    const auto minutes = static_cast<int64_t>(std::llround(seconds / kMinute));
    return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string progressText(const Progress& progress) {
    std::string text = progress.sentence;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " · ") + part; };
    if (progress.steps > 0)
        add(fmt::format("step {} of {}", progress.step, progress.steps));
    else if (progress.fraction >= 0)
        add(fmt::format("{:.0f} %", std::floor(100 * progress.fraction)));
    if (progress.secondsLeft) add(timeText(*progress.secondsLeft) + " left");
    return text;
}

std::optional<double> RemainingTime::after(double fraction, double seconds) {
    constexpr double kHalfLife = 20; // seconds after which a rate counts half
    const double elapsed = seconds - seconds_, done = fraction - fraction_;
    if (fraction_ < 0 || done < 0) { // the work begins, or begins again
        rate_ = age_ = 0;
    } else if (elapsed > 0) {
        age_ += elapsed;
        const double weight = std::max(elapsed / age_, 1 - std::exp2(-elapsed / kHalfLife));
        rate_ += weight * (done / elapsed - rate_);
    }
    if (rate_ == 0 || elapsed > 0) {
        fraction_ = fraction;
        seconds_ = seconds;
    }
    return rate_ > 0 ? std::optional((1 - fraction) / rate_) : std::nullopt;
}

} // namespace attn
