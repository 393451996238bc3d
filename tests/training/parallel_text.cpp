#include "engine/data/parallel_text.h"
#include "engine/system/temporary_folder.h"
#include "tests/gpu/scoped_environment.h"
#include "tests/training/tasks_test.h"

#include <fstream>

using namespace attn;
using attn::test::refuses;
using Pairs = std::vector<TextPair>;

namespace {

/// Files that are gone with the test.
class PairFiles {
public:
    std::filesystem::path write(const std::string& name, std::string_view bytes) const {
        std::ofstream(folder_ / name, std::ios::binary) << bytes;
        return folder_ / name;
    }
    /// The pairs of one file.
    Pairs read(const std::string& name, std::string_view bytes, const std::string& languages = "en-de") const {
        return readPairs(write(name, bytes), {}, languages);
    }
    bool areRefused(const std::string& name, std::string_view bytes, const std::string& part) const {
        return refuses([&] { read(name, bytes); }, part);
    }
    const std::filesystem::path& folder() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
};

/// A .mo file: header, lengths and offsets of messages, the same of translations, and all texts.
std::string moFile(const Pairs& entries, bool isBig) {
    std::string bytes, texts;
    const auto number = [&](size_t value) {
        for (size_t i = 0; i < 4; ++i) bytes += static_cast<char>(value >> 8 * (isBig ? 3 - i : i) & 0xFF);
    };
    constexpr size_t kHeader = 28;
    const size_t table = 8 * entries.size(), textsAt = kHeader + 2 * table;
    for (const size_t value :
         {size_t{0x950412de}, size_t{0}, entries.size(), kHeader, kHeader + table, size_t{0}, textsAt})
        number(value);
    for (const auto side : {&TextPair::source, &TextPair::target})
        for (const TextPair& entry : entries) {
            number((entry.*side).size());
            number(textsAt + texts.size());
            texts += entry.*side + '\0';
        }
    return bytes + texts;
}

std::string tmxFile(const std::string& units, const std::string& before = "") {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + before +
           "<tmx version=\"1.4\"><header srclang=\"en\" datatype=\"plaintext\"/>\n<body>\n" + units + "</body></tmx>\n";
}

std::string tmxUnit(const std::string& english, const std::string& german) {
    return "<tu><tuv xml:lang=\"en-US\"><seg>" + english + "</seg></tuv>\n<tuv xml:lang=\"DE\"><seg>" + german +
           "</seg></tuv></tu>\n";
}

/// ASCII as UTF-16 with a byte order mark.
std::string utf16Of(std::string_view ascii, bool isBig) {
    std::string bytes = isBig ? "\xFE\xFF" : "\xFF\xFE";
    for (const char letter : ascii) bytes += isBig ? std::string{'\0', letter} : std::string{letter, '\0'};
    return bytes;
}

const Pairs kTwo{{"Go.", "Geh."}, {"I'm cold.", "Mir ist kalt."}};

} // namespace

TEST_CASE("parallel text: lines with a tab, also with further columns, CRLF and a byte order mark", "[training]") {
    const PairFiles files;
    CHECK(files.read("plain.tsv", "Go.\tGeh.\nI'm cold.\tMir ist kalt.") == kTwo);
    CHECK(files.read("tatoeba.txt",
                     "\xEF\xBB\xBFGo.\tGeh.\tCC-BY 2.0 (France)\tby CK\r\nI'm cold.\tMir ist kalt.\r\n\r\n") == kTwo);
    CHECK(files.read("empty_sides.tsv", "Go.\tGeh.\n\tnur hier\nonly here\t \u3000\nI'm cold.\t Mir ist kalt. \n") ==
          kTwo);
    CHECK(files.read("repeated.tsv", "Go.\tGeh.\nI'm cold.\tMir ist kalt.\nGo.\tGeh.\nGo.\tGeh.\n") == kTwo);
    CHECK(files.read("two_ways.tsv", "Go.\tGeh.\nGo.\tLos!\n").size() == 2);
    CHECK(files.areRefused("no_tab.tsv", "Go.\tGeh.\nI'm cold. Mir ist kalt.\n", "line 2 has no tab"));
    CHECK(files.areRefused("latin1.tsv", "Go.\tGeh.\nCold\tK\xE4lte\n", "line 2 is not UTF-8"));
    CHECK(files.areRefused("nothing.tsv", "", "nothing.tsv: the file is empty"));
    CHECK(files.areRefused("blank.tsv", "\n", "has no text with a translation"));
    CHECK(refuses([] { readPairs({}, {}, "en-de"); }, "needs a text and its translation"));
}

