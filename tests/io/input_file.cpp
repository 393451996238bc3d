#include "engine/io/input_file.h"

#include "engine/io/json_file.h"
#include "engine/io/weight_source.h"
#include "tests/io/files.h"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>

using namespace attn;
using namespace attn::test;

namespace {

/// A file that holds nothing but its size.
void makeSparse(const fs::path& path, uint64_t bytes) {
    writeFile(path, "");
    fs::resize_file(path, bytes);
}

} // namespace

TEST_CASE("input: a pipe, a folder or a device in the place of a file is refused at once", "[io]") {
    const TemporaryFolder folder;
    const fs::path pipe = folder / "config.json";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0); // nobody writes to it: opening it as a file would wait for ever
    CHECK_THAT(sentenceOf([&] { const InputFile file(pipe); }), CONTAINS("config.json: is not a file but a pipe"));
    CHECK_THAT(sentenceOf([&] { readJsonFile(pipe); }), CONTAINS("is not a file but a pipe"));
    CHECK_THAT(sentenceOf([&] { readTextFile(pipe, 100); }), CONTAINS("is not a file but a pipe"));
    CHECK_THAT(sentenceOf([&] { const WeightSource source(folder.path()); }), CONTAINS("is not a file but a pipe"));
    CHECK_THAT(sentenceOf([&] { const InputFile file(folder.path()); }), CONTAINS("is not a file but a folder"));
    CHECK_THAT(sentenceOf([&] { readTextFile("/dev/zero", 100); }), CONTAINS("is not a file but a device"));
    CHECK_THAT(sentenceOf([&] { readTextFile(folder / "nowhere", 100); }), CONTAINS("there is no such file"));
    fs::create_symlink(pipe, folder / "link");
    CHECK_THAT(sentenceOf([&] { const InputFile file(folder / "link"); }), CONTAINS("is not a file but a pipe"));
    writeFile(folder / "file", "text");
    CHECK(readTextFile(folder / "file", 4) == "text");
}

TEST_CASE("input: a file beyond the limit is refused before it is read", "[io]") {
    const TemporaryFolder folder;
    makeSparse(folder / "config.json", uint64_t{6} << 30);
    CHECK_THAT(sentenceOf([&] { readJsonFile(folder / "config.json"); }),
               CONTAINS("is too large; at most 64 MiB are read"));
    CHECK_THAT(sentenceOf([&] { const WeightSource source(folder.path()); }), CONTAINS("is too large"));
    writeFile(folder / "config.json", "{}");
    makeSparse(folder / "model.safetensors.index.json", uint64_t{6} << 30);
    CHECK_THAT(sentenceOf([&] { const WeightSource source(folder.path()); }), CONTAINS("is too large"));
    writeFile(folder / "five", "12345");
    CHECK_THAT(sentenceOf([&] { readGivenText(folder / "five", 4); }), CONTAINS("is too large"));
}

TEST_CASE("input: a text that a person names may come through a pipe, but not from one that nobody fills", "[io]") {
    const TemporaryFolder folder;
    writeFile(folder / "file", "some text");
    CHECK(readGivenText(folder / "file", 100) == "some text");
    CHECK(readGivenText("/dev/null", 100).empty());
    CHECK_THAT(sentenceOf([] { readGivenText("/dev/zero", 1 << 20); }), CONTAINS("at most 1 MiB"));
    CHECK_THAT(sentenceOf([&] { readGivenText(folder.path(), 100); }), CONTAINS("is not a file but a folder"));
    CHECK_THAT(sentenceOf([&] { readGivenText(folder / "nowhere", 100); }), CONTAINS("there is no such file"));
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    CHECK(readGivenText(folder / "pipe", 100).empty()); // and no waiting

    int ends[2] = {};
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) { // writes late, in two parts
        close(ends[0]);
        for (const char* part : {"first ", "second"}) {
            usleep(20'000);
            if (write(ends[1], part, 6) != 6) _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    CHECK(readGivenText("/dev/fd/" + std::to_string(ends[0]), 100) == "first second");
    close(ends[0]);
    waitpid(child, nullptr, 0);
}

TEST_CASE("json: nesting, repeated keys and the number of values have limits", "[io]") {
    const auto problem = [](const std::string& text) { return sentenceOf([&] { parseJson(text, "file.json"); }); };
    CHECK(problem(std::string(64, '[') + std::string(64, ']')) == "accepted");
    CHECK_THAT(problem(std::string(65, '[') + std::string(65, ']')), CONTAINS("more than 64 deep"));
    CHECK_THAT(problem(std::string(1 << 20, '[')), CONTAINS("more than 64 deep"));
    CHECK_THAT(problem(R"({"a":)" + std::string(1 << 20, '{')), CONTAINS("not valid JSON"));
    std::string many = "[0";
    for (size_t i = 1; i < kMostJsonValues; ++i) many += ",0";
    CHECK_THAT(problem(many + "]"), CONTAINS("holds more than 4194304 values"));
    CHECK(parseJson(R"({"a":1,"b":[{"c":null},[],true],"a":{"d":"\u00e9"}})", "file.json").dump() ==
          "{\"a\":{\"d\":\"\u00e9\"},\"b\":[{\"c\":null},[],true]}");
    CHECK(parseJson("-7", "file.json") == -7);
    CHECK(parseJson("[18446744073709551615, 1.5]", "file.json").dump() == "[18446744073709551615,1.5]");
    CHECK_THAT(problem("[1] 2"), CONTAINS("not valid JSON at line 1"));
}

TEST_CASE("input: a text that a person gives has no byte order mark", "[io]") {
    const TemporaryFolder folder;
    writeFile(folder / "marked", "\xEF\xBB\xBFtext \xEF\xBB\xBF");
    CHECK(readGivenText(folder / "marked", 100) == "text \xEF\xBB\xBF");
    CHECK(readTextFile(folder / "marked", 100).size() == 11);
}
