#include "engine/io/idx.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// A file of MNIST, plain or gzipped.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const fuzz::Folder folder;
    const std::filesystem::path file = folder.write("data", fuzz::textOf(data, size));
    fuzz::mayRefuse([&] {
        const IdxArray array = readIdx(file);
        int64_t values = 1;
        for (const int64_t extent : array.extents) values *= extent;
        fuzz::require(array.values.size() == static_cast<size_t>(values), "the values fill the axes");
    });
    return 0;
}
