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

TEST_CASE("attention-cli train: --resume refuses options that ask for another training run", "[cli][gpu]") {
    const TemporaryFolder folder;
    const std::string out = " --out '" + (folder.path() / "run").string() + "'", resume = "train --resume" + out;
    checkProgram("train --task copy --set length=3 --steps 3 --batch 4 --layers 1 --width 16" + out, 0,
                 {"exact match"});
    checkProgram(resume + " --task sort", 1,
                 {"--task: the training run continues with its own recipe, which has \"copy\""});
    checkProgram(resume + " --steps 9", 1, {"--steps: the training run", "which has 3;", "--from"});
    checkProgram(resume + " --set length=4", 1, {"--set: the training run", "length = 3"});
    checkProgram(resume + " --attention position=alibi", 1, {"--attention: the training run"});
    checkProgram(resume + " --task copy --steps 3 --set length=3", 0, {"exact match"});
}
