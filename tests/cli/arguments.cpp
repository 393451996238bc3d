#include "app/arguments/arguments.h"
#include "app/arguments/help_page.h"
#include "app/arguments/numbers.h"
#include "tests/cli/commands.h"
#include "tests/io/files.h"

#include <type_traits>

// What the programs refuse on their command lines, and how they end.

using namespace attn;
using namespace attn::test;
namespace {

/// The exit code of a program with one option of type T.
template <class T> int codeOf(const std::string& text, T& value) {
    cli::Command program("program", "Test options", "1");
    program.option("--value N", value, "a number");
    const auto reply = program.parse({"--value", text});
    return reply ? reply->exitCode : 0;
}

/// Options of a command that take one number: help calls it N, K, X or P.
std::vector<std::string> numericOptions(const std::string& command) {
    std::vector<std::string> names;
    std::istringstream lines(runProgram(command + " --help").text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name, value;
        words >> name >> value;
        if (line.starts_with("  --") && value.size() == 1 && value.find_first_of("NKXP") == 0) names.push_back(name);
    }
    return names;
}

} // namespace

TEMPLATE_TEST_CASE("options: a number must be written plainly, be finite and fit its variable", "[cli]", int, int64_t,
                   uint64_t, float, double) {
    for (const char* text : {"", " ", "x", "nan", "-nan", "inf", "-inf", "infinity", "1x", "1,5", " 1", "1 ", "+", "--",
                             "0x10", "1e999", "-1e999"}) {
        INFO('"' << text << '"');
        TestType value = 7;
        CHECK(codeOf(text, value) == 2);
        CHECK(value == 7);
    }
    for (const char* text : {"0", "1", "42", "127"}) {
        TestType value = 7;
        CHECK(codeOf(text, value) == 0);
        CHECK(std::to_string(static_cast<int>(value)) == text);
    }
    if constexpr (std::is_integral_v<TestType>) {
        using Limits = std::numeric_limits<TestType>;
        const std::string most = std::to_string(Limits::max()), least = std::to_string(Limits::lowest());
        TestType value = 7;
        CHECK(codeOf(most, value) == 0);
        CHECK(value == Limits::max());
        CHECK(codeOf(least, value) == 0);
        CHECK(value == Limits::lowest());
        value = 7;
        for (const std::string& text : {most + "0", "-1" + most, std::string("1.5"), std::string("1e3")}) {
            INFO(text);
            CHECK(codeOf(text, value) == 2);
            CHECK(value == 7);
        }
        CHECK(codeOf("010", value) == 0); // decimal, not octal
        CHECK(value == 10);
    } else {
        TestType value = 7;
        CHECK(codeOf("-2.5e-1", value) == 0);
        CHECK(value == -0.25);
    }
}

TEST_CASE("options: a value may be empty behind =", "[cli]") {
    cli::Command program("program", "Test options", "1");
    std::string text = "before";
    std::optional<std::string> other;
    int number = 7;
    bool isSet = false;
    program.option("--text TEXT", text, "a text");
    program.textOption(
        "--other TEXT",
        [&](const std::string& given) {
            other = given;
            return std::string();
        },
        "a text");
    program.option("--value N", number, "a number");
    program.flag("--flag", isSet, "a flag");
    CHECK_FALSE(program.parse({"--text=", "--other=", "--value", "5", "--flag"}));
    CHECK(text.empty());
    CHECK(other == "");
    CHECK(number == 5);
    CHECK(isSet);
    CHECK_FALSE(program.parse({"--text=a=", "--value=6"}));
    CHECK(text == "a=");
    CHECK(number == 6);
    const auto reply = program.parse({"--value=", "--flag"});
    REQUIRE(reply);
    CHECK_THAT(reply->text, CONTAINS("\"\" is not a whole number"));
}

TEST_CASE("attention-cli: every option of every command refuses an empty value, unless it is a text", "[cli]") {
    size_t count = 0;
    std::vector<std::string> all = commands();
    all.insert(all.end(), {"bench train", "bench long-pattern"});
    for (const std::string& command : all) {
        std::istringstream lines(runProgram(command + " --help").text);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string name, value;
            words >> name >> value;
            const bool isOption = line.starts_with("  --") && value.size() > 1 &&
                                  std::ranges::all_of(value, [](char c) { return c < 'a' || c > 'z'; });
            if (!isOption || value == "TEXT" || value == "IDS") continue;
            ++count;
            INFO(command << ' ' << name);
            checkProgram(command + " " + name + "=", 2, {name + ": "});
        }
    }
    CHECK(count >= 60);
    checkProgram("lens builtin:induction --what attribution --target ''", 2, {"--target: the value is empty"});
    checkProgram("cost ''", 2, {"the value is empty"});
    checkProgram("models ''", 2, {"PATH: the name is empty"});
}

