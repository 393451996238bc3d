#include "engine/system/temporary_folder.h"
#include "tests/includes/include_rules.h"
#include "tests/includes/source_rules.h"
#include "tests/support/catch.h"

namespace fs = std::filesystem;

using namespace attn;
using namespace attn::test;

namespace {

using Problems = std::vector<std::string>;

/// A made-up repository in a temporary folder.
class MadeUp {
public:
    void write(const std::string& file, const std::string& text) const {
        fs::create_directories((root() / file).parent_path());
        std::ofstream(root() / file) << text;
    }
    const fs::path& root() const { return folder_.path(); }
    Problems problems(const std::string& table) const {
        write("folders.txt", table);
        return brokenIncludes(root(), readIncludeRules(root() / "folders.txt"));
    }

private:
    TemporaryFolder folder_;
};

const std::string kInclude = "#include ";

} // namespace

TEST_CASE("includes: every folder includes only what the table allows", "[includes]") {
    const fs::path root = fs::path(ATTN_SOURCE_DIR).lexically_normal();
    CHECK(brokenIncludes(root, readIncludeRules(root / "tests/includes/folders.txt")) == Problems());
}

TEST_CASE("includes: an include that the table does not allow is named with its line and the remedy", "[includes]") {
    const MadeUp tree;
    tree.write("engine/core/a.h", "#pragma once\n");
    tree.write("engine/gpu/b.h", "#pragma once\n\n" + kInclude + "\"engine/core/a.h\"\n" + kInclude + "<vector>\n");
    CHECK(tree.problems("engine/core :\nengine/gpu : engine/core\n") == Problems());
    CHECK(
        tree.problems("engine/core :\nengine/gpu :\n") ==
        Problems{"engine/gpu/b.h:3: engine/gpu may not include engine/core/a.h. Move the code to a folder that may, or "
                 "change the line of engine/gpu in folders.txt"});
    CHECK(tree.problems("engine/gpu : engine/core\n").size() == 2); // both ends have no folder to belong to

    tree.write("engine/core/c.cpp", kInclude + "<QString>\n" + kInclude + "<fmt/format.h>\n");
    CHECK(tree.problems("* : fmt/\nengine/core :\nengine/gpu : engine/core\n") ==
          Problems{"engine/core/c.cpp:1: engine/core may not include QString. Move the code to a folder that may, or "
                   "change the line of engine/core in folders.txt"});
    CHECK(tree.problems("engine/core : Q* fmt/\nengine/gpu : engine/core\n") == Problems());
}

TEST_CASE("includes: an exception holds for one include, and must be needed", "[includes]") {
    const MadeUp tree;
    tree.write("app/lab/a.h", "#pragma once\n");
    tree.write("engine/core/b.cpp", kInclude + "\"app/lab/a.h\"\n");
    const std::string table = "app/lab :\nengine/core :\n";
    CHECK(tree.problems(table).size() == 1);
    CHECK(tree.problems(table + "except engine/core/b.cpp app/lab/a.h # for now\n") == Problems());
    CHECK_THROWS(tree.problems(table + "except engine/core/b.cpp app/lab/a.h\n")); // gives no reason
    tree.write("engine/core/b.cpp", "\n");
    CHECK(tree.problems(table + "except engine/core/b.cpp app/lab/a.h # for now\n") ==
          Problems{"folders.txt:3: engine/core/b.cpp does not include app/lab/a.h or needs no exception: remove this "
                   "line"});
}

TEST_CASE("includes: a header is followed through other headers", "[includes]") {
    const MadeUp tree;
    tree.write("engine/gpu/vulkan.h", "#pragma once\n" + kInclude + "<vulkan/vulkan.h>\n");
    tree.write("engine/gpu/context.h", "#pragma once\n" + kInclude + "\"engine/gpu/vulkan.h\"\n");
    tree.write("app/lab/window.cpp", "\n" + kInclude + "\"engine/gpu/context.h\"\n");
    const std::string table = "engine/gpu : vulkan/\napp/lab : engine/gpu\nreach vulkan/vulkan.h ";
    CHECK(tree.problems(table + ": app/lab\n") == Problems());
    CHECK(
        tree.problems(table + ": engine/gpu\n") ==
        Problems{"app/lab/window.cpp:2: vulkan/vulkan.h reaches this source through engine/gpu/context.h, "
                 "engine/gpu/vulkan.h. folders.txt keeps it out of app/lab: declare the types that a header only names "
                 "(class X;), and move bodies to a .cpp"});
    CHECK(tree.problems(table + "fewer-than 2 : app/lab\n") == Problems());
    CHECK(tree.problems(table + "fewer-than 1 : app/lab\n") ==
          Problems{"vulkan/vulkan.h reaches 1 sources. folders.txt allows fewer than 1, because it is slow to compile: "
                   "include it in .cpp files instead of headers"});
}

