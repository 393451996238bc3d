#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn {

/// Looks for what is missing or wrong in the bytes of a picture: decoders of GIF, BMP, ICO and JPEG show grey or black
/// where a file is cut off. Formats other than these and PNG pass.
/// @param name of the file, for errors
/// @return what may be wrong with a picture that can be read all the same, or how much of its file nothing reads, in a
/// sentence; empty: nothing
/// @throws Error naming the file if it is cut off or damaged
std::string damageIn(std::span<const std::byte> file, const std::string& name);

} // namespace attn
