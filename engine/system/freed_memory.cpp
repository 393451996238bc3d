#include "engine/system/freed_memory.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace attn {

void returnFreedMemory() {
    // By default glibc raises both limits to the size of the largest freed block, up to 32 and 64 MiB. Models, pictures
    // and compiled kernels come and go in many threads, and the heap of each thread would keep as much for good.
#ifdef M_MMAP_THRESHOLD
    constexpr int kBytes = 1 << 20;
    mallopt(M_MMAP_THRESHOLD, kBytes);
    mallopt(M_TRIM_THRESHOLD, kBytes);
#endif
}

} // namespace attn
