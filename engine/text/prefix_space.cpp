#include "engine/text/prefix_space.h"

#include "engine/core/quoting.h"
#include "engine/text/tokenizer_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace attn {
namespace {

using nlohmann::json;

/// The parts of a text that get a space before them. The text is cut into parts at its added tokens.
enum class Prefix { None, First, Each };

constexpr const char* kSign = "\u2581"; // stands for a space in SentencePiece's tokens

/// Finds the steps of a type in a part of tokenizer.json, also those in sequences.
void findSteps(json& step, const char* list, const std::string& type, std::vector<json*>& found) {
    if (!step.is_object()) return;
    if (const auto steps = step.find(list); steps != step.end() && steps->is_array()) {
        for (json& each : *steps) findSteps(each, list, type, found);
    } else if (step.value("type", json()) == type) {
        found.push_back(&step);
    }
}

std::vector<json*> stepsOf(json& document, const char* part, const char* list, const std::string& type) {
    std::vector<json*> found;
    if (const auto whole = document.find(part); whole != document.end()) findSteps(*whole, list, type, found);
    return found;
}

/// The SentencePiece style of a tokenizer.json: it writes a sign for each space. None if it has another.
std::optional<Prefix> signedPrefix(json& document) {
    for (const json* step : stepsOf(document, "normalizer", "normalizers", "Prepend"))
        if (step->value("prepend", json()) == kSign) return Prefix::Each;
    for (const json* step : stepsOf(document, "pre_tokenizer", "pretokenizers", "Metaspace")) {
        const json scheme = step->value("prepend_scheme", json("always"));
        if (step->value("add_prefix_space", json(true)) == false || scheme == "never") return Prefix::None;
        return scheme == "first" ? Prefix::First : Prefix::Each;
    }
    for (const json* step : stepsOf(document, "normalizer", "normalizers", "Replace"))
        if (step->value("content", json()) == kSign) return Prefix::None;
    return std::nullopt;
}

bool addsSpace(json& document) {
    if (const auto prefix = signedPrefix(document)) return *prefix != Prefix::None;
    return std::ranges::any_of(stepsOf(document, "pre_tokenizer", "pretokenizers", "ByteLevel"),
                               [](const json* step) { return step->value("add_prefix_space", json(true)) == true; });
}

/// Writes the steps around the vocabulary as LlamaTokenizer does when it makes them itself.
/// @source transformers 4.45, convert_slow_tokenizer.py, LlamaConverter
void writeLlama(json& document, Prefix prefix, bool isLegacy) {
    const bool adds = prefix != Prefix::None;
    json normalizers = json::array(), decoders = json::array();
    if (adds) normalizers.push_back({{"type", "Prepend"}, {"prepend", kSign}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSign}});
    decoders.push_back({{"type", "Replace"}, {"pattern", {{"String", kSign}}}, {"content", " "}});
    decoders.push_back({{"type", "ByteFallback"}});
    decoders.push_back({{"type", "Fuse"}});
    if (adds) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1U}, {"stop", 0U}});
    document["normalizer"] = document["pre_tokenizer"] = nullptr;
    if (isLegacy)
        document["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
    else
        document["pre_tokenizer"] = {{"type", "Metaspace"},
                                     {"replacement", kSign},
                                     {"prepend_scheme", adds ? "first" : "never"},
                                     {"split", false}};
    document["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
}

/// Does the same for other SentencePiece tokenizers: one step takes the place of all that cut the text.
/// @source as above, SpmConverter
void writeMetaspace(json& document, Prefix prefix) {
    const char* scheme = prefix == Prefix::None ? "never" : prefix == Prefix::First ? "first" : "always";
    document["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", kSign}, {"prepend_scheme", scheme}};
    for (json* step : stepsOf(document, "decoder", "decoders", "Metaspace")) {
        step->erase("add_prefix_space");
        (*step)["prepend_scheme"] = scheme;
    }
}

/// Byte-level tokenizers: a class omits the space unless tokenizer_config.json asks for it or the class begins with it;
/// LlamaTokenizer alone leaves it to tokenizer.json.
/// @source transformers 4.45, tokenization_utils_fast.py, PreTrainedTokenizerFast.__init__, and the classes' own files
void followByteLevel(json& document, const TokenizerFiles& files) {
    const auto pre = document.find("pre_tokenizer");
    if (pre == document.end() || !pre->is_object() || pre->value("type", json()) != "ByteLevel") return;
    constexpr std::array<std::string_view, 2> kBeginWithSpace{"BlenderbotTokenizer", "LayoutLMv3Tokenizer"};
    const std::string& name = files.className();
    const bool decides = !name.empty() && name != "LlamaTokenizer";
    if (decides || files.config().find("add_prefix_space"))
        (*pre)["add_prefix_space"] =
            files.config().flag("add_prefix_space", std::ranges::count(kBeginWithSpace, name) > 0);
}

std::string nameOf(const TokenizerFiles& files) {
    return files.className().empty() ? "its class" : printable(files.className());
}

} // namespace

std::string prefixSpaceWarning(const TokenizerFiles& files, bool adds, const std::string& source) {
    constexpr const char* kField = "add_prefix_space";
    if (files.config().flag(kField, adds) == adds) return {};
    return fmt::format("tokenizer_config.json says \"{}\": {}, which {} does not obey: {} puts {} space before a text",
                       kField, !adds, nameOf(files), source, adds ? "a" : "no");
}

void followPrefixSpace(json& document, const TokenizerFiles& files, std::vector<std::string>& warnings) {
    followByteLevel(document, files);
    const JsonNode config = files.config();
    const bool saysSpace = config.find("add_prefix_space").has_value();
    const std::string& name = files.className();
    const bool isLlama = name == "LlamaTokenizer", isT5 = name == "T5Tokenizer" || name == "MT5Tokenizer";
    // These two make their steps again if the first field is there. Alone, "legacy" changes nothing in the reference
    // either: it reads tokenizer.json as it is.
    if (const auto now = signedPrefix(document); now && saysSpace && (isLlama || isT5)) {
        const bool isLegacy = config.flag("legacy", *now != Prefix::First);
        const Prefix wanted = !config.flag("add_prefix_space", true) ? Prefix::None
                              : isLegacy                             ? Prefix::Each
                                                                     : Prefix::First;
        if (wanted != *now && isLlama)
            writeLlama(document, wanted, isLegacy);
        else if (wanted != *now)
            writeMetaspace(document, wanted);
    }
    if (files.kind(true) == TokenizerFiles::Kind::Bert) return; // a space before a text changes none of its words
    if (const std::string warning = prefixSpaceWarning(files, addsSpace(document), "tokenizer.json"); !warning.empty())
        warnings.push_back(warning);
}

} // namespace attn
