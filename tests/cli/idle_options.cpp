#include "engine/io/input_file.h"
#include "tests/cli/commands.h"
#include "tests/io/files.h"

#include <map>

// No command takes an option that changes nothing of its output.

using namespace attn;
using namespace attn::test;

namespace {

const std::string kPicture = std::string(ATTN_TEST_DIR) + "/../assets/models/vit-shapes/examples/1 circle.ppm";

/// Options of a command, as help lists them.
std::vector<std::string> optionsOf(const std::string& command) {
    std::vector<std::string> names;
    std::istringstream lines(runProgram(command + " --help").text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("  --")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
    return names;
}

/// A value that differs from the default, for the model builtin:induction-trained or builtin:vit-shapes.
std::string valueOf(const std::string& option, bool isPicture) {
    static const std::map<std::string, std::string> kValues{{"--prompt", "bcabca"},
                                                            {"--tokens", "2,3,2,3"},
                                                            {"--second", "ab"},
                                                            {"--token-types", "0,0,0,0,0,1"},
                                                            {"--tree", "2,0,2"},
                                                            {"--source", "ab"},
                                                            {"--source-tokens", "1"},
                                                            {"--temperature", "0.2"},
                                                            {"--top-k", "2"},
                                                            {"--top-p", "0.3"},
                                                            {"--min-p", "0.9"},
                                                            {"--repetition-penalty", "3"},
                                                            {"--seed", "7"},
                                                            {"--beams", "3"},
                                                            {"--length-penalty", "0.1"},
                                                            {"--max-tokens", "3"},
                                                            {"--layer", "1"},
                                                            {"--head", "1"},
                                                            {"--position", "2"},
                                                            {"--top", "2"},
                                                            {"--storage", "q4_0"},
                                                            {"--fusion", "max"},
                                                            {"--discard", "0.5"},
                                                            {"--lens", "logit"},
                                                            {"--from", "bbbbbb"},
                                                            {"--opacity", "0.1"},
                                                            {"--colours", "magma"},
                                                            {"--patch", "3"},
                                                            {"--theme", "dark"},
                                                            {"--width", "300"},
                                                            {"--height", "300"},
                                                            {"--size", "32"},
                                                            {"--hooks", "logits"},
                                                            {"--pixels", "2"},
                                                            {"--cell", "3"},
                                                            {"--keys", "9"},
                                                            {"--hook", "blocks.0.hook_resid_pre"},
                                                            {"--split", "train"},
                                                            {"--close", "1.0"},
                                                            {"--cluster", "0.1"},
                                                            {"--like", "1 0"},
                                                            {"--most", "16"},
                                                            {"--draws", "3"},
                                                            {"--deviation", "2"},
                                                            {"--heads", "2"},
                                                            {"--window", "0:2,0:2"}};
    if (option == "--target" || option == "--class") return isPicture ? "2" : "b";
    if (option == "--against") return isPicture ? "1" : "c";
    if (option == "--image") return kPicture;
    const auto found = kValues.find(option);
    return found == kValues.end() ? std::string() : found->second;
}

/// Runs a command with each of its options. Each is refused, or changes what the command prints or writes.
/// @param file that the command writes; empty: none
void checkOptions(const std::string& arguments, const fs::path& file = {}, const std::vector<std::string>& left = {}) {
    const auto run = [&](const std::string& more) {
        const Answer answer = runProgram(arguments + more);
        return std::pair(answer, file.empty() || !fs::exists(file) ? std::string() : readTextFile(file, 1 << 26));
    };
    const auto [base, written] = run("");
    INFO(arguments);
    REQUIRE(base.code == 0);
    for (const std::string& option : optionsOf(arguments.substr(0, arguments.find(' ')))) {
        const std::vector<std::string> machine{"--device", "--kernels", "--validation", "--help", "--out", "--json"};
        const auto isIn = [&](const auto& list) { return std::ranges::find(list, option) != list.end(); };
        if (isIn(machine) || isIn(left) || (arguments + " ").find(option + " ") != std::string::npos) continue;
        const std::string value = valueOf(option, arguments.find("--image") != std::string::npos);
        const auto [answer, other] = run(" " + option + (value.empty() ? "" : " '" + value + "'"));
        INFO(option << ' ' << value << ":\n" << answer.text);
        if (answer.code == 0)
            CHECK((answer.text != base.text || other != written));
        else
            CHECK_FALSE(answer.text.empty());
    }
}

} // namespace

TEST_CASE("options: every option changes a written text, or is refused", "[cli][gpu]") {
    for (const char* how : {"--greedy", "--beams 2", "--temperature 3"}) // the left ones need not show in few tokens
        checkOptions(std::string("generate builtin:induction-trained --prompt abcab --max-tokens 9 ") + how, {},
                     {"--formed", "--storage", "--repetition-penalty", "--length-penalty"});
    for (const char* more : {"--temperature 2", "--top-k 3", "--top-p 0.5", "--min-p 0.1", "--seed 3"})
        for (const char* how : {" --greedy ", " --beams 2 "})
            checkProgram(std::string("generate builtin:induction") + how + more, 1, {"changes nothing with"});
    checkProgram("generate builtin:induction --beams 2 --formed", 1, {"--formed changes nothing with a beam search"});
    checkProgram("generate builtin:induction --beams 2 --greedy", 1, {"--greedy changes nothing with a beam search"});
}

TEST_CASE("options: every option changes what a lens prints, or is refused", "[cli][gpu]") {
    for (const char* what :
         {"logit", "attribution", "gradients", "flow", "weighted", "circuits", "composition", "formed"}) {
        const std::string prompt = what == std::string("composition") ? "" : "--prompt abcabc ";
        checkOptions("lens builtin:induction-trained " + prompt + "--what " + what + " ");
        if (what == std::string("gradients") || what == std::string("weighted"))
            checkOptions("lens builtin:vit-shapes --image '" + kPicture + "' --what " + what + " ");
    }
}

TEST_CASE("options: every option changes a figure, or is refused", "[cli][gpu]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "figure.svg";
    const std::string out = " --out '" + file.string() + "' ";
    for (const std::string& input : std::vector<std::string>{"builtin:induction-trained --prompt abcabc",
                                                             "builtin:vit-shapes --image '" + kPicture + "'"}) {
        for (const char* view : {"attention", "heads", "rollout"})
            checkOptions("render " + input + " --view " + view + out, file);
        for (const char* lens : {"gradients", "weighted"})
            checkOptions("render " + input + " --view lens --lens " + lens + out, file);
    }
    checkProgram("render builtin:induction --view lens" + out, 1, {"--view lens needs the name of a lens"});
}

TEST_CASE("options: every option of the other commands changes their output, or is refused", "[cli][gpu]") {
    const TemporaryFolder folder;
    const std::string picture = "builtin:vit-shapes --image '" + kPicture + "' ", npz = (folder / "out.npz").string(),
                      out = "--out '" + npz + "' ";
    const std::string other =
        " --from '" + std::string(ATTN_TEST_DIR) + "/../assets/models/vit-shapes/examples/3 triangle.ppm' ";
    checkOptions("classify " + picture);
    checkOptions("capture " + picture + out, npz);
    checkOptions("ablate " + picture);
    checkOptions("ablate builtin:induction-trained --prompt abcabc ");
    checkOptions("capture builtin:induction-trained --prompt abcabc " + out, npz);
    checkOptions("perplexity builtin:induction-trained --prompt abcabc ", {}, {"--text"}); // refused beside --prompt
    checkOptions("attend --spec mask=causal --random 8,4 " + out, npz, {"--layer"}); // for parts that differ by layer
    checkOptions("mask causal --size 6 --count");
    checkOptions("mask 'per_head(causal, window(2)) & per_layer(full, window(2))' --size 6 --heads 2");
    checkOptions("patch builtin:induction-trained --prompt abcabc --from bbbbbb ", {},
                 {"--target"}); // the value is the default
    checkOptions("patch " + picture + other, {}, {"--target"});
    checkOptions("detect builtin:induction-trained ");
    checkOptions("detect " + picture, {}, {"--storage"}); // it need not change a kind
    checkOptions("features normaliser=favor --most 8 --tokens 4 --width 4 --draws 2 ");
    checkOptions("models builtin:induction-trained ", {}, {"--storage"});
    checkOptions("models builtin:vit-shapes ", {}, {"--storage"});
    checkOptions("eval builtin:induction-trained ");
    for (const auto& [arguments, option] : std::vector<std::pair<std::string, std::string>>{
             {"attend --spec mask=causal --random 8,4 --pixels 3 " + out, "--pixels"},
             {"render builtin:induction --view lens --lens storage --storage q4_0 " + out, "--storage"},
             {"mask causal --size 4 --cell 3", "--cell"},
             {"cost mask=causal --parts", "SPEC"},
             {"cost --parts --from 8", "--from"},
             {"cost mask=causal --kernels shader", "--kernels"},
             {"extrapolate --task copy --text a.txt " + out, "--text"},
             {"jobs stop sort --json", "--json"},
             {"jobs --kernels host", "--kernels"},
             {"lens builtin:induction --what composition --json --top 3", "--top"}})
        checkProgram(arguments, 1, {option + " changes nothing with"});
    checkProgram("models builtin:induction --kernels shader", 2, {"unexpected argument: --kernels"}); // nor offered
    checkProgram("storage builtin:induction --storage q4_0", 2, {"unexpected argument: --storage"});
}
