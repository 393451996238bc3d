#include <hwy/targets.h>

#include <cstdint>

// Loaded before a test program, this hides what processors have learnt since SSE4 from the kernels.

namespace {

const bool isHidden = (hwy::DisableTargets(~int64_t{HWY_SSE4 | HWY_STATIC_TARGET}), true);

} // namespace
