#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attn {

/// How far long work has come.
struct Progress {
    double fraction = -1;        ///< 0 to 1; negative: not known
    int64_t step = 0, steps = 0; ///< how many steps are done, and of how many; 0: the work has no steps
    std::string sentence{};      ///< what is at work, such as the name of a tensor
    std::optional<double> secondsLeft{};
    bool operator==(const Progress&) const = default;
};

/// The progress of work that consists of steps.
Progress ofSteps(int64_t step, int64_t steps);

/// "step 12 of 400 · 3 min left", "blocks.3.mlp · 42 % · 5 s left". Empty if nothing is known.
std::string progressText(const Progress& progress);

/// "5 s", "3 min", "2 h 10 min".
std::string timeText(double seconds);

/// Estimates how long work still takes: at the mean rate so far, and of long work at that of the last half minute or
/// so.
class RemainingTime {
public:
    /// @param fraction done, 0 to 1  @param seconds at which it was done, on any clock that stands while the work does
    /// @return the seconds that are left; none: no rate is known yet, which takes two calls
    std::optional<double> after(double fraction, double seconds);

private:
    double fraction_ = -1, seconds_ = 0; ///< of the last call
    double age_ = 0, rate_ = 0;          ///< seconds since the first call; the part of the work in a second
};

} // namespace attn