TEST_CASE("parallel text: the name of the task begins the source of a text-to-text task", "[training]") {
    const TemporaryFolder folder;
    const auto read = [&](const std::string& text) {
        std::ofstream(folder / "tasks.tsv", std::ios::binary) << text;
        return readTasks(folder / "tasks.tsv");
    };
    CHECK(read("plural\thouse\thouses\n\n past \t go \t went \tirregular\r\nplural\thouse\thouses\n") ==
          Pairs{{"plural: house", "houses"}, {"past: go", "went"}});
    CHECK(refuses([&] { read("plural\thouse\thouses\npast\tgo\n"); }, "line 2 is not a task, a tab, a text, a tab"));
    CHECK(refuses([&] { read("\thouse\thouses\n"); }, "has no text with an answer"));
    CHECK(refuses([] { readTasks({}); }, "needs a file of tasks, texts and answers"));
}

TEST_CASE("parallel text: a TMX file that lacks a language names those that it has", "[training]") {
    const PairFiles files;
    const std::string unit = "<tu><tuv><seg>Go.</seg></tuv><tuv xml:lang=\"de\"><seg>Geh.</seg></tuv></tu>";
    CHECK(files.areRefused("nameless.tmx", tmxFile(unit),
                           "has no text in both en and de; it has de, texts without a language"));
    CHECK(files.areRefused("no_german.tmx", tmxFile("<tu><tuv xml:lang=\"en\"><seg>Go.</seg></tuv></tu>"),
                           "it has en; choose two languages"));
}

TEST_CASE("parallel text: two files whose lines correspond", "[training]") {
    const PairFiles files;
    const auto english = files.write("text.en", "Go.\r\n\r\nI'm cold.\r\n");
    CHECK(readPairs(english, files.write("text.de", "Geh.\n\nMir ist kalt."), "") == kTwo);
    CHECK(refuses([&] { readPairs(english, files.write("short.de", "Geh.\n\n"), ""); },
                  "has 2 lines, but the text has 3"));
    CHECK(refuses([&] { readPairs(english, files.write("latin1.de", "Geh.\n\nK\xE4lte\n"), ""); },
                  "line 3 is not UTF-8"));
    CHECK(refuses([&] { readPairs(english, files.folder() / "missing.de", ""); }, "there is no such file"));
}

TEST_CASE("parallel text: files of more than 64 MiB are refused", "[training]") {
    const PairFiles files;
    const auto path = files.write("large.tsv", "Go.\tGeh.\n");
    std::filesystem::resize_file(path, (uint64_t{64} << 20) + 1);
    CHECK(refuses([&] { readPairs(path, {}, ""); }, "at most 64 MiB"));
}

TEST_CASE("parallel text: the units of a TMX file that have both languages", "[training]") {
    const PairFiles files;
    const std::string two = tmxFile(tmxUnit("Go.", "Geh.") + tmxUnit("I&apos;m cold.", "Mir ist kalt."));
    CHECK(files.read("plain.tmx", two) == kTwo);
    CHECK(files.read("reversed.tmx", two, "de-en").front() == TextPair{"Geh.", "Go."});
    CHECK(files.read("little.tmx", utf16Of(two, false)) == kTwo);
    CHECK(files.read("big.TMX", utf16Of(two, true)) == kTwo);
    CHECK(files.read("tags.tmx", tmxFile(tmxUnit("a <hi>bold</hi> <hi><hi>w</hi>ord</hi>", "ein<ph/> &#x1D11E; &amp; "
                                                                                           "<![CDATA[<b>]]>"))) ==
          Pairs{{"a bold word", "ein 𝄞 & <b>"}});
    CHECK(files.read("tmx11.tmx", tmxFile("<tu><tuv lang=\"DE\"><seg>Geh.</seg></tuv><tuv lang=\"EN_GB\"><seg>Go."
                                          "</seg></tuv></tu><tu><tuv lang=\"EN\"><seg>alone</seg></tuv></tu>",
                                          "<!DOCTYPE tmx SYSTEM \"tmx11.dtd\">\n")) == Pairs{{"Go.", "Geh."}});
    CHECK(refuses([&] { files.read("other.tmx", two, "en-fr"); }, "no text in both en and fr; it has DE, en-US"));
    CHECK(refuses([&] { files.read("prefix.tmx", two, "e-de"); }, "no text in both e and de"));
    CHECK(refuses([&] { files.read("one.tmx", two, "en"); }, "\"en\" is not written as FROM-TO"));
}

