#pragma once

#include <functional>

namespace attn {

/// Where long work on a user's text may end early: it calls the point between pieces of less than a second. Values that
/// carry one are equal whatever it is: it is no setting.
struct StopPoint {
    std::function<void()> throwIfStopped{}; ///< empty: the work always runs to its end
    void operator()() const {
        if (throwIfStopped) throwIfStopped();
    }
    bool operator==(const StopPoint&) const { return true; }
};

} // namespace attn
