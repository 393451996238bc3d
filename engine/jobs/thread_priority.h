#pragma once

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace attn {

/// Lowers the priority of the calling thread, so that the window stays responsive. Threads that software Vulkan starts
/// from it inherit the priority.
inline void lowerThreadPriority() {
#ifdef __linux__
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 5);
#endif
}

} // namespace attn