TEST_CASE("parallel text: damaged TMX files are refused, and entities do not grow", "[training]") {
    const PairFiles files;
    const std::string unit = tmxUnit("Go.", "Geh.");
    CHECK(files.areRefused("empty.tmx", "\n", "is not valid XML"));
    CHECK(files.areRefused("cut_off.tmx", tmxFile(unit).substr(0, 160), "is not valid XML at line 5"));
    CHECK(files.areRefused("html.tmx", "<html><body/></html>", "is XML but not TMX"));
    CHECK(files.areRefused("no_units.tmx", tmxFile(""), "has no texts"));
    CHECK(files.areRefused("latin1.tmx", tmxFile(tmxUnit("Cold", "K\xE4lte")), "line 5 is not UTF-8"));
    CHECK(files.areRefused("surrogate.tmx", tmxFile(unit + tmxUnit("Go.", "&#xD800;")), "text 2 is not UTF-8"));

    std::string bomb = "<!DOCTYPE tmx [<!ENTITY a \"ha\">";
    for (char name = 'b'; name <= 'z'; ++name)
        bomb += std::string("<!ENTITY ") + name + " \"&" + static_cast<char>(name - 1) + ";&" +
                static_cast<char>(name - 1) + ";\">";
    CHECK(files.read("bomb.tmx", tmxFile(tmxUnit("&z;", "Geh."), bomb + "]>")) == Pairs{{"&z;", "Geh."}});

    std::string deep;
    for (int i = 0; i < 200000; ++i) deep += "<hi>";
    deep += "x";
    for (int i = 0; i < 200000; ++i) deep += "</hi>";
    CHECK(files.read("deep.tmx", tmxFile(tmxUnit(deep, "y"))) == Pairs{{"x", "y"}});
}

TEST_CASE("parallel text: a gettext catalogue of translators", "[training]") {
    const PairFiles files;
    const std::string header = "# German.\nmsgid \"\"\nmsgstr \"\"\n\"Project-Id-Version: x\\n\"\n"
                               "\"Content-Type: text/plain; charset=UTF-8\\n\"\n\n";
    CHECK(files.read("all.po", header + R"(#: main.c:12
#, c-format
msgid "Open %s"
msgstr "%s öffnen"

msgctxt "menu"
msgid "Open"
msgstr "Öffnen"
msgid ""
"one file\n"
"of many"
msgid_plural "%d files"
msgstr[0] "eine Datei\nvon " "vielen"
msgstr[1] "%d Dateien"

#, fuzzy, c-format
#| msgid "Klose"
msgid "Close"
msgstr "Schliesen"

msgid "untranslated"
msgstr ""

#, fuzzy
#~ msgid "Old"
#~ msgstr "Alt"

msgid "say \"\\\" and \303\244 \x41"
msgstr "ä"
)") == Pairs{{"Open %s", "%s öffnen"},
             {"Open", "Öffnen"},
             {"one file\nof many", "eine Datei\nvon vielen"},
             {"say \"\\\" and ä A", "ä"}});
    CHECK(files.read("crlf.po", "msgid \"Go\"\r\nmsgstr \"Geh\"\r\n") == Pairs{{"Go", "Geh"}});
    CHECK(files.read("template.po", "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=CHARSET\\n\"\n"
                                    "msgid \"Go\"\nmsgstr \"Geh\"\n") == Pairs{{"Go", "Geh"}});
    CHECK(files.areRefused("latin1.po",
                           "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n"
                           "msgid \"Cold\"\nmsgstr \"K\xE4lte\"\n",
                           "is written in the charset \"iso-8859-1\", not in UTF-8"));
    CHECK(files.areRefused("bytes.po", header + "msgid \"Cold\"\nmsgstr \"K\xE4lte\"\n", "line 8 is not UTF-8"));
    CHECK(files.areRefused("escape.po", "msgid \"Cold\"\nmsgstr \"K\\344lte\"\n", "text 1 is not UTF-8"));
    CHECK(files.areRefused("cut_off.po", "msgid \"a\"\nmsgstr \"b\"\nmsgid \"c\"\n", "a msgid has no msgstr"));
    CHECK(files.areRefused("twice.po", "msgid \"a\"\nmsgid \"b\"\nmsgstr \"c\"\n", "a msgid has no msgstr"));
    CHECK(files.areRefused("quote.po", "msgid \"a\nmsgstr \"b\"\n", "line 1: a text does not end with a quote"));
    CHECK(files.areRefused("backslash.po", "msgid \"a\\", "line 1: a text does not end with a quote"));
    CHECK(files.areRefused("unknown.po", "msgid \"a\\q\"\n", "line 1: \"\\q\" has no meaning"));
    CHECK(files.areRefused("bare.po", "msgid a\n", "line 1: a text does not begin with a quote"));
    CHECK(files.areRefused("keyword.po", "#\nmessage \"a\"\n", "line 2: \"message\" is no keyword"));
    CHECK(files.areRefused("first.po", "\"a\"\n", "line 1: a text comes before the first keyword"));
    CHECK(files.areRefused("string.po", "msgstr \"a\"\n", "line 1: msgstr comes without a msgid"));
    CHECK(files.areRefused("missing.po", "msgid\n", "line 1: the text in quotes is missing"));
    CHECK(files.areRefused("nothing.po", "\n", "has no text with a translation"));
}

