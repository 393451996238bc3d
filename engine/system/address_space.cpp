#include "engine/system/address_space.h"

#include "engine/core/error.h"

#include <string>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace attn {

void requireAddressSpace([[maybe_unused]] size_t bytes) {
#if __has_include(<sys/mman.h>)
#ifdef MAP_NORESERVE
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
    void* const room = mmap(nullptr, bytes, PROT_NONE, kFlags, -1, 0);
    if (room == MAP_FAILED)
        throw Error({.what = "memory is short: " + std::to_string(bytes >> 20) +
                             " MiB more are needed, and the system "
                             "refuses them",
                     .where = {},
                     .hint = "close other programs, or raise the limit of this one (ulimit -v)"});
    munmap(room, bytes);
#endif
}

} // namespace attn
