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

TEST_CASE("attention-cli: numbers that double end at the largest that is asked for", "[cli][gpu]") {
    checkProgram("features normaliser=favor --most 20 --tokens 4 --width 4 --draws 1", 0,
                 {"\n         8 ", "\n        16 ", "\n        20 "});
    checkProgram("cost mask=causal --from 6 --to 20", 0, {"\n       6 ", "\n      12 ", "\n      20 "});
}

TEST_CASE("attention-cli: options that change nothing are named, or refused", "[cli]") {
    const TemporaryFolder folder;
    const std::string train = "train --task sort --steps 1 --batch 2 --layers 1 --width 16 --heads 2 --out '" +
                              (folder.path() / "run").string() + "' ";
    for (const auto& [option, reason] :
         std::vector<std::pair<std::string, std::string>>{{"--data /tmp", "the task sort reads no --data"},
                                                          {"--tokenizer bpe:50", "the task sort reads no --tokenizer"},
                                                          {"--languages de-en", "the task sort reads no --languages"}})
        checkProgram(train + option, 1, {reason, "leave it out"});
    checkProgram(train + "--family llama --activation relu --patch 7 --optimiser sgd --beta1 0.5 --lora-alpha 3", 0,
                 {"warning: --patch changes nothing: the task sort does not use it; it is for vit",
                  "warning: --activation changes nothing: models of the family llama do not use it",
                  "warning: --beta1 changes nothing: the other options leave it no effect; it is for adamw and adam",
                  "warning: --lora-alpha changes nothing"});
    const Answer quiet = runProgram("train --task shapes --family vit --layers 1 --heads 2 --width 16 --batch 2 "
                                    "--steps 1 --out '" +
                                    (folder.path() / "pictures").string() + "'");
    CHECK(quiet.code == 0);
    CHECK_THAT(quiet.text, !CONTAINS("warning"));
    for (const auto& [command, reason] : std::vector<std::pair<std::string, std::string>>{
             {"generate builtin:induction --greedy --temperature 2",
              "--temperature changes nothing with the most probable token"},
             {"lens builtin:induction --what logit --layer 1", "--layer changes nothing with --what logit"},
             {"lens builtin:induction --what composition --target a",
              "--target changes nothing with --what composition"},
             {"lens builtin:induction --what formed --position 3", "--position changes nothing with --what formed"},
             {"cost causal --from 100 --to 64", "--from: the lengths from 100 to 64 are none"},
             {"features normaliser=favor --most 9", "--most: 9 is odd, and random features are pairs"},
             {"generate builtin:induction --tokens 1,,2", "a comma without a number before it"},
             {"eval builtin:induction", "was not trained"}})
        checkProgram(command, 1, {reason});
    checkProgram("capture builtin:induction --tokens 1,2 --size 224 --out '" + (folder.path() / "c.npz").string() + "'",
                 2, {"--image"});
}
