#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::host {

inline constexpr int64_t kFetchAhead = 8192; ///< bytes

/// Asks for weights that are read soon, into the second cache. A processor asks for one page at most by itself, and
/// looks past the arithmetic of a few lines only.
[[gnu::always_inline]] inline void fetch(const std::byte* from, int64_t bytes) {
    constexpr int64_t kLine = 64;
    for (int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(from + at, 0, 2);
}

/// Asks for the weights that follow these after kFetchAhead.
[[gnu::always_inline]] inline void fetchAhead(const std::byte* from, int64_t bytes) {
    fetch(from + kFetchAhead, bytes);
}

} // namespace attn::host
