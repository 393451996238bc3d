#include "engine/data/parallel_text.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <array>

using namespace attn;

/// A text with its translation. The first byte chooses the format, and the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    constexpr std::array<const char*, 4> kNames{"text.mo", "text.po", "text.tmx", "text.tsv"};
    static const fuzz::Folder folder;
    const std::filesystem::path file = folder.write(kNames[data[0] % kNames.size()], fuzz::textOf(data + 1, size - 1));
    fuzz::mayRefuse([&] {
        for (const TextPair& pair : readPairs(file, {}, "en-de"))
            fuzz::require(!pair.source.empty() && !pair.target.empty(), "every pair has two texts");
    });
    return 0;
}