TEST_CASE("includes: calls of std::filesystem report errors by code, so that no unreadable folder throws",
          "[includes]") {
    CHECK(throwingFileCalls(fs::path(ATTN_SOURCE_DIR).lexically_normal()) == Problems());

    const MadeUp tree;
    tree.write("engine/core/a.cpp", "bool a = fs::exists(path(b), error) && fs::remove(c / d(e),\n    ignored);\n"
                                    "auto f = fs::is_symlink(fs::symlink_status(g, error));\n");
    CHECK(throwingFileCalls(tree.root()) == Problems());
    tree.write("app/lab/b.cpp", "\nif (std::filesystem::exists(a / b(c))) return;\n");
    tree.write("engine/core/a.cpp", "for (const auto& entry : fs::directory_iterator(folder, error)) use(entry);\n");
    CHECK(throwingFileCalls(tree.root()) ==
          Problems{"app/lab/b.cpp:2: exists throws if a folder cannot be read. Pass a std::error_code, called error or "
                   "ignored, as its last argument",
                   "engine/core/a.cpp:1: directory_iterator throws if a folder cannot be read. Use entriesOf of "
                   "engine/system/folder.h"});
}

TEST_CASE("includes: no code tells a part of attention by its id or a mask by its text", "[includes]") {
    CHECK(partsToldById(fs::path(ATTN_SOURCE_DIR).lexically_normal()) == Problems());

    const MadeUp tree;
    tree.write("engine/attention/heads/heads.cpp", "if (part.id == \"single\") one();\n");
    tree.write("app/lab/a.cpp", "if (spec.part(Slot::Output).hooks.empty()) x(); // part.id == \"plain\"\n");
    CHECK(partsToldById(tree.root()) == Problems());
    for (const char* leak : {"spec.parts.at(Slot::Output).id != \"plain\"", "part->id == \"plain\"",
                             "position.id == \"rope\"", "spec.id(Slot::Heads) == \"single\"",
                             "spec.mask.text() == \"causal\"", "spec.mask == MaskExpression::parse(\"causal\")"}) {
        INFO(leak);
        tree.write("app/lab/b.cpp", std::string("\nif (") + leak + ") x();\n");
        CHECK(
            partsToldById(tree.root()) ==
            Problems{"app/lab/b.cpp:2: this tells a part of attention by its id or a mask by its text. State the fact "
                     "in a field of Part, or ask MaskExpression::sight"});
    }
}

TEST_CASE("includes: one place spells the names of hooks and parameters", "[includes]") {
    CHECK(spelledBlockNames(fs::path(ATTN_SOURCE_DIR).lexically_normal()) == Problems());

    const MadeUp tree;
    tree.write("engine/models/hook_names.cpp", "return fmt::format(\"blocks.{}\", layer);\n");
    tree.write("app/lab/a.cpp", "x(\"layer\"); // \"blocks.3\"\n");
    CHECK(spelledBlockNames(tree.root()) == Problems());
    tree.write("app/lab/b.cpp", "\nuse(\"blocks.\" + number);\n");
    CHECK(spelledBlockNames(tree.root()) ==
          Problems{"app/lab/b.cpp:2: this spells the name of a block. Use inBlock or attentionHook of "
                   "engine/models/hook_names.h"});
}

TEST_CASE("includes: no text of a file is read as markup", "[includes]") {
    CHECK(guessedMarkup(fs::path(ATTN_SOURCE_DIR).lexically_normal()) == Problems());

    const MadeUp tree;
    tree.write("app/lab/widgets/widget_makers.h", "auto* label = new QLabel(parent);\n");
    tree.write("app/lab/a.cpp", "auto* label = plainLabel(text); // not new QLabel\n");
    tree.write("app/lab/b.h", "class B : public QLabel {\n    B() { setTextFormat(Qt::PlainText); }\n};\n");
    CHECK(guessedMarkup(tree.root()) == Problems());
    for (const char* leak : {"new QLabel", "Qt::AutoText", "Qt::RichText", "setHtml(", "QMessageBox::critical("}) {
        INFO(leak);
        tree.write("app/lab/c.cpp", std::string("\nx = ") + leak + " text);\n");
        CHECK(guessedMarkup(tree.root()) ==
              Problems{std::string("app/lab/c.cpp:2: ") + leak +
                       " may read a text of a file as markup. Make labels with plainLabel() of "
                       "app/lab/widgets/widget_makers.h, and ask for markup with readsMarkup()"});
    }
    tree.write("app/lab/c.cpp", "class C : public QLabel {\n};\n");
    CHECK(guessedMarkup(tree.root()) ==
          Problems{"app/lab/c.cpp: a kind of QLabel guesses whether a text is markup. Call "
                   "setTextFormat(Qt::PlainText) in its constructor"});
}

