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
                                              {"\"bert\"", "bert"},
                                              {"\"roberta\"", "roberta"},
                                              {"\"xlm-roberta\"", "xlm_roberta_untied"},
                                              {"\"distilbert\"", "distilbert"},
                                              {"\"xlnet\"", "xlnet"},
                                              {"\"t5\"", "t5"},
                                              {"\"mt5\"", "mt5"},
                                              {"\"bart\"", "bart"},
                                              {"\"marian\"", "marian"},
                                              {"", "gpt2"}});
    const std::filesystem::path folder = goldens.with(fuzz::textOf(data, size));
    fuzz::mayRefuse([&] { openModelSource(folder.string()); });
    return 0;
}
