#include "engine/training/run_data.h"

#include "engine/io/content_hash.h"
#include "engine/io/decode_image.h"
#include "engine/io/input_file.h"
#include "engine/training/run.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/io/files.h"
#include "tests/training/short_runs.h"

#include <fmt/format.h>

using namespace attn;
using namespace attn::test;

namespace {

Recipe smallRecipe(std::string_view task, DataSettings data, std::map<std::string, double, std::less<>> values) {
    Recipe recipe = suggestedRecipe(taskNamed(task));
    recipe.settings = {.values = std::move(values), .seed = 1, .data = std::move(data)};
    recipe.architecture.layers = 1;
    recipe.architecture.heads = 2;
    recipe.architecture.width = 16;
    recipe.batch = 4;
    return recipe;
}

void writeGrey(const fs::path& path, uint8_t grey) {
    writePpm(path, {.height = 8, .width = 8, .rgb = std::vector<uint8_t>(size_t{8} * 8 * 3, grey)});
}

/// A run that keeps the hashes of its data, and what it says of the data as it is now.
class Kept {
public:
    explicit Kept(Recipe recipe) : recipe_(std::move(recipe)) { keepHashes(folder_.path(), now()); }
    std::vector<RunData> now() const { return dataOf(Trainer(recipe_, onOneThread())); }
    fs::path hashes() const { return folder_.path() / "data.sha256"; }
    std::string refusal() const {
        return sentenceOf([&] { requireKept(folder_.path(), now()); });
    }

private:
    TemporaryFolder folder_;
    Recipe recipe_;
};

} // namespace

TEST_CASE("training: a run continues only on the data that it began with", "[training][gpu]") {
    const TemporaryFolder folder;
    const fs::path text = folder / "text.txt", run = folder / "run";
    std::string lines;
    for (int i = 0; i < 200; ++i) lines += fmt::format("{} is a number\n", i);
    writeFile(text, lines);
    const Recipe recipe = smallRecipe("text", {.text = text}, {{"context", 8}});
    {
        TrainingRun begun(run, recipe, onOneThread(), false);
        begun.advance();
        begun.save();
    }
    const auto continued = [&] {
        return sentenceOf([&] { TrainingRun(run, readRecipe(run / "recipe.json"), onOneThread(), true); });
    };
    CHECK(continued() == "accepted");
    std::swap(lines[0], lines[1]); // the same characters, of which the vocabulary consists
    writeFile(text, lines);
    CHECK_THAT(continued(), CONTAINS("text.txt: has changed since the training run began: its hash begins with ") &&
                                CONTAINS("start another training run with --from and the folder of this one"));
    fs::remove(run / "data.sha256"); // as in a run of an older version
    CHECK(continued() == "accepted");
    std::swap(lines[0], lines[1]);
    writeFile(text, lines);
    CHECK_THAT(continued(), CONTAINS("text.txt: has changed"));
    // What the checkpoint cannot learn from is no data of the run.
    fs::remove(run / "data.sha256");
    writeFile(text, lines + "\n~ is a letter of its own\n");
    CHECK(continued() != "accepted");
    writeFile(text, lines);
    CHECK(continued() == "accepted");
}