TEST_CASE("includes: every box says when it replaces a number", "[includes]") {
    CHECK(boxesOfQt(fs::path(ATTN_SOURCE_DIR).lexically_normal()) == Problems());
    const MadeUp tree;
    tree.write("app/lab/a.cpp", "auto* box = new QSpinBox;\nauto* other = new WholeBox;\n");
    CHECK(boxesOfQt(tree.root()).size() == 1);
}

TEST_CASE("includes: no text is put into a sentence before another argument", "[includes]") {
    CHECK(chainedTexts(fs::path(ATTN_SOURCE_DIR).lexically_normal()) == Problems());

    const MadeUp tree;
    tree.write("app/a.cpp", "tr(\"%1 %2\").arg(step).arg(count);\n"
                            "tr(\"%1 %2\").arg(labels[row])\n    .arg(row);\n"
                            "tr(\"%1 %2\").arg(value, 0, 'f', 2).arg(step);\n"
                            "tr(\"%1 %2 %3\").arg(first, second).arg(step);\n"
                            "tr(\"%1 %2\").arg(row).arg(labels[row]);\n");
    const Problems found = chainedTexts(tree.root());
    REQUIRE(found.size() == 2);
    CHECK(found.front().starts_with("app/a.cpp:2: the next arg() fills"));
    CHECK(found.back().starts_with("app/a.cpp:5: the next arg() fills"));
}

TEST_CASE("includes: no source has views that Clang 14 cannot read", "[includes]") {
    CHECK(viewsOfRanges(fs::path(ATTN_SOURCE_DIR).lexically_normal()) == Problems());

    const MadeUp tree;
    tree.write("engine/a.cpp", "std::ranges::sort(names);\nstd::views::iota(0, 3);\nstd::ranges::unique(names);\n");
    CHECK(
        viewsOfRanges(tree.root()) ==
        Problems{
            "engine/a.cpp:2: write a loop or std's own algorithm in place of std::views::, which Clang 14 cannot read",
            "engine/a.cpp:3: write a loop or std's own algorithm in place of std::ranges::unique, which Clang 14 "
            "cannot read"});
}

TEST_CASE("includes: comments, texts and documents use the glossary's words", "[includes]") {
    CHECK(forbiddenWords(fs::path(ATTN_SOURCE_DIR).lexically_normal()) == Problems());

    const MadeUp tree;
    tree.write("docs/glossary.md", "| word | meaning | do not say |\n|---|---|---|\n| **query** | a token | |\n"
                                   "| **checkpoint** | a step | point, *moment* (fine: a moment; of the moment) |\n"
                                   "| **change** | a difference | *by hand* |\n");
    tree.write("engine/a.cpp", "x(\"moment\"); // takes a moment: see moment_, x.moment and moment.h, also `moment`\n"
                               "moment = 1; // of the\n// moment\n");
    tree.write("docs/b.md", "At the `moment` [link](moment.md)\n```\nmoment\n```\n");
    tree.write("docs/decisions/0001-c.md", "this moment\n");
    CHECK(forbiddenWords(tree.root()) == Problems());

    const std::string moment = "\"moment\" is called checkpoint in docs/glossary.md. Use that word, or add this use to "
                               "the glossary",
                      changedRows =
                          "\"by hand\" is called change in docs/glossary.md. Use that word, or add this use to the "
                          "glossary";
    tree.write("engine/a.cpp", "int x; // no points\nint y; ///< two Moments of it\n/// set by\n/// hand.\n");
    tree.write("app/lab/d.cpp", "\ntr(\"Set it by \"\n   \"hand first\");\n");
    tree.write("assets/lessons/e.json", "{\"moment\": 0, \"text\": \"See this moment.\"}\n");
    tree.write("README.md", "# The moment\n");
    CHECK(forbiddenWords(tree.root()) == Problems{"app/lab/d.cpp:2: " + changedRows, "engine/a.cpp:2: " + moment,
                                                  "engine/a.cpp:3: " + changedRows,
                                                  "assets/lessons/e.json:1: " + moment, "README.md:1: " + moment});
}
