#include "tests/io/files.h"
#include "tests/support/program.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("limits: options of sampling have bounds", "[cli]") {
    for (const char* option : {"--repetition-penalty 0", "--repetition-penalty 1e-300", "--repetition-penalty 1e300",
                               "--length-penalty 1e300", "--length-penalty -1"}) {
        INFO(option);
        CHECK(runProgram(std::string("generate builtin:stories ") + option).code == 2);
    }
}

TEST_CASE("limits: a limit on the size of files ends training with its reason, not as Ctrl-C does", "[cli][gpu]") {
    const TemporaryFolder folder;
    const auto train = [&](const char* more) {
        return runCommand(std::string("ulimit -f 60; '") + ATTN_CLI_PROGRAM +
                          "' train --task sort --layers 1 --heads 2 --width 8 --batch 2 --evaluate-every 100000 "
                          "--checkpoint-every 100000 " +
                          more + " --out '" + (folder / "run").string() + "' 2>&1");
    };
    const Answer answer = train("--steps 1500");
    INFO(answer.text);
    CHECK(answer.code == 1);
    CHECK_THAT(answer.text, CONTAINS("File too large") && CONTAINS("raise the limit on the size of files (ulimit -f)"));
    CHECK_THAT(answer.text, !CONTAINS("stopped after"));
}

TEST_CASE("mistakes: what is wrong with a file is said of that file", "[cli]") {
    const TemporaryFolder folder;
    const std::string root = folder.path().string();
    writeFile(folder / "empty", "");
    writeFile(folder / "latin1", "good\tnice\nbad\tK\xE4lte\n");
    writeFile(folder / "cut.safetensors", std::string(200, 'x'));
    writeFile(folder / "alone.safetensors", safetensors("{}", ""));
    writeFile(folder / "list.json", "[]");
    fs::create_symlink("loop", folder / "loop");
    const auto says = [&](const std::string& arguments, const std::string& said) {
        INFO(arguments);
        const Answer answer = runCommand("cd '" + root + "' && '" + ATTN_CLI_PROGRAM + "' " + arguments + " 2>&1");
        CHECK(answer.code == 1);
        CHECK_THAT(answer.text, CONTAINS(said));
    };
    says("models cut.safetensors", "cut.safetensors: ");
    says("models alone.safetensors", "alone.safetensors: has no config.json beside it");
    says("models loop", "remove the link that leads back to itself");
    says("classify builtin:vit-shapes --image loop", "loop: is a link that leads to no file");
    says("perplexity builtin:stories --text latin1", "latin1: line 2 is not UTF-8");
    for (const char* task : {"text", "classify", "tag", "answer", "next-sentence", "masked-text"})
        says(std::string("train --steps 1 --out x --task ") + task + " --text empty" +
                 (task == std::string("text") ? "" : " --family bert"),
             "empty: the file is empty");
    says("train --resume --out missing", "missing: there is no such folder");
    says("train --resume --out empty", "empty: is not a folder but a file");
    says("train --task sort --steps 1 --out empty", "empty: is a file, not a folder; choose another name");
    says("eval missing", "missing: there is no such folder");
    says("attend --spec missing.json --random 4,4 --out x.npz", "missing.json: there is no such file");
    says("attend --spec list.json --random 4,4 --out x.npz", "list.json: ");
    for (const char* arguments : {"perplexity builtin:stories --text ''", "mask causal --size 4 --out ''",
                                  "train --task text --text '' --out x", "classify builtin:vit-shapes --image ''"}) {
        INFO(arguments);
        const Answer answer = runProgram(arguments);
        CHECK(answer.code == 2);
        CHECK_THAT(answer.text, CONTAINS("the name is empty"));
    }
}

TEST_CASE("mistakes: no command loses characters that a model does not know", "[cli][gpu]") {
    const TemporaryFolder folder;
    const std::string out = " --out '" + (folder / "out").string() + "'";
    for (const std::string& command : {std::string("generate"), std::string("perplexity"), std::string("lens"),
                                       std::string("ablate"), "capture" + out + ".npz", "render" + out + ".svg"}) {
        INFO(command);
        const size_t space = command.find(' ');
        const std::string more = space == std::string::npos ? "" : command.substr(space);
        const std::string arguments = command.substr(0, space) + " builtin:sort --prompt '3 1 x \u00eb ='" + more;
        const Answer answer = runProgram(arguments);
        CHECK(answer.code == 0);
        CHECK_THAT(answer.text,
                   CONTAINS("warning: this model has no token for \"x\", \"\u00eb\" and leaves them out; use only "
                            "its 11 characters"));
    }
    CHECK_THAT(runProgram("generate builtin:sort --prompt hello").text,
               CONTAINS("this model has no token for \"hello\""));
    const Answer patched = runProgram("patch builtin:sort --prompt '3 1 =' --from '3 x ='");
    CHECK_THAT(patched.text, CONTAINS("no token for \"x\""));
    for (const std::string arguments :
         {"generate builtin:stories --max-tokens 1 --prompt 'Zo\u00eb'",
          "perplexity builtin:stories --prompt 'Zo\u00eb ate'", "lens builtin:masked --prompt 'the \u03a9 [MASK]'",
          "generate builtin:numbers-de --source 'two \u00eb'"}) {
        INFO(arguments);
        const Answer answer = runProgram(arguments);
        CHECK(answer.code == 0);
        CHECK_THAT(answer.text, CONTAINS("warning: this model has no token for \"") && CONTAINS("\" and reads"));
    }
}
