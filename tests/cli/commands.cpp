#include "tests/cli/commands.h"

#include <nlohmann/json.hpp>

namespace attn::test {

nlohmann::json jsonOf(const std::string& arguments) {
    INFO(arguments);
    const Answer answer = runProgram(arguments + " --json", " 2>/dev/null");
    REQUIRE(answer.code == 0);
    return nlohmann::json::parse(answer.text);
}

} // namespace attn::test
