#pragma once

#include <string>

namespace attn::gpu {

/// A named stretch of device time.
struct Stretch {
    std::string name{};
    double elapsedMs = 0;
};

} // namespace attn::gpu
