#include "engine/io/input_file.h"
#include "tests/io/files.h"
#include "tests/training/tasks_test.h"

#include <fstream>

using namespace attn;

namespace {

/// A text of 2,000 words, each of which occurs once: "a0 a1 a2 ...".
struct NumberedText {
    attn::test::TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "text.txt";

    NumberedText() {
        std::ofstream file(path);
        for (int i = 0; i < 2000; ++i) file << char('a' + i % 26) << i << (i % 9 == 8 ? "\n" : " ");
    }
    std::unique_ptr<TaskInstance> task(const char* id, std::map<std::string, double, std::less<>> values = {}) const {
        return makeTask(taskNamed(id), {.values = std::move(values), .seed = 2, .data = {.text = path}});
    }
};

size_t tokenCount(const std::vector<int32_t>& ids, int32_t token) {
    return static_cast<size_t>(std::ranges::count(ids, token));
}

} // namespace

TEST_CASE("span corruption: source and target together are the text, and sentinels stand in both", "[training]") {
    const NumberedText text;
    const auto task = text.task("span-corruption", {{"context", 40}, {"hidden", 0.25}, {"span", 2.5}});
    constexpr size_t kHidden = 10, kSpans = 4; // 0.25 of 40, in spans of 2.5
    const int32_t end = *task->tokenizer().endId(), first = end - static_cast<int32_t>(kSpans);
    CHECK(task->tokenizer().tokenText(first) == "<extra_id_0>");
    CHECK(task->sourceLength() == 40 - 10 + 4);
    CHECK(task->contextLength() == 10 + 4 + 1);
    const std::string whole = readTextFile(text.path, 1 << 20);
    for (const Split split : {Split::Train, Split::Validation})
        for (uint64_t index = 0; index < 20; ++index) {
            const Example example = task->example(split, index);
            REQUIRE(example.source.size() == static_cast<size_t>(task->sourceLength()));
            REQUIRE(example.answer.size() == kHidden + kSpans + 1);
            CHECK(example.answer.back() == end);
            std::vector<int> piece; // each sentinel of the source, replaced by what the target says after it
            for (const int32_t id : example.source) {
                if (id < first) {
                    piece.push_back(id);
                    continue;
                }
                CHECK(tokenCount(example.source, id) == 1);
                auto at = std::ranges::find(example.answer, id);
                REQUIRE(at != example.answer.end());
                for (++at; *at < first; ++at) piece.push_back(*at);
            }
            CHECK(piece.size() == 40);
            CHECK(whole.find(task->tokenizer().decode(piece, false)) != std::string::npos);
        }
    CHECK(task->example(Split::Train, 3) == task->example(Split::Train, 3));
    CHECK_FALSE(task->example(Split::Train, 3) == task->example(Split::Train, 4));
}

TEST_CASE("denoising: the target is the whole text, and each mask of the source hides a span of it", "[training]") {
    const NumberedText text;
    const auto task = text.task("denoising", {{"context", 32}, {"hidden", 0.3}, {"span", 3}});
    const int32_t end = *task->tokenizer().endId(), mask = end - 1;
    for (uint64_t index = 0; index < 20; ++index) {
        const Example example = task->example(Split::Validation, index);
        REQUIRE(example.answer.size() == 33);
        CHECK(tokenCount(example.source, mask) == 3);
        CHECK(example.source.size() == 32 - 10 + 3);
        // What is not hidden comes in the order of the target.
        auto at = example.answer.begin();
        for (const int32_t id : example.source) {
            if (id == mask) continue;
            at = std::find(at, example.answer.end(), id);
            REQUIRE(at != example.answer.end());
            ++at;
        }
    }
    CHECK(task->example(Split::Validation, *task->rowCount(Split::Validation)).answer.empty());
}

TEST_CASE("corrupted text: a text that is too short, or missing, is refused in a sentence", "[training]") {
    const NumberedText text;
    using attn::test::sentenceOf;
    CHECK(sentenceOf([&] { text.task("denoising", {{"context", 512}}); }) == "accepted");
    std::ofstream(text.path) << "too short";
    CHECK(sentenceOf([&] { text.task("span-corruption"); }).find("is too long for a text with") != std::string::npos);
    CHECK(sentenceOf([] { makeTask(taskNamed("denoising")); }).find("choose a UTF-8 text file") != std::string::npos);
}
