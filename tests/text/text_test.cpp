#include "tests/text/text_test.h"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace attn::test {
namespace {

using nlohmann::json;

std::vector<ByteRange> rangesOf(const json& numbers) {
    std::vector<ByteRange> ranges;
    for (size_t i = 0; i + 1 < numbers.size(); i += 2) ranges.push_back({numbers[i], numbers[i + 1]});
    return ranges;
}

TextGolden goldenOf(const json& entry, const json& file) {
    json tokenizer = entry.at("tokenizer");
    tokenizer["model"] = file.at("models").at(tokenizer.at("model").get<size_t>());
    TextGolden golden{.name = entry.at("name"), .tokenizer = tokenizer.dump(), .texts = {}, .shuffled = {}};
    const std::vector<std::string> texts = file.at("texts");
    for (size_t i = 0; i < texts.size(); ++i) {
        const std::string key = std::to_string(i), decoded = entry.at("decoded").value(key, texts[i]);
        golden.texts.push_back(
            {.text = texts[i],
             .ids = entry.at("ids").at(i),
             .decoded = decoded,
             .decodedWhole = entry.at("decodedWhole").value(key, decoded),
             .ranges = entry.contains("ranges") ? rangesOf(entry["ranges"].at(i)) : std::vector<ByteRange>()});
    }
    for (const json& list : entry.at("shuffled"))
        golden.shuffled.emplace_back(list.at("ids").get<std::vector<int>>(), list.at("text"));
    constexpr size_t kFirstPair = 2; // the pairs are the texts from here on, each with the next
    for (const json& pair : entry.value("pairs", json::array())) {
        const size_t first = kFirstPair + golden.pairs.size();
        golden.pairs.push_back({texts[first], texts[first + 1], pair.at("ids"), pair.at("types")});
    }
    if (entry.contains("config")) {
        golden.config = entry["config"].dump();
        for (const json& token : file.at("vocabulary")) golden.vocabulary += token.get<std::string>() + "\n";
    }
    return golden;
}

} // namespace

const std::vector<TextGolden>& textGoldens() {
    static const std::vector<TextGolden> goldens = [] {
        std::vector<TextGolden> all;
        for (const char* name : {"goldens.json", "word_pieces.json", "unigrams.json", "parts.json"}) {
            const json file = json::parse(std::ifstream(std::string(ATTN_TEST_DIR "/golden/text/") + name));
            for (const json& entry : file.at("cases")) all.push_back(goldenOf(entry, file));
        }
        return all;
    }();
    return goldens;
}

std::vector<TextGolden::Text> sentencePieceGoldens(const std::string& name) {
    static const json file = json::parse(std::ifstream(ATTN_TEST_DIR "/golden/text/sentence_pieces/expected.json"));
    const std::vector<std::string> texts = file.at("texts");
    const json decoded = file.at("decoded").value(name, json::object());
    std::vector<TextGolden::Text> goldens;
    for (size_t i = 0; i < texts.size(); ++i)
        goldens.push_back({.text = texts[i],
                           .ids = file.at(name).at(i),
                           .decoded = decoded.value(std::to_string(i), ""),
                           .decodedWhole = {}});
    return goldens;
}

const TextGolden& goldenCase(const std::string& name) {
    for (const TextGolden& golden : textGoldens())
        if (golden.name == name) return golden;
    throw std::runtime_error("there is no golden tokenizer " + name);
}

std::string goldenTokenizerWith(const std::string& name, const std::string& part, const std::string& json) {
    nlohmann::json tokenizer = nlohmann::json::parse(goldenCase(name).tokenizer);
    tokenizer[part] = nlohmann::json::parse(json);
    return tokenizer.dump();
}

} // namespace attn::test
