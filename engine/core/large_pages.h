#pragma once

#include <cstddef>

namespace attn {

/// Asks the system to keep memory in large pages (2 MiB on x86), if it is large and nothing has been written to it yet.
/// The processor then finds addresses faster, and the first writing costs less. Does nothing where the system has no
/// such request.
void useLargePages(void* memory, size_t bytes);

} // namespace attn
