#include "engine/system/large_pages.h"

#include "tests/support/catch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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

TEST_CASE("clearing memory: zeros are read and not written, so that pages that nobody used stay free", "[core]") {
    constexpr size_t kBytes = size_t{4} << 20;
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    const std::span bytes(static_cast<std::byte*>(memory), kBytes);
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes[kBytes - 1] = std::byte{1};
    // A write to any page but the last ends the program.
    REQUIRE(mprotect(memory, kBytes - page, PROT_READ) == 0);
    clearMemory(bytes);
    CHECK(bytes[kBytes - 1] == std::byte{0});
    munmap(memory, kBytes);
}
