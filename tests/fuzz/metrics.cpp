#include "engine/training/metrics.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// metrics.jsonl of a training run. Damaged lines are left out and counted.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const fuzz::Folder folder;
    folder.write("metrics.jsonl", fuzz::textOf(data, size));
    fuzz::mayRefuse([&] { readMetrics(folder.path()); });
    return 0;
}
