#include "engine/core/stop_point.h"
#include "engine/data/bpe_learner.h"
#include "engine/data/text_parts.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/tasks/readout_task.h"
#include "tests/training/tasks_test.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <random>

// Files whose lines and words are of unusual sizes. Where work grows with the square of a text, these tests take hours.

using namespace attn;
using attn::test::refuses;

namespace {

constexpr int kMany = 300'000;

class Written {
public:
    explicit Written(std::string_view bytes, const char* name = "text.txt") : path_(folder_ / name) {
        std::ofstream(path_, std::ios::binary) << bytes;
    }
    const std::filesystem::path& path() const { return path_; }

private:
    TemporaryFolder folder_;
    std::filesystem::path path_;
};

TaskSettings settingsOf(const std::filesystem::path& text, double context = 24) {
    return {.values = {{"context", context}, {"vocabulary", 200}}, .data = {.text = text}};
}

std::string repeated(std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

std::string lines(int count, const std::function<std::string(int)>& line) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line(i) + "\n";
    return text;
}

/// A line of a text in documents of four lines.
std::string sentence(int line) {
    return line % 5 == 0 ? std::string() : fmt::format("the {} of {} is here", line % 7, line);
}

/// What shorten() should leave, by its definition: each step looks at all tokens.
Encoding shortenedPlainly(Encoding encoding, const Tokenizer& tokenizer, size_t most) {
    while (encoding.ids.size() > most) {
        std::array<size_t, 2> counts{}, last{};
        for (size_t i = 0; i < encoding.ids.size(); ++i)
            if (!tokenizer.isSpecial(encoding.ids[i]) || encoding.ranges[i].begin < encoding.ranges[i].end) {
                ++counts.at(static_cast<size_t>(encoding.texts[i]));
                last.at(static_cast<size_t>(encoding.texts[i])) = i;
            }
        const size_t longer = counts[1] > counts[0] ? 1 : 0;
        if (counts.at(longer) == 0) break;
        const auto at = static_cast<std::ptrdiff_t>(last.at(longer));
        encoding.ids.erase(encoding.ids.begin() + at);
        encoding.ranges.erase(encoding.ranges.begin() + at);
        encoding.types.erase(encoding.types.begin() + at);
        encoding.texts.erase(encoding.texts.begin() + at);
    }
    return encoding;
}

std::unique_ptr<TaskInstance> opinions(const std::string& longText) {
    const Written file(lines(200, [](int i) { return fmt::format("{}\tit is {} of it", i % 2 ? "odd" : "even", i); }) +
                       "odd\t" + longText + "\n");
    return makeTask(taskNamed("classify"), settingsOf(file.path()));
}

/// A text for each task that reads one.
std::string textFor(std::string_view task) {
    if (task == "classify") return lines(400, [](int i) { return fmt::format("{}\tit is {}", i % 2, i); });
    if (task == "text-labels")
        return lines(400, [](int i) { return fmt::format("{}\tit is {}", i % 3 ? "a|b" : "b", i); });
    if (task == "text-numbers") return lines(400, [](int i) { return fmt::format("{}\tit is {}", i % 5, i); });
    if (task == "tag")
        return lines(400, [](int i) { return i % 9 == 0 ? std::string() : fmt::format("w{} {}", i, i % 2); });
    if (task == "answer") return lines(400, [](int i) { return fmt::format("who {}\t{} is here\tis", i, i); });
    if (task == "translation") return lines(400, [](int i) { return fmt::format("a {}\tb {}", i, i); });
    if (task == "text-to-text") return lines(400, [](int i) { return fmt::format("twice\ta {}\tb {}", i, i); });
    return lines(400, sentence);
}

} // namespace

