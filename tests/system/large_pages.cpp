#include "engine/system/large_pages.h"

#include "tests/support/catch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

using namespace attn;

TEST_CASE("clearing memory: every byte is zero and the neighbours stay", "[core]") {
    for (const size_t size : {0, 1, 4095, 4096, 4097, 20'000})
        for (const size_t only : {size_t{0}, size / 2, size}) { // the one byte that is set; all of them last
            INFO(size << " bytes, " << only);
            std::vector<std::byte> bytes(size + 2, only == size ? std::byte{7} : std::byte{0});
            if (only < size) bytes[1 + only] = std::byte{0x80};
            bytes.front() = bytes.back() = std::byte{9};
            clearMemory(std::span(bytes).subspan(1, size));
            CHECK(
                std::ranges::all_of(std::span(bytes).subspan(1, size), [](std::byte b) { return b == std::byte{0}; }));
            CHECK(bytes.front() == std::byte{9});
            CHECK(bytes.back() == std::byte{9});
        }
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("clearing memory: memory that nobody has used takes no room", "[core]") {
    constexpr size_t kBytes = size_t{64} << 20;
    const auto residentBytes = [] {
        int64_t all = 0, resident = 0;
        std::ifstream("/proc/self/statm") >> all >> resident;
        return resident * sysconf(_SC_PAGESIZE);
    };
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    useLargePages(memory, kBytes);
    const std::span bytes(static_cast<std::byte*>(memory), kBytes);
    const int64_t before = residentBytes();
    clearMemory(bytes);
    CHECK(residentBytes() - before < int64_t{8} << 20);
    std::ranges::fill(bytes, std::byte{1});
    CHECK(residentBytes() - before > int64_t{56} << 20); // else the check above could not fail
    munmap(memory, kBytes);
}
#endif
