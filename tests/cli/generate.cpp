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