TEST_CASE("hostile text: a pair is shortened as if its tokens were removed one by one", "[training]") {
    const auto task = opinions("it");
    const Tokenizer& tokenizer = task->tokenizer();
    for (const auto& [first, second] : {std::pair{9, 4}, {4, 9}, {7, 7}, {0, 12}, {12, 0}, {1, 1}}) {
        const Encoding pair = tokenizer.encodePair(repeated("it is ", first), repeated("of it ", second));
        for (size_t most = 0; most <= pair.ids.size() + 1; ++most) {
            CAPTURE(first, second, most);
            Encoding cut = pair;
            shorten(cut, tokenizer, most);
            CHECK(cut == shortenedPlainly(pair, tokenizer, most));
        }
    }
    for (const char* strange : {"жж ", "[UNK] ", "[SEP] "}) { // of the text, not around it
        CAPTURE(strange);
        const Encoding text = tokenizer.encode(repeated("it ", 20) + repeated(strange, 20));
        Encoding cut = text;
        shorten(cut, tokenizer, 24);
        CHECK(cut.ids.size() == 24);
        CHECK(std::equal(cut.ids.begin(), cut.ids.end() - 1, text.ids.begin())); // the beginning of the text
        CHECK(cut.ids.back() == text.ids.back());
    }
    Encoding pair = tokenizer.encodePair(repeated("it is ", kMany), repeated("of ", kMany));
    shorten(pair, tokenizer, 24);
    CHECK(pair.ids.size() == 24);
    CHECK(std::ranges::count(pair.texts, 1) > 9);
}

TEST_CASE("hostile text: a line or a word of megabytes costs what its bytes cost, in every task over a text",
          "[training]") {
    const std::string words = repeated("a b ", kMany), word = repeated("ab", kMany);
    const std::string ordinary = lines(300, sentence);
    for (const std::string& large : {words, word}) {
        CHECK(opinions(large)->contextLength() == 24);
        for (const char* id : {"masked-text", "permutation-lm", "next-sentence"}) {
            CAPTURE(id, large.size());
            const Written file(large + "\n" + ordinary + large + "\n" + ordinary);
            const auto task = makeTask(taskNamed(id), settingsOf(file.path()));
            for (uint64_t index = 0; index < 20; ++index) CHECK(task->batch(Split::Train, index, 16).rows == 16);
        }
        const Written tagged(large.substr(0, large.find(' ')) + " O\n" + lines(kMany, [](int i) {
                                 return i % 40 == 0 && i > kMany / 2 ? std::string()
                                                                     : fmt::format("w{} {}", i % 9, i % 2);
                             }));
        CHECK(makeTask(taskNamed("tag"), settingsOf(tagged.path()))->labels().size() == 3);
        for (const char* tokens : {"bpe:300", "chars"}) {
            TaskSettings settings{.values = {{"context", 16}}, .data = {.tokens = tokens}};
            const Written file(ordinary + large + ordinary);
            settings.data.text = file.path();
            CHECK(makeTask(taskNamed("text"), settings)->contextLength() == 16);
        }
    }
}

