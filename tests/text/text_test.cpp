#include "tests/text/text_test.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>

namespace attn::test {
namespace {

using nlohmann::json;

TextGolden goldenOf(const json& entry, const std::vector<std::string>& texts, const json& models) {
    json tokenizer = entry.at("tokenizer");
    tokenizer["model"] = models.at(tokenizer.at("model").get<size_t>());
    TextGolden golden{.name = entry.at("name"), .tokenizer = tokenizer.dump(), .texts = {}, .shuffled = {}};
    for (size_t i = 0; i < texts.size(); ++i) {
        const std::string key = std::to_string(i), decoded = entry.at("decoded").value(key, texts[i]);
        golden.texts.push_back({.text = texts[i],
                                .ids = entry.at("ids").at(i),
                                .decoded = decoded,
                                .decodedWhole = entry.at("decodedWhole").value(key, decoded)});
    }
    for (const json& list : entry.at("shuffled"))
        golden.shuffled.emplace_back(list.at("ids").get<std::vector<int>>(), list.at("text"));
    return golden;
}

} // namespace

const std::vector<TextGolden>& textGoldens() {
    static const std::vector<TextGolden> goldens = [] {
        const json file = json::parse(std::ifstream(ATTN_TEST_DIR "/golden/text/goldens.json"));
        std::vector<TextGolden> all;
        for (const json& entry : file.at("cases")) all.push_back(goldenOf(entry, file.at("texts"), file.at("models")));
        return all;
    }();
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
