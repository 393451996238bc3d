#include "engine/data/bpe_learner.h"
#include "engine/system/temporary_folder.h"
#include "tests/training/tasks_test.h"

#include <fmt/format.h>

#include <random>
#include <tuple>

using namespace attn;
using attn::test::refuses;

namespace {

/// A file that is gone with the test.
class TextFile {
public:
    explicit TextFile(std::string_view text) { std::ofstream(path(), std::ios::binary) << text; }
    std::filesystem::path path() const { return folder_ / "text.txt"; }

private:
    TemporaryFolder folder_;
};

std::unique_ptr<TaskInstance> textTask(const std::filesystem::path& path, const std::string& tokens, double context,
                                       uint64_t seed = 0) {
    return makeTask(taskNamed("text"),
                    {.values = {{"context", context}}, .seed = seed, .data = {.text = path, .tokens = tokens}});
}

/// Lines that are all different, with characters of one to four bytes.
std::string numberedLines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("line {} of the naïve café 世界 𝄞\n", i);
    return text;
}

size_t characterCount(std::string_view text) {
    return static_cast<size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

/// Merges found by counting every pair again each time.
std::vector<MergePair> learnPlainly(const std::vector<std::string>& words, int count) {
    std::map<std::string, int> ids;
    for (const unsigned char byte : gpt2Bytes()) ids.emplace(std::string(1, static_cast<char>(byte)), ids.size());
    std::vector<std::vector<std::string>> cut;
    for (const std::string& word : words) {
        cut.emplace_back();
        for (const char byte : word) cut.back().emplace_back(1, byte);
    }
    std::vector<MergePair> merges;
    while (static_cast<int>(merges.size()) < count) {
        std::map<std::pair<int, int>, int> counts;
        for (const auto& tokens : cut)
            for (size_t i = 0; i + 1 < tokens.size(); ++i) ++counts[{ids[tokens[i]], ids[tokens[i + 1]]}];
        std::pair<int, int> best;
        int most = 1;
        for (const auto& [pair, times] : counts)
            if (times > most) std::tie(best, most) = std::pair(pair, times);
        if (most < 2) break;
        const auto textOf = [&](int id) {
            return std::ranges::find_if(ids, [&](const auto& entry) { return entry.second == id; })->first;
        };
        merges.emplace_back(textOf(best.first), textOf(best.second));
        const auto& [left, right] = merges.back();
        ids.emplace(left + right, ids.size());
        for (auto& tokens : cut)
            for (size_t i = 0; i + 1 < tokens.size(); ++i)
                if (tokens[i] == left && tokens[i + 1] == right) {
                    tokens[i] += right;
                    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                }
    }
    return merges;
}

} // namespace

TEST_CASE("text: windows of every kind of tokens are pieces of their own part of the text", "[training]") {
    const std::string text = numberedLines(200);
    const TextFile file(text);
    for (const char* tokens : {"chars", "bytes", "bpe:40"}) {
        CAPTURE(tokens);
        const auto task = textTask(file.path(), tokens, 24);
        std::vector<int> ids;
        for (uint64_t row = 0; row < task->rowCount(Split::Validation).value(); ++row) {
            const Batch batch = task->batch(Split::Validation, row, 1);
            if (row == 0) ids.push_back(batch["inputs"][0]);
            for (const int32_t target : batch["targets"])
                if (target != Batch::kIgnored) ids.push_back(target);
        }
        // Side by side the windows are the last tenth, each token asked for once.
        const std::string rest = task->tokenizer().decode(ids, false);
        CHECK(text.ends_with(rest.substr(4))); // the first bytes may be the rest of a character
        const double share = static_cast<double>(characterCount(rest)) / static_cast<double>(characterCount(text));
        CHECK(share == Approx(0.1).margin(0.002));

        // No window reaches beyond the first nine tenths, and they come from everywhere in it.
        const std::string train = text.substr(0, text.size() - rest.size() + 8);
        double least = 1, most = 0;
        for (uint64_t index = 0; index < 50; ++index) {
            const Batch batch = task->batch(Split::Train, index, 2);
            for (size_t row = 0; row < 2; ++row) {
                std::vector<int> window(batch["inputs"].begin() + static_cast<std::ptrdiff_t>(row * 24),
                                        batch["inputs"].begin() + static_cast<std::ptrdiff_t>(row * 24 + 24));
                window.push_back(batch["targets"][row * 24 + 23]);
                std::string piece = task->tokenizer().decode(window, false);
                // Where the window cuts a character, decoding shows U+FFFD.
                while (piece.starts_with("\uFFFD")) piece.erase(0, 3);
                while (piece.ends_with("\uFFFD")) piece.erase(piece.size() - 3);
                const size_t at = train.find(piece);
                REQUIRE(at != std::string::npos);
                least = std::min(least, static_cast<double>(at) / static_cast<double>(train.size()));
                most = std::max(most, static_cast<double>(at) / static_cast<double>(train.size()));
            }
        }
        CHECK(least < 0.1);
        CHECK(most > 0.9);
    }
}

