#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn {

/// Unpacks zlib data of a declared size from an untrusted file.
/// @param size declared bytes: no more memory or time is spent
/// @throws Error without a place if the data becomes longer or shorter, or is damaged
std::string inflated(std::span<const std::byte> packed, size_t size);

} // namespace attn
