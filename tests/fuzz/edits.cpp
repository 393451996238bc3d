#include "engine/inference/changes.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// The changes to a model in a session file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::mayRefuse([&] {
        const Changes edits = changesFromJson(std::string(fuzz::textOf(data, size)));
        for (const ValueChange& each : edits.valueChanges) describe(each);
        for (const PatternChange& each : edits.patterns) describe(each);
        fuzz::require(changesFromJson(changesToJson(edits)) == edits, "changes are written as they were read");
    });
    return 0;
}
