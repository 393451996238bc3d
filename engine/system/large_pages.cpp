#include "engine/system/large_pages.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace attn {

void useLargePages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
    constexpr uintptr_t kPage = uintptr_t{2} << 20;
    const auto address = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t first = (address + kPage - 1) / kPage * kPage, end = (address + bytes) / kPage * kPage;
    // Only whole large pages, so that small buffers do not grow. A system that refuses keeps small pages.
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

void clearMemory(std::span<std::byte> memory) {
    static constexpr std::array<std::byte, 4096> kZeros{};
    while (!memory.empty()) {
        const std::span<std::byte> piece = memory.first(std::min(kZeros.size(), memory.size()));
        if (std::memcmp(piece.data(), kZeros.data(), piece.size()) != 0) std::ranges::fill(piece, std::byte{0});
        memory = memory.subspan(piece.size());
    }
}

} // namespace attn
