#include <hwy/targets.h>

#include <cstdint>

// Loaded before a test program, hides newer instructions than SSE4 from the choice of kernels.

namespace {

const bool isHidden = (hwy::DisableTargets(~int64_t{HWY_SSE4 | HWY_STATIC_TARGET}), true);

} // namespace
