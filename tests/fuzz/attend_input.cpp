#include "engine/playground/attention_operands.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// The file of attention-cli attend --input, for one head and for two that share keys.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const fuzz::Folder folder;
    const std::filesystem::path file = folder.write("qkv.safetensors", fuzz::textOf(data, size));
    for (const HeadCounts& counts : {HeadCounts{1, 1}, HeadCounts{2, 1}})
        fuzz::mayRefuse([&] {
            const AttentionOperands inputs = readAttentionOperands(file, counts);
            const AttentionSizes& sizes = inputs.sizes;
            fuzz::require(inputs.q.size() == static_cast<size_t>(counts.heads * sizes.queries * sizes.width) &&
                              inputs.k.size() == static_cast<size_t>(counts.groups * sizes.keys * sizes.width) &&
                              inputs.v.size() == inputs.k.size(),
                          "the values fill the sizes");
        });
    return 0;
}
