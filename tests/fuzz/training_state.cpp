#include "engine/training/checkpoint.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// training_state.json of a checkpoint.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static constexpr const char* kFile = "training_state.json";
    fuzz::mayRefuse([&] {
        fuzz::withJson(fuzz::textOf(data, size), kFile, [](const nlohmann::json& state) {
            fuzz::require(stepsDoneIn(state, kFile) >= 0, "steps are not negative");
        });
    });
    return 0;
}
