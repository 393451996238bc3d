#include "engine/models/model_source.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// config.json of a text model, beside the weights of a small one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const fuzz::GoldenFolders goldens({{"\"gpt_neox\"", "gpt_neox"},
                                              {"\"gpt_neo\"", "gpt_neo"},
                                              {"\"llama\"", "llama_gqa"},
                                              {"\"mistral\"", "mistral"},
                                              {"\"qwen2\"", "qwen2"},
                                              {"", "gpt2"}});
    const std::filesystem::path folder = goldens.with(fuzz::textOf(data, size));
    fuzz::mayRefuse([&] { openModelSource(folder.string()); });
    return 0;
}
