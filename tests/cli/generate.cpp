#include "tests/models/model_folder.h"
#include "tests/support/program.h"

#include <nlohmann/json.hpp>

using namespace attn::test;

namespace {

/// What attention-cli prints as JSON.
nlohmann::json jsonOf(const std::string& arguments) {
    INFO(arguments);
    const Answer answer = runProgram(arguments + " --json", " 2>/dev/null");
    CHECK(answer.code == 0);
    return nlohmann::json::parse(answer.text);
}

} // namespace

TEST_CASE("generate: every end of a text is said, on standard error and in JSON", "[cli][gpu]") {
    ModelFolder folder("gpt2");
    const auto endsBy = [&](const std::string& arguments, const std::string& name, const std::string& sentence) {
        const std::string command = "generate '" + folder.path().string() + "' --greedy --tokens 5,3 " + arguments;
        const nlohmann::json json = jsonOf(command);
        CHECK(json["end"] == name);
        CHECK(json["ended"] == sentence);
        checkProgram(command, 0, {"\nattention-cli: " + sentence});
    };
    endsBy("--max-tokens 3", "max-tokens", "The model wrote 3 tokens, as many as it was asked for.");
    endsBy("--max-tokens 100", "context-full", "The context of 48 tokens is full.");
    const auto rule = [&](const std::string& text) { writeFile(folder / "generation_config.json", text); };
    rule(R"({"max_length": 6})");
    endsBy("", "folder-limit", "generation_config.json ends a text at 6 tokens (max_length), and this one has 6.");
    checkProgram("generate '" + folder.path().string() + "' --tokens 5,3", 0, {"--max-tokens sets another length."});
    rule(R"({"max_length": 1})");
    endsBy("", "folder-limit", "generation_config.json ends a text at 1 token (max_length), and this one has 2.");
    rule(R"({"max_new_tokens": 4})");
    endsBy("", "folder-limit", "generation_config.json lets the model write no more than 4 tokens (max_new_tokens).");
    rule("{}");
    const int first = jsonOf("generate '" + folder.path().string() + "' --greedy --tokens 5,3")["tokens"][2];
    rule("{\"eos_token_id\": " + std::to_string(first) + "}");
    endsBy("", "end-token", "The model ended the text with its token #" + std::to_string(first) + ".");
    checkProgram("generate builtin:sort --prompt '3 1 2 =' --beams 2", 0, {"The model ended the text with its token"});
    const nlohmann::json beams = jsonOf("generate '" + folder.path().string() + "' --beams 2 --tokens 5,3");
    CHECK(beams["hypotheses"][0]["ended"].get<std::string>().ends_with("."));
}

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