TEST_CASE("options: a float refuses what only a double can hold", "[cli]") {
    float narrow = 7;
    CHECK(codeOf("1e100", narrow) == 2);
    double wide = 7;
    CHECK(codeOf("1e100", wide) == 0);
}

TEST_CASE("options: numbers in ranges and lists", "[cli]") {
    std::vector<int> pair;
    int bounded = 0;
    double open = 1;
    const auto parse = [&](std::vector<std::string> words) {
        cli::Command program("program", "Test options", "1");
        program.option("--pair A B", pair, "two numbers").atLeast(0).expects(2);
        program.option("--bounded N", bounded, "a number").range(1, 65536);
        program.option("--open X", open, "a number").above(0);
        const auto reply = program.parse(std::move(words));
        return reply ? reply->text : std::string();
    };
    CHECK(parse({"--pair", "1", "0", "--bounded", "65536", "--open", "0.5"}).empty());
    CHECK(pair == std::vector{1, 0});
    CHECK(bounded == 65536);
    CHECK_THAT(parse({"--pair", "1", "-2"}), CONTAINS("--pair: -2 is out of range: give 0 or more"));
    CHECK_THAT(parse({"--pair", "1", ""}), CONTAINS("--pair: \"\" is not a whole number"));
    CHECK_THAT(parse({"--pair", "{}", "{}"}), CONTAINS("--pair: "));
    CHECK_THAT(parse({"--bounded", "65537"}), CONTAINS("--bounded: 65537 is out of range: give 1 to 65536"));
    CHECK_THAT(parse({"--bounded", "4294967297"}), CONTAINS("--bounded: 4294967297 is out of range"));
    CHECK_THAT(parse({"--bounded", "{}"}), CONTAINS("--bounded: "));
    CHECK_THAT(parse({"--open", "0"}), CONTAINS("--open: 0 is out of range: give more than 0"));
}

TEST_CASE("numbers: whole numbers between separators", "[cli]") {
    using Numbers = std::vector<int64_t>;
    CHECK(cli::wholeNumbers("64,16", ",") == Numbers{64, 16});
    CHECK(cli::wholeNumbers("0:8,4:12", ":,:") == Numbers{0, 8, 4, 12});
    CHECK(cli::wholeNumbers("-3", "") == Numbers{-3});
    for (const char* text : {"", "64", "64,", ",16", "64,16,", "64, 16", "64;16", "64,16x", "9223372036854775808,1"})
        CHECK_FALSE(cli::wholeNumbers(text, ","));
}

TEST_CASE("attention-cli: every numeric option of every command refuses what is not a number in its range", "[cli]") {
    size_t count = 0;
    for (const std::string& command : commands())
        for (const std::string& name : numericOptions(command)) {
            ++count;
            for (const char* text : {"", "nan", "-99999999999999999999"}) {
                INFO(command << ' ' << name << " \"" << text << '"');
                checkProgram(command + " " + name + " '" + text + "'", 2, {name + ": "});
            }
        }
    CHECK(count >= 60);
}

TEST_CASE("attention-cli: values with several numbers refuse numbers that are too large", "[cli]") {
    const TemporaryFolder folder;
    const std::string out = " --out '" + (folder / "out.npz").string() + "'";
    for (const std::string& arguments :
         {"attend --spec mask=causal --random 4294967297,8" + out, "attend --spec mask=causal --random 8,1e1" + out,
          "attend --spec mask=causal --random 8,8 --window 0:99999999999999999999,0:1" + out,
          std::string("eval builtin:reverse --close 4294967296.0"),
          std::string("classify builtin:vit-shapes --image x.png --size 4294967297"),
          std::string("train --task reverse --set length=nan --out x")}) {
        INFO(arguments);
        const Answer answer = runProgram(arguments);
        CHECK(answer.code != 0);
        CHECK_THAT(answer.text, CONTAINS("4294967") || CONTAINS("1e1") || CONTAINS("99999") || CONTAINS("nan"));
    }
}

