#pragma once

#include <cstddef>
#include <span>

namespace attn {

/// Asks the system to keep memory in large pages (2 MiB on x86), if it is large and nothing has been written to it yet.
/// The processor then finds addresses faster, and the first writing costs less. Does nothing where the system has no
/// such request.
void useLargePages(void* memory, size_t bytes);

/// Fills memory with zeros and writes only to those parts that hold something else. The system gives fresh pages as
/// zeros and takes up memory for them when they are first written, not when they are read: so memory that nobody has
/// used yet stays free.
void clearMemory(std::span<std::byte> memory);

} // namespace attn
