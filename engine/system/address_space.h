#pragma once

#include <cstddef>

namespace attn {

/// Makes sure that this much more memory could be mapped. Graphics drivers and Qt crash where they get none, so ask
/// before they start. It asks for addresses, not for memory itself: only a limit such as `ulimit -v` refuses them.
/// @throws Error saying that memory is short
void requireAddressSpace(size_t bytes);

} // namespace attn
