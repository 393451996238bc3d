#pragma once

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace attn {

/// Of the calling thread. Software Vulkan works on the threads that a device starts, which inherit this priority: the
/// window stays ahead of them.
inline void lowerThreadPriority() {
#ifdef __linux__
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 5);
#endif
}

} // namespace attn