TEST_CASE("attention-cli: output that cannot be written is a failure", "[cli]") {
    if (!fs::exists("/dev/full")) return;
    for (const char* arguments :
         {"--help", "--version", "mask causal --size 4", "mask causal --size 4 --count", "parts", "parts --json",
          "models builtin:induction", "models builtin:induction --json",
          "generate builtin:induction --tokens 1,2 --max-tokens 2",
          "generate builtin:induction --tokens 1,2 --max-tokens 2 --json"}) {
        INFO(arguments);
        const Answer answer = runProgram(arguments, " 2>&1 >/dev/full");
        CHECK(answer.code == 1);
        CHECK_THAT(answer.text, CONTAINS("attention-cli: the results could not be written to standard output"));
        CHECK_THAT(answer.text, CONTAINS("No space left on device"));
    }
}

TEST_CASE("attention-cli: an empty text or prompt is refused, not replaced by the example", "[cli]") {
    const TemporaryFolder folder;
    std::ofstream(folder / "empty.txt").flush();
    const std::string file = "'" + (folder / "empty.txt").string() + "'";
    for (const auto& [arguments, sentence] :
         {std::pair("perplexity builtin:stories --text " + file, "the file is empty"),
          std::pair("perplexity builtin:stories --prompt x --text " + file, "the text is given twice"),
          std::pair(std::string("perplexity builtin:stories --prompt ''"), "a single token cannot be scored"),
          std::pair(std::string("generate builtin:stories --tokens ''"), "the prompt is empty")}) {
        checkProgram(arguments, 1, {sentence});
    }
}

TEST_CASE("attention-cli generate: an empty prompt behind = leaves the other options alone", "[cli][gpu]") {
    const std::string rest = " --max-tokens 5 --greedy";
    const Answer joined = runProgram("generate builtin:stories --prompt=" + rest, " 2>/dev/null"),
                 apart = runProgram("generate builtin:stories --prompt ''" + rest, " 2>/dev/null");
    CHECK(joined.code == apart.code);
    CHECK(joined.text == apart.text);
    checkProgram("generate builtin:stories --prompt= --max-tokens x", 2, {"\"x\" is not a whole number"});
}

TEST_CASE("attention-cli eval: a sweep of heads begins with a run of all heads on the same examples", "[cli][gpu]") {
    const Answer answer = runProgram("eval builtin:reverse --sweep-heads --close 0.1", " 2>/dev/null");
    CHECK(answer.code == 0);
    CHECK_THAT(answer.text,
               CONTAINS("with every other head: ") && CONTAINS("without L0 H0: ") && !CONTAINS("without L0 H1"));
    const auto examplesOf = [&](const std::string& line) { // "... of 256"
        const size_t begin = answer.text.find(line), of = answer.text.find(" of ", begin);
        return answer.text.substr(of, answer.text.find_first_of("(\n", of) - of);
    };
    CHECK(examplesOf("with every other head") == examplesOf("without L0 H0"));
}

TEST_CASE("attention-cli attend: a composition may be longer than a file name", "[cli]") {
    const TemporaryFolder folder;
    std::string spec = "mask=causal";
    while (spec.size() < 5000) spec += " & window(16)";
    const Answer answer =
        runProgram("attend --spec '" + spec + "' --random 4,4 --out '" + (folder / "out.npz").string() + "'");
    INFO(answer.text);
    CHECK(answer.code == 0);
}

TEST_CASE("attention-cli models: the name of a folder need not be UTF-8", "[cli]") {
    const TemporaryFolder folder;
    std::error_code refused; // some file systems take only UTF-8
    fs::copy(fs::path(ATTN_TEST_DIR) / "golden/gpt2", folder / "model\xff", refused);
    if (refused) return;
    for (const char* form : {"", " --json"}) {
        const Answer answer = runProgram("models '" + (folder / "model\xff").string() + "'" + form);
        INFO(answer.text);
        CHECK(answer.code == 0);
    }
}

TEST_CASE("attention-cli train: a recipe's batch must fit", "[cli]") {
    const TemporaryFolder folder;
    std::ofstream(folder / "recipe.json") << R"({"task": "reverse", "batch": 4294967297, "steps": 1})";
    checkProgram("train --recipe '" + (folder / "recipe.json").string() + "' --out '" + (folder / "run").string() + "'",
                 1, {"batch"});
    CHECK_FALSE(fs::exists(folder / "run"));
}
