#include "tests/cli/commands.h"
#include "tests/io/files.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("attention-cli train: low-rank adapters say how much they train and what they changed", "[cli][gpu]") {
    const TemporaryFolder folder;
    const std::string out = " --out '" + (folder.path() / "run").string() + "'";
    checkProgram("train --from builtin:reverse --task reverse --lora 2 --steps 3 --batch 4" + out, 0,
                 {"trained parameters (", "against builtin:reverse", "L0", "W_Q", "W_K   0.00 %    0"});
    checkProgram("train --task reverse --lora 2 --steps 3" + out, 1, {"there is none to start from"});
}
