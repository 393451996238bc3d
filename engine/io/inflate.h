#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn {

/// Unpacks data of zlib that comes from a stranger and says how long it becomes.
/// @param size promised bytes: neither memory nor time is spent on more
/// @throws Error without a place if the data becomes longer or shorter, or is damaged
std::string inflated(std::span<const std::byte> packed, size_t size);

} // namespace attn
