#pragma once

#include <functional>

namespace attn {

/// Lets long work on a user's text end early: the work calls it between pieces of less than a second. It is no setting,
/// so all values compare equal.
struct StopPoint {
    std::function<void()> throwIfStopped{}; ///< empty: the work always runs to its end
    void operator()() const {
        if (throwIfStopped) throwIfStopped();
    }
    bool operator==(const StopPoint&) const { return true; }
};

} // namespace attn
