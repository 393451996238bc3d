#pragma once

namespace attn {

/// The time to wait for what ends by itself, in seconds: years, which a clock can still count.
inline constexpr double kNoLimit = 1e8;

} // namespace attn
