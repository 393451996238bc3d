#include "engine/data/bpe_learner.h"
#include "engine/data/gettext_catalogue.h"
#include "engine/data/labelled_rows.h"
#include "engine/data/parallel_text.h"
#include "engine/data/translation_memory.h"
#include "engine/io/decode_image.h"
#include "engine/io/json_file.h"
#include "engine/io/picture_count.h"
#include "engine/io/safetensors.h"
#include "engine/io/tensor_writer.h"
#include "engine/io/weight_source.h"
#include "engine/text/tokenizer.h"
#include "engine/training/metrics.h"
#include "tests/fuzz/folder.h"
#include "tests/support/catch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

// Reading a file of twice as many entries must cost about twice the work. Time depends on the machine, so this counts
// the bytes that a reader allocates: the same in every run. It finds copies of what grows (a text that is cut at its
// beginning, a list that is copied for each entry, an index that is made again); it does not find loops that only look.

namespace {

std::atomic<int64_t> allocated = 0; // bytes, since the program began

} // namespace

void* operator new(std::size_t size) {
    allocated += static_cast<int64_t>(size);
    if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}
/// A sanitizer has one of its own otherwise, which does not go with free().
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
    return operator new(size);
} catch (const std::bad_alloc&) {
    return nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace attn;

/// The bytes that an action allocates.
template <class Action> int64_t workOf(const Action& action) {
    const int64_t before = allocated;
    action();
    return allocated - before;
}

/// Checks that the work grows at most in proportion to the entries. @param read reads so many; once before, because
/// libraries keep what they need
template <class Read> void checkProportional(const char* name, const Read& read) {
    INFO(name);
    constexpr int kEntries = 2000;
    read(kEntries)();
    std::array<int64_t, 3> work{};
    for (size_t i = 0; i < work.size(); ++i) work[i] = workOf(read(kEntries << i));
    INFO(fmt::format("{} bytes, then {}, then {}", work[0], work[1], work[2]));
    // In proportion, the second step is twice the first; tables that double make it up to three times. Squares: four.
    CHECK(work[2] - work[1] <= 3 * std::max<int64_t>(work[1] - work[0], 1 << 12));
}

/// A text for each entry, one after another.
template <class Entry> std::string manyOf(int count, const Entry& entry) {
    std::string text;
    for (int i = 0; i < count; ++i) text += entry(i);
    return text;
}

std::string lineOf(int i) { return fmt::format("the word {} of {}", i, i * 7919 % 1009); }

/// A reader of a file in a folder.
template <class Use> auto reads(const fuzz::Folder& folder, const char* file, std::string bytes, Use use) {
    const std::filesystem::path path = folder.write(file, bytes);
    return [path, use] { use(path); };
}

/// A field of a protocol buffer.
std::string fieldOf(int number, const std::string& bytes) {
    std::string field{static_cast<char>(number << 3 | 2)};
    for (size_t rest = bytes.size(); true; rest >>= 7) {
        field += static_cast<char>(rest > 127 ? (rest & 127) | 128 : rest);
        if (rest <= 127) break;
    }
    return field + bytes;
}

nlohmann::json tokenizerWith(const nlohmann::json& model) {
    return {{"version", "1.0"},
            {"added_tokens", nlohmann::json::array()},
            {"normalizer", nullptr},
            {"pre_tokenizer", nullptr},
            {"post_processor", nullptr},
            {"decoder", nullptr},
            {"model", model}};
}

} // namespace

TEST_CASE("work: JSON and the headers of weights cost in proportion to their entries", "[fuzz][work]") {
    checkProportional("a JSON list", [](int count) {
        return [text = "[" + manyOf(count, [](int i) { return fmt::format("\"{}\",", lineOf(i)); }) + "0]"] {
            parseJson(text, "list.json");
        };
    });
    checkProportional("a JSON object with repeated keys", [](int count) {
        return [text = "{" + manyOf(count, [](int i) { return fmt::format("\"{}\": {},", lineOf(i / 2), i); }) +
                       "\"\": 0}"] {
            std::vector<std::string> repeated;
            parseJson(text, "object.json", &repeated);
        };
    });
    checkProportional("a header of safetensors", [](int count) {
        std::string header =
            "{" + manyOf(count, [](int i) {
                return fmt::format(
                    "\"layers.{}.weight\": {{\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [{}, {}]}},", i, i,
                    i + 1);
            });
        header.back() = '}';
        std::string file(8, '\0');
        const uint64_t length = header.size();
        std::memcpy(file.data(), &length, 8);
        file += header;
        return [file, size = file.size() + static_cast<size_t>(count)] {
            CHECK(parseSafetensorsHeader(std::as_bytes(std::span(file)), size, "model.safetensors").tensors.size() > 0);
        };
    });
    checkProportional("an index of weights", [](int count) {
        static const fuzz::Folder folder;
        const std::vector<float> values{1};
        std::vector<std::string> names;
        for (int i = 0; i < count; ++i) names.push_back(fmt::format("layers.{}.weight", i));
        std::vector<WrittenTensor> tensors;
        for (const std::string& name : names) tensors.push_back({.name = name, .shape = {1}, .values = values});
        folder.write("config.json", "{}");
        writeSafetensors(folder.path() / "a.safetensors", tensors);
        nlohmann::json map;
        for (const std::string& name : names) map[name] = "a.safetensors";
        return reads(folder, "model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump(),
                     [](const auto& path) { CHECK_FALSE(WeightSource(path.parent_path()).names().empty()); });
    });
}