TEST_CASE("text: rows beyond the validation text ask nothing", "[training]") {
    const TextFile file(numberedLines(100));
    const auto task = textTask(file.path(), "chars", 16);
    const uint64_t count = task->rowCount(Split::Validation).value();
    const Batch last = task->batch(Split::Validation, count / 5, 5);
    for (uint64_t row = 0; row < 5; ++row) {
        const auto begin = last["targets"].begin() + static_cast<std::ptrdiff_t>(row * 16);
        CHECK((count / 5 * 5 + row < count) == (*begin != Batch::kIgnored));
    }
    CHECK_FALSE(task->rowCount(Split::Train).has_value());
    CHECK(task->batch(Split::Test, 0, 3) == task->batch(Split::Validation, 0, 3));
    CHECK(task->batch(Split::Train, 0, 3) == textTask(file.path(), "chars", 16)->batch(Split::Train, 0, 3));
    CHECK(task->batch(Split::Train, 0, 3) != textTask(file.path(), "chars", 16, 1)->batch(Split::Train, 0, 3));
    const Example example = task->example(Split::Validation, count * 3 + 1);
    CHECK(example == task->example(Split::Validation, 1));
    CHECK(example.prompt.size() + example.answer.size() == 17);
}

TEST_CASE("text: Shakespeare has nanoGPT's characters and parts", "[training]") {
    const std::filesystem::path path = ATTN_SHARED_DIR "/data/tinyshakespeare.txt";
    if (!std::filesystem::exists(path)) {
        WARN("skipped: " << path << " is absent");
        return;
    }
    const auto task = textTask(path, "chars", 64);
    CHECK(task->vocabularySize() == 65);
    CHECK(task->tokenizer().encode("hii there").ids == std::vector<int>{46, 47, 47, 1, 58, 46, 43, 56, 43}); // nanoGPT
    CHECK(task->rowCount(Split::Validation) == 1743); // 111,539 targets of the last 111,540 characters
    const std::vector<int32_t> first = task->batch(Split::Validation, 0, 1)["inputs"];
    CHECK(task->tokenizer().decode(std::vector<int>(first.begin(), first.begin() + 13), false) == "?\n\nGREMIO:\nGo");
}

TEST_CASE("text: the tokenizers reproduce any text they were made from", "[training]") {
    const std::string text = numberedLines(40);
    const TextFile file(text);
    for (const char* tokens : {"chars", "bytes", "bpe:100"}) {
        CAPTURE(tokens);
        const auto task = textTask(file.path(), tokens, 8);
        const Encoding encoding = task->tokenizer().encode(text);
        CHECK(task->tokenizer().decode(encoding.ids, false) == text);
        for (int id = 0; id < task->vocabularySize(); ++id) CHECK(task->tokenizer().token(id).has_value());
    }
    CHECK(textTask(file.path(), "bytes", 8)->vocabularySize() == 256);
    CHECK(textTask(file.path(), "bpe:20", 8)->vocabularySize() == 276);
}

TEST_CASE("text: wrong files and settings are refused in a sentence", "[training]") {
    const TextFile file(numberedLines(3)), broken("abc\xFF" + std::string(100, 'x')), empty("");
    CHECK(refuses([] { textTask("", "chars", 8); }, "needs a text"));
    CHECK(refuses([] { textTask("/nowhere/at/all.txt", "chars", 8); }, "there is no such file"));
    CHECK(refuses([] { textTask(std::filesystem::temp_directory_path(), "chars", 8); }, "is not a file"));
    CHECK(refuses([&] { textTask(broken.path(), "chars", 8); }, "byte 3 is not UTF-8"));
    CHECK(refuses([&] { textTask(broken.path(), "bpe:3", 8); }, "byte 3 is not UTF-8"));
    CHECK(textTask(broken.path(), "bytes", 8)->vocabularySize() == 256);
    CHECK(refuses([&] { textTask(empty.path(), "chars", 8); }, "text.txt: the file is empty"));
    CHECK(refuses([&] { textTask(file.path(), "chars", 1000); }, "1000 is too long"));
    for (const char* tokens : {"words", "", "bpe:", "bpe:0", "bpe:-3", "bpe:3x", "bpe:99999", "bpe:99999999999999"}) {
        CAPTURE(tokens);
        CHECK(refuses([&] { textTask(file.path(), tokens, 8); }, "chars, bytes, or bpe:N"));
    }
}

TEST_CASE("bpe: merges are those of counting every pair again", "[training]") {
    const std::vector<std::string> words{"low",    " low",   " lower", " newest", " newest", " widest",
                                         " wide",  " aaaa",  " aaaaa", " abab",   " naïve",  " naïve",
                                         " world", " words", " aab",   " baa",    " low"};
    std::string text;
    for (const std::string& word : words) text += word;
    CHECK(learnBpe(text, 100) == learnPlainly(words, 100));
    CHECK(learnBpe(text, 7).size() == 7);
    CHECK(learnBpe("", 7).empty());
    CHECK(learnBpe("abcdef", 7).empty());
    CHECK(learnBpe("ab ab", 7) == std::vector<MergePair>{{"a", "b"}});
    for (const unsigned seed : {1U, 2U, 3U}) { // words of two letters, in which pairs overlap
        std::mt19937 random(seed);
        std::vector<std::string> drawn;
        std::string joined;
        for (int i = 0; i < 60; ++i) {
            drawn.emplace_back(i == 0 ? "" : " ");
            for (unsigned length = 1 + random() % 40; length > 0; --length)
                drawn.back() += random() % 3 == 0 ? 'b' : 'a';
            joined += drawn.back();
        }
        CHECK(learnBpe(joined, 200) == learnPlainly(drawn, 200));
    }
}
