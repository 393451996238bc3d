#include "engine/models/model_source.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// config.json of a vision model, beside the weights of a small one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const fuzz::GoldenFolders goldens({{"\"deit\"", "deit"},
                                              {"\"dinov2_with_registers\"", "dinov2_registers"},
                                              {"\"dinov2\"", "dinov2_swiglu"},
                                              {"\"swin\"", "swin_padded"},
                                              {"\"pretrained_cfg\"", "timm_vit"},
                                              {"", "vit"}});
    const std::string folder = goldens.with(fuzz::textOf(data, size)).string();
    axisOfModel(folder);
    fuzz::mayRefuse([&] { openModelSource(folder); });
    return 0;
}
