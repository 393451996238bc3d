#include "engine/io/json_file.h"
#include "engine/training/checkpoint.h"
#include "tests/fuzz/fuzz.h"

#include <nlohmann/json.hpp>

using namespace attn;

/// training_state.json of a checkpoint.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr const char* kFile = "training_state.json";
    fuzz::mayRefuse([&] {
        fuzz::require(stepsDoneIn(parseJson(fuzz::textOf(data, size), kFile), kFile) >= 0, "steps are not negative");
    });
    return 0;
}
