#include "engine/system/freed_memory.h"

#include "tests/support/catch.h"

#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they have allocators of their own
using namespace attn;

namespace {

int64_t residentBytes() {
    int64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

/// As a thread that loads a model and compiles kernels: a large block, then many of medium size.
void useMemory() {
    std::vector<char>(size_t{30} << 20, '1');
    const std::vector<std::vector<char>> blocks(64, std::vector<char>(size_t{512} << 10, '1'));
}

} // namespace

TEST_CASE("freed memory: the heap of a thread goes back to the system", "[core]") {
    if (!std::ifstream("/proc/self/statm")) {
        WARN("the system does not say how much memory is resident");
        return;
    }
    returnFreedMemory();
    const int64_t before = residentBytes();
    int64_t after = 0;
    std::thread([&] {
        useMemory();
        after = residentBytes();
    }).join();
    CHECK(after - before < int64_t{4} << 20); // the limits are 1 MiB each; the rest is the thread's own
}
#endif