TEST_CASE("parallel text: a gettext catalogue of programs, in both byte orders", "[training]") {
    const PairFiles files;
    const Pairs entries{{"", "Content-Type: text/plain; charset=UTF-8\n"},
                        {std::string("file\0files", 10), std::string("Datei\0Dateien", 13)},
                        {"menu\x04Open", "Öffnen"},
                        {"Open", ""}};
    for (const bool isBig : {false, true}) {
        const std::string good = moFile(entries, isBig);
        CHECK(files.read("good.mo", good) == Pairs{{"file", "Datei"}, {"Open", "Öffnen"}});
        for (size_t bytes = 0; bytes < good.size(); ++bytes) // each cut misses a part: the last byte ends an empty text
            if (bytes + 1 < good.size())
                CHECK(refuses([&] { files.read("cut_off.mo", std::string_view(good).substr(0, bytes)); }, ""));
        const auto with = [&](size_t at, char value) {
            std::string changed = good;
            for (size_t i = 0; i < 4; ++i) changed[at + i] = value;
            return changed;
        };
        CHECK(files.areRefused("magic.mo", with(0, 'x'), "is no .mo file"));
        CHECK(files.areRefused("version.mo", with(4, '\1'), "is of version 257"));
        CHECK(files.areRefused("count.mo", with(8, '\xFF'), ""));
        CHECK(files.areRefused("table.mo", with(12, '\xFF'), "is cut off"));
        CHECK(files.areRefused("length.mo", with(28 + 8, '\xFF'), "entry 2 lies beyond the end of the file"));
        CHECK(files.areRefused("offset.mo", with(28 + 12, '\xFF'), "entry 2 lies beyond the end of the file"));
    }
    CHECK(files.areRefused("latin1.mo", moFile({{"", "Content-Type: text/plain; charset=ISO-8859-1\n"}}, false),
                           "is written in the charset \"iso-8859-1\""));
    CHECK(files.areRefused("bytes.mo", moFile({{"Cold", "K\xE4lte"}}, false), "text 1 is not UTF-8"));
    CHECK(files.areRefused("empty.mo", "x", "is no .mo file"));

    // Thousands of entries that name one long text need not fill the memory.
    constexpr size_t kEntries = 1000;
    std::string shared = moFile(Pairs(kEntries, {"a", "b"}), false);
    for (size_t i = 0; i < kEntries; ++i) shared.replace(28 + 8 * i, 8, std::string("\0\x30\0\0\0\0\0\0", 8));
    CHECK(files.areRefused("shared.mo", shared, "shares its text with others"));
}

TEST_CASE("parallel text: catalogues that are installed, the largest first", "[training]") {
    const PairFiles files;
    const auto folder = files.folder() / "share" / "locale" / "xx_YY" / "LC_MESSAGES";
    std::filesystem::create_directories(folder);
    for (const auto& [name, size] : {std::pair{"small.mo", 10}, {"large.mo", 1000}, {"other.txt", 5000}})
        std::ofstream(folder / name) << std::string(static_cast<size_t>(size), 'x');
    const std::string share = (files.folder() / "share").string();
    const gpu::ScopedEnvironment folders("XDG_DATA_DIRS", (share + "/:/nowhere::" + share).c_str());
    using Paths = std::vector<std::filesystem::path>;
    CHECK(installedCatalogues("xx-YY") == Paths{folder / "large.mo", folder / "small.mo"});
    CHECK(installedCatalogues("xx_YY").size() == 2);
    CHECK(installedCatalogues("xx").empty());
    CHECK(installedCatalogues("").empty());
    CHECK(installedCatalogues("../locale/xx_YY").empty());
}
