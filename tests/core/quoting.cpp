#include "engine/core/quoting.h"
#include "engine/core/error.h"
#include "tests/support/catch.h"

using namespace attn;

TEST_CASE("quoting: printable text stays as it is", "[core]") {
    const char* text = GENERATE("", "model.layers.0.q_proj", "a \"b\" \\ c", "Ġthe", "▁Käse", "日本語 😀");
    CHECK(printable(text) == text);
    CHECK(inQuotes(text) == "\"" + std::string(text) + "\"");
}

TEST_CASE("quoting: control characters, turned writing and wrong bytes become escapes", "[core]") {
    CHECK(printable("\x1b[31mred\a") == "\\x1b[31mred\\x07");
    CHECK(printable("line\nline\ttab\r") == "line\\nline\\ttab\\r");
    CHECK(printable(std::string("nul\0", 4)) == "nul\\x00");
    CHECK(printable("C1: \xc2\x9b") == "C1: \\x9b");
    CHECK(printable("\xe2\x80\xae"
                    "exe.txt") == "\\u202eexe.txt");
    CHECK(printable("wrong \xff\xc3") == "wrong \\xff\\xc3");
    CHECK(printable("\"\x1b\\") == "\"\\x1b\\");
    CHECK(printable("\\x1b\n") == "\\x1b\\n");
}

TEST_CASE("quoting: long text is cut between characters", "[core]") {
    CHECK(printable(std::string(1 << 20, 'x'), 5) == "xxxxx...");
    CHECK(printable("12345", 5) == "12345");
    CHECK(printable("123ä5", 4) == "123...");
    CHECK(printable("12😀", 5) == "12...");
    CHECK(printable(std::string(9, '\x80'), 4) == "\\x80\\x80\\x80\\x80...");
    CHECK(inQuotes(std::string(1 << 20, 'x')).size() == kMostQuotedBytes + 5);
}

TEST_CASE("quoting: a message shows the beginning and the end of a long argument or path", "[core]") {
    const std::string most(200, 'x'), longer = most + "y", shown = std::string(140, 'x') + "..." + longer.substr(141);
    CHECK(shortened(most) == most);
    CHECK(shortened(longer) == shown);
    CHECK(withShortQuotes("a " + longer + " \"" + longer + "\" b") == "a " + shown + " \"" + shown + "\" b");
    const std::string words = [] {
        std::string text;
        for (int i = 0; i < 1000; ++i) text += "ab ";
        return text;
    }();
    CHECK(withShortQuotes("no \"" + words + "\", choose " + words).size() == 4 + 203 + 10 + words.size());
    CHECK(withShortQuotes("an open quote \"" + longer) ==
          "an open quote " + ("\"" + std::string(139, 'x')) + "..." + longer.substr(141));
    for (const std::string text : {"ä", "日", "😀"}) { // no half characters
        std::string many;
        while (many.size() < 1000) many += text;
        CHECK(printable(shortened(many), 1000) == shortened(many));
    }
    const Error error({.what = "the file \"" + longer + "\" is odd", .where = "/" + longer + "/a b", .hint = longer});
    CHECK(std::string(error.what()).size() < 700);
    CHECK(error.where().ends_with("/a b"));
}

TEST_CASE("quoting: a text keeps its lines and tabs, and nothing else that steers a terminal", "[core]") {
    CHECK(printableLines("one\n\n\ttwo \x1b[2J\r\n") == "one\n\n\ttwo \\x1b[2J\\r\n");
    CHECK(printableLines("").empty());
    CHECK(printableLines("\n") == "\n");
    CHECK(printableLines(std::string(1000, 'x') + "\a") == std::string(1000, 'x') + "\\x07");
}

TEST_CASE("error: no field prints a terminal escape or a megabyte", "[core]") {
    const std::string name = "\x1b]0;title\a" + std::string(1 << 20, 'x');
    const Error error({.what = name, .where = name, .hint = name});
    for (const std::string& text : {error.message(), error.where(), error.hint(), std::string(error.what())}) {
        CHECK(text.find('\x1b') == std::string::npos);
        CHECK(text.find('\a') == std::string::npos);
        CHECK(text.size() < 16384);
    }
    CHECK(Error("\x1b").message() == "\\x1b");
}