TEST_CASE("training: hashes of data that are damaged, or of other data, are named", "[training][gpu]") {
    const TemporaryFolder folder;
    std::string lines;
    for (int i = 0; i < 200; ++i) lines += fmt::format("{} is a number\n", i);
    writeFile(folder / "text.txt", lines);
    const Kept run(smallRecipe("text", {.text = folder / "text.txt"}, {{"context", 16}}));
    CHECK(run.refusal() == "accepted");
    const std::string kept = readTextFile(run.hashes(), 1 << 10), hash = kept.substr(kept.find(' ') + 1, 64);
    CHECK(kept == "text " + sha256(std::as_bytes(std::span(lines))) + "\n");
    for (const std::string& damaged : {std::string(), std::string("text"), std::string("text 12ab\n"),
                                       kept.substr(0, 30), std::string(100'000, 'x')}) {
        writeFile(run.hashes(), damaged);
        CHECK_THAT(run.refusal(), CONTAINS("data.sha256: is damaged") && CONTAINS("remove it to continue"));
    }
    writeFile(run.hashes(), kept + "translation " + hash + "\n");
    CHECK_THAT(run.refusal(), CONTAINS("\"translation\", that recipe.json no longer names"));
    writeFile(run.hashes(), "data " + hash + "\n");
    CHECK_THAT(run.refusal(), CONTAINS("no longer names"));
    writeFile(run.hashes(), kept);
    CHECK(run.refusal() == "accepted");
}

TEST_CASE("training: both files of a translation are data of a run, also with the same name", "[training][gpu]") {
    const TemporaryFolder folder;
    std::string source, target;
    for (int i = 0; i < 100; ++i) {
        source += fmt::format("the house {}\n", i);
        target += fmt::format("das Haus {}\n", i);
    }
    for (const char* language : {"en", "de"}) fs::create_directory(folder / language);
    const fs::path text = folder / "en/text", translation = folder / "de/text";
    writeFile(text, source);
    writeFile(translation, target);
    const Kept run(
        smallRecipe("translation", {.text = text, .translation = translation}, {{"merges", 20}, {"context", 32}}));
    REQUIRE(run.now().size() == 2);
    CHECK(run.refusal() == "accepted");
    writeFile(translation, "Das" + target.substr(3));
    CHECK_THAT(run.refusal(), CONTAINS("de/text: has changed"));
    writeFile(translation, target);
    CHECK(run.refusal() == "accepted");
    writeFile(text, "The" + source.substr(3));
    CHECK_THAT(run.refusal(), CONTAINS("en/text: has changed"));
}

TEST_CASE("training: the pictures of a folder are data of a run, and no other file in it is", "[training][gpu]") {
    const TemporaryFolder folder;
    for (const char* name : {"cat", "dog"}) {
        fs::create_directory(folder / name);
        for (int i = 0; i < 60; ++i)
            writeGrey(folder / fmt::format("{}/{}.ppm", name, i), static_cast<uint8_t>(*name == 'c' ? i : 200));
    }
    const Kept run(smallRecipe("images", {.pictures = folder.path()}, {{"size", 8}}));
    REQUIRE(run.now().size() == 1);
    writeFile(folder / "notes.txt", "nothing reads this");
    CHECK(run.refusal() == "accepted");
    fs::rename(folder / "cat/3.ppm", folder / "other");
    fs::rename(folder / "dog/3.ppm", folder / "cat/3.ppm");
    fs::rename(folder / "other", folder / "dog/3.ppm");
    CHECK_THAT(run.refusal(), CONTAINS(folder.path().string() + ": has changed"));
}

TEST_CASE("training: the labels of pictures are data of a run, and the pictures that they name", "[training][gpu]") {
    const TemporaryFolder folder;
    std::string table = "file_name,labels\n";
    for (int i = 0; i < 120; ++i) {
        writeGrey(folder / fmt::format("{}.ppm", i), static_cast<uint8_t>(i));
        table += fmt::format("{}.ppm,{}\n", i, i % 2 == 0 ? "dark" : "bright");
    }
    writeFile(folder / "metadata.csv", table);
    const Kept run(smallRecipe("picture-labels", {.pictures = folder.path()}, {{"size", 8}}));
    REQUIRE(run.now().size() == 1);
    CHECK(run.refusal() == "accepted");
    writeGrey(folder / "7.ppm", 200);
    CHECK_THAT(run.refusal(), CONTAINS(folder.path().string() + ": has changed"));
    writeGrey(folder / "7.ppm", 7);
    CHECK(run.refusal() == "accepted");
    writeFile(folder / "metadata.csv", table + "7.ppm,dark\n");
    CHECK_THAT(run.refusal(), CONTAINS(folder.path().string() + ": has changed"));
}
