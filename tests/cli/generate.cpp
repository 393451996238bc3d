#include "tests/support/program.h"

using namespace attn::test;

TEST_CASE("generate: a source that the model does not take is refused before anything is printed", "[cli][gpu]") {
    const std::string model = std::string(ATTN_TEST_DIR) + "/golden/t5_gated";
    for (const std::string source :
         {"--source-tokens 99999", "--source-tokens x", "", "--source \"$(printf '\\377')\""}) {
        const std::string arguments = "generate '" + model + "' --prompt 'the cat' --max-tokens 2 " + source;
        INFO(arguments);
        const Answer shown = runProgram(arguments, " 2>/dev/null");
        CHECK(shown.code != 0);
        CHECK(shown.text.empty());
    }
}

TEST_CASE("second text: every command refuses it for a model that reads one text", "[cli][gpu]") {
    for (const std::string command : {"capture --out /dev/null", "lens", "ablate"}) {
        const Answer shown = runProgram(command + " builtin:induction --prompt abc --second abc");
        INFO(command);
        INFO(shown.text);
        CHECK(shown.code != 0);
        CHECK(shown.text.find("reads one text, not a pair") != std::string::npos);
    }
    const Answer render = runProgram("render builtin:induction --prompt abc --second abc --out /dev/null.svg");
    CHECK(render.code != 0);
    CHECK(render.text.find("reads one text, not a pair") != std::string::npos);
}