TEST_CASE("hostile text: a sample of pairs ends, and pairs that no context holds are left out", "[training]") {
    const std::string ordinary = lines(100, [](int i) { return fmt::format("a b c {}\tx y z {}", i, i); });
    const Written bomb(repeated("a ", 10'000'000) + "\t" + repeated("b ", 10'000'000) + "\n" + ordinary);
    const auto task = makeTask(taskNamed("translation"), {.data = {.text = bomb.path()}});
    CHECK(task->sourceLength() < 20);
    CHECK(task->batch(Split::Train, 0, 64).rows == 64);
    // 100 pairs that are drawn 4,000 times: more than 4 MiB of them teach nothing new.
    const std::string wide = repeated("x1 y2 z3 ", 1000);
    const Written heavy(lines(100, [&](int i) { return fmt::format("{}\t{}", i, i); }) +
                        lines(100, [&](int i) { return fmt::format("{}{}\t{}", wide, i, wide); }));
    CHECK(makeTask(taskNamed("translation"), {.data = {.text = heavy.path()}})->sourceLength() < 60);
    const Written tooLong(lines(100, [&](int i) { return fmt::format("{}{}\t{}", wide, i, i); }));
    CHECK(refuses(
        [&] {
            makeTask(taskNamed("translation"), {.values = {{"merges", 0}}, .data = {.text = tooLong.path()}});
        },
        "hardly any pair of the text fits into 48 tokens; choose a longer context"));
    const Written one(repeated("a ", 100'000) + "\tb\n");
    CHECK(refuses([&] { makeTask(taskNamed("translation"), {.data = {.text = one.path()}}); }, "hardly any pair"));
}

TEST_CASE("hostile text: questions that share a long passage do not copy or read it for each of them", "[training]") {
    const auto passage = [](int number) {
        return fmt::format("in {} lived {} of {}", number, number % 13, repeated("the village ", 5'000));
    };
    std::string squad = R"({"data": [{"paragraphs": [)";
    for (int at = 0; at < 60; ++at) {
        squad += fmt::format(R"({}{{"context": "é{}", "qas": [)", at == 0 ? "" : ",", passage(at));
        for (int i = 0; i < 200; ++i)
            squad +=
                fmt::format(R"({}{{"question": "where {}", "answers": [{{"text": "lived", "answer_start": {}}}]}})",
                            i == 0 ? "" : ",", i, fmt::format("éin {} ", at).size() - 1);
        squad += "]}";
    }
    const Written file(squad + "]}]}");
    const auto task = makeTask(taskNamed("answer"), settingsOf(file.path(), 64));
    const Example example = task->example(Split::Validation, 0);
    std::string said;
    for (const std::string& piece : task->answerTexts(example, example.answer))
        said += piece.starts_with("##") ? piece.substr(2) : piece;
    CHECK_THAT(said, CONTAINS("lived"));

    // The search for an answer that almost fits everywhere.
    const std::string letters = repeated("a", 300'000);
    const Written lettersFile("q\t" + repeated("a", 900'000) + "b\t" + letters + "b\n" +
                              lines(100, [](int i) { return fmt::format("who {}\t{} is here\tis", i, i); }));
    CHECK(makeTask(taskNamed("answer"), settingsOf(lettersFile.path()))->labels().size() == 2);
}

TEST_CASE("hostile text: parts of a text end between words, and give all of it", "[training]") {
    std::mt19937 random(7);
    std::string text;
    while (text.size() < 3'000'000)
        text += random() % 5 == 0 ? " " : random() % 9 == 0 ? "\u3000" : random() % 2 == 0 ? "é" : "x";
    text += std::string(2'500'000, 'y') + " end";
    std::string all;
    int parts = 0;
    forEachPart(text, [&](std::string_view part) {
        CHECK(part.size() <= size_t{1} << 20);
        CHECK((static_cast<unsigned char>(part.front()) & 0xC0) != 0x80);
        if (parts++ == 1) CHECK((part.front() == ' ' || part.starts_with("\u3000")));
        all += part;
    });
    CHECK(all == text);
    CHECK(parts >= 6);
    CHECK(firstBytes("aé", 2) == "a");
    CHECK(firstBytes("aé", 3) == "aé");
    CHECK(beginningOf(std::string(10'000, 'x'), 3).size() == 3 * kMostBytesPerToken);
}

TEST_CASE("hostile text: work on a text can be stopped in every task that reads one", "[training]") {
    struct Ended {};
    for (const Task* task : taskCatalogue()) {
        if (!task->readsText) continue;
        CAPTURE(task->id);
        const Written file(textFor(task->id));
        TaskSettings settings{.data = {.text = file.path(), .tokens = task->splitsText ? "bpe:50" : "chars"}};
        int asked = 0;
        settings.data.stopPoint.throwIfStopped = [&] { ++asked; };
        try {
            makeTask(*task, settings);
        } catch (const Error&) { // some need a longer text: that is said behind the work on it
        }
        CHECK(asked > 1);
        settings.data.stopPoint.throwIfStopped = [&] {
            if (--asked == 0) throw Ended{};
        };
        CHECK_THROWS_AS(makeTask(*task, settings), Ended);
    }
}

TEST_CASE("hostile text: a byte order mark and the line ends of other systems change nothing that a task reads",
          "[training]") {
    for (const Task* task : taskCatalogue()) {
        if (!task->readsText) continue;
        CAPTURE(task->id);
        const auto read = [&](const std::string& text) -> std::unique_ptr<TaskInstance> {
            const Written file(text);
            return makeTask(*task, {.values = task->segments ? decltype(TaskSettings::values){}
                                                             : decltype(TaskSettings::values){{"context", 16}},
                                    .data = {.text = file.path()}});
        };
        std::string text = textFor(task->id), windows = "\xEF\xBB\xBF", old;
        if (task->segments) text = repeated(text, 20);
        for (const char letter : text) {
            windows += letter == '\n' ? "\r\n" : std::string(1, letter);
            old += letter == '\n' ? '\r' : letter;
        }
        const auto plain = read(text);
        for (const std::string& other : {windows, old}) {
            const auto same = read(other);
            CHECK(same->tokenizerJson() == plain->tokenizerJson());
            CHECK(same->batch(Split::Train, 0, 4) == plain->batch(Split::Train, 0, 4));
        }
    }
}

TEST_CASE("hostile text: the names of columns are no example", "[training]") {
    for (const auto& [id, header] : {std::pair{"classify", "label\ttext"},
                                     {"classify", "Sentiment\tSentence"},
                                     {"answer", "question\tcontext\tanswer"},
                                     {"translation", "source\ttarget"},
                                     {"text-to-text", "task\tinput\toutput"},
                                     {"tag", "word\ttag"}}) {
        const auto refused = [task = id](const std::string& text, const char* says) {
            const Written file(text);
            return refuses([&] { makeTask(taskNamed(task), {.data = {.text = file.path()}}); }, says);
        };
        CHECK(refused(fmt::format("{}\n{}", header, textFor(id)), "line 1 holds the names of columns"));
        CHECK(refused(fmt::format("\n \t\r\n{}\n{}", header, textFor(id)), "line 3 holds the names of columns"));
    }
    // One known name of a label is enough where no other line has it.
    const auto classify = [](const std::string& text) {
        const Written file(text);
        return refuses([&] { makeTask(taskNamed("classify"), {.data = {.text = file.path()}}); },
                       "holds the names of columns");
    };
    for (const char* header : {"sentiment\tphrase\n", "phrase\tLabel\n"}) CHECK(classify(header + textFor("classify")));
    CHECK_FALSE(classify("tag\ta phrase\ntag\tanother\n" + textFor("classify")));
}

TEST_CASE("hostile text: bytes that are not UTF-8 are refused with their line before any work", "[training]") {
    const Written broken("good\tnice\nbad\tawf\xF0");
    for (const char* id : {"classify", "text-labels", "text-numbers", "tag", "answer", "next-sentence", "masked-text",
                           "permutation-lm", "cpc"})
        CHECK(refuses([&] { makeTask(taskNamed(id), {.data = {.text = broken.path()}}); }, "line 2 is not UTF-8"));
}

TEST_CASE("hostile text: a word without an end gives the merges of counting again", "[training]") {
    const std::vector<MergePair> merges = learnBpe(std::string(1'000'000, 'a'), 30);
    REQUIRE(merges.size() == 9); // aa, aaaa ... up to 512 bytes
    CHECK(merges.back().first == std::string(256, 'a'));
    std::mt19937 random(3);
    std::string word;
    for (int i = 0; i < 1'500'000; ++i) word += static_cast<char>('a' + random() % 26);
    CHECK(learnBpe(word, 20'000).size() == 20'000);
    CHECK(learnWordPieces({{word, 1}}, 20'000).size() == 20'000);
}