TEST_CASE("work: tokenizers cost in proportion to their tokens, and to the text", "[fuzz][work]") {
    const auto ofJson = [](const char* name, const auto& model) {
        checkProportional(name, [&](int count) {
            return [text = tokenizerWith(model(count)).dump()] { Tokenizer::fromJson(text); };
        });
    };
    const auto vocabulary = [](int count) {
        nlohmann::json all{{"a", 0}, {"b", 1}, {"[UNK]", 2}};
        for (int i = 0; i < count; ++i) all[fmt::format("ab{}", i)] = i + 3;
        return all;
    };
    ofJson("a BPE", [&](int count) {
        nlohmann::json all{{"a", 0}}, merges = nlohmann::json::array();
        for (int i = 1; i <= 9; ++i) all[std::to_string(i)] = i;
        all["0"] = 10;
        std::vector<std::string> longer{"1", "2", "3", "4", "5", "6", "7", "8", "9"};
        for (size_t at = 0; std::ssize(merges) < count; ++at)
            for (const char* digit : {"0", "1", "2", "3"}) {
                merges.push_back(longer[at] + " " + digit);
                longer.push_back(longer[at] + digit);
                all[longer.back()] = all.size();
            }
        return nlohmann::json{{"type", "BPE"}, {"vocab", all}, {"merges", merges}};
    });
    ofJson("a WordPiece", [&](int count) {
        return nlohmann::json{{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", vocabulary(count)}};
    });
    ofJson("a WordLevel", [&](int count) {
        return nlohmann::json{{"type", "WordLevel"}, {"unk_token", "[UNK]"}, {"vocab", vocabulary(count)}};
    });
    ofJson("a Unigram", [&](int count) {
        nlohmann::json pieces = nlohmann::json::array({nlohmann::json::array({"<unk>", 0})});
        for (int i = 0; i < count; ++i) pieces.push_back({fmt::format("ab{}", i), -i});
        return nlohmann::json{{"type", "Unigram"}, {"unk_id", 0}, {"vocab", pieces}};
    });
    checkProportional("added tokens", [&](int count) {
        nlohmann::json json = tokenizerWith({{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", vocabulary(1)}});
        for (int i = 0; i < count; ++i)
            json["added_tokens"].push_back(
                {{"id", i + 4}, {"content", fmt::format("<extra {}>", i)}, {"special", true}});
        return [text = json.dump()] { Tokenizer::fromJson(text); };
    });
    static const fuzz::Folder bert, gpt2, t5;
    bert.write("config.json", R"({"model_type": "bert"})");
    checkProportional("vocab.txt", [&](int count) {
        return reads(bert, "vocab.txt",
                     "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" +
                         manyOf(count, [](int i) { return fmt::format("ab{}\n", i); }),
                     [](const auto& path) { CHECK(Tokenizer::ofFolder(path.parent_path())); });
    });
    gpt2.write("config.json", R"({"model_type": "gpt2"})");
    checkProportional("vocab.json with merges.txt", [&](int count) {
        nlohmann::json all{{"a", 0}, {"b", 1}, {"aa", 2}};
        std::string merges = "#version: 0.2\na a\n", longest = "aa";
        std::vector<std::string> words{"a", "b"};
        for (size_t at = 0; std::ssize(all) < count; ++at)
            for (const char* letter : {"a", "b"}) {
                const std::string word = words[at] + letter;
                if (word != "aa") merges += words[at] + " " + letter + "\n";
                words.push_back(word);
                all.emplace(word, all.size());
            }
        gpt2.write("vocab.json", all.dump());
        return reads(gpt2, "merges.txt", merges,
                     [](const auto& path) { CHECK(Tokenizer::ofFolder(path.parent_path())); });
    });
    t5.write("config.json", R"({"model_type": "t5"})");
    checkProportional("a model of SentencePiece", [&](int count) {
        const std::string pieces = fieldOf(1, fieldOf(1, "<unk>") + std::string{3 << 3, 2}) +
                                   fieldOf(1, fieldOf(1, "</s>") + std::string{3 << 3, 3}) +
                                   manyOf(count, [](int i) { return fieldOf(1, fieldOf(1, fmt::format("ab{}", i))); });
        return reads(t5, "spiece.model", pieces,
                     [](const auto& path) { CHECK(Tokenizer::ofFolder(path.parent_path())); });
    });
    const Tokenizer words = Tokenizer::fromJson(
        tokenizerWith({{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}).dump());
    checkProportional("a text without spaces", [&](int count) {
        return [&words, text = manyOf(count, [](int i) { return std::string(i % 3 == 0 ? "ab" : "ba"); })] {
            CHECK_FALSE(words.encode(text).ids.empty());
        };
    });
    checkProportional("a text that merges are learned from", [&](int count) {
        return [text = manyOf(count, [](int i) { return lineOf(i) + "\n"; })] { learnBpe(text, 20); };
    });
}

TEST_CASE("work: tables, translations, metrics and pictures cost in proportion to their entries", "[fuzz][work]") {
    static const fuzz::Folder folder;
    const auto rowsOf = [](const auto& path) {
        CHECK_FALSE(readLabelledRows(path, {"good", "bad"}, LabelKind::Several, false).empty());
    };
    checkProportional("a CSV of labels", [&](int count) {
        return reads(folder, "rows.csv",
                     "text,labels\n" +
                         manyOf(count, [](int i) { return fmt::format("\"{}, \"\"so\"\"\",good|bad\n", lineOf(i)); }),
                     rowsOf);
    });
    checkProportional("a JSONL of labels", [&](int count) {
        return reads(
            folder, "rows.jsonl",
            manyOf(count,
                   [](int i) { return fmt::format("{{\"text\": \"{}\", \"labels\": [\"good\"]}}\n", lineOf(i)); }),
            rowsOf);
    });
    const auto pairsOf = [](const auto& path) { CHECK_FALSE(readPairs(path, {}, "en-de").empty()); };
    checkProportional("a text with its translation", [&](int count) {
        return reads(folder, "pairs.tsv",
                     manyOf(count, [](int i) { return fmt::format("{}\tdas Wort {}\n", lineOf(i), i); }), pairsOf);
    });
    checkProportional("a PO catalogue", [&](int count) {
        return reads(
            folder, "pairs.po",
            "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\n" +
                manyOf(count,
                       [](int i) { return fmt::format("msgid \"{}\"\nmsgstr \"das Wort {}\"\n\n", lineOf(i), i); }),
            pairsOf);
    });
    checkProportional("a translation memory", [&](int count) {
        return reads(folder, "pairs.tmx",
                     "<tmx version=\"1.4\"><header/><body>" +
                         manyOf(count,
                                [](int i) {
                                    return fmt::format(
                                        "<tu><tuv xml:lang=\"en\"><seg>{}</seg></tuv><tuv xml:lang=\"de\"><seg>das "
                                        "Wort {}</seg></tuv></tu>",
                                        lineOf(i), i);
                                }) +
                         "</body></tmx>",
                     pairsOf);
    });
    checkProportional("the metrics of a run", [&](int count) {
        return reads(folder, "metrics.jsonl",
                     manyOf(count, [](int i) { return fmt::format("{{\"step\": {}, \"loss\": 1.5}}\n", i + 1); }),
                     [](const auto& path) { CHECK_FALSE(readMetrics(path.parent_path()).points.empty()); });
    });
    checkProportional("the rows of a picture", [&](int count) {
        return reads(folder, "picture.ppm",
                     fmt::format("P6 16 {} 255\n", count) + std::string(static_cast<size_t>(count) * 48, 'a'),
                     [](const auto& path) { CHECK(decodeImage(path).width == 16); });
    });
    checkProportional("the pictures of a GIF", [&](int count) {
        const std::string frame("\x2c\0\0\0\0\1\0\1\0\0\x02\x02\x44\x01\0", 15);
        return [bytes = std::string("GIF89a\1\0\1\0\0\0\0", 13) + manyOf(count, [&](int) { return frame; }) + ";"] {
            CHECK(picturesIn(std::as_bytes(std::span(bytes))) > 1);
        };
    });
}
