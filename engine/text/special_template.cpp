#include "engine/text/special_template.h"

#include "engine/core/quoting.h"
#include "engine/text/json_node.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

using Piece = SpecialTemplate::Piece;

constexpr size_t kMostSpecials = 1024; // around a text; known templates have three
constexpr const char* kTooMany = "puts more than 1024 tokens around a text";
constexpr size_t kMostTypes = 1 << 16;

int typeOf(const JsonNode& node) {
    const size_t type = node.size("type_id", 0);
    if (type >= kMostTypes) node.fail(fmt::format("has token type {}; at most {} are supported", type, kMostTypes));
    return static_cast<int>(type);
}

/// The pieces of a template's "single" or "pair", which contains each of `texts` texts once.
std::vector<Piece> piecesOf(const JsonNode& node, const char* field, int texts) {
    const auto specials = node.find("special_tokens");
    std::vector<Piece> pieces;
    std::vector<bool> isPlaced(static_cast<size_t>(texts));
    for (const JsonNode& item : node.at(field).items()) {
        if (const auto sequence = item.find("Sequence")) {
            const int text = sequence->text("id", "A") == "B" ? 1 : 0;
            if (text >= texts) item.fail("names the second text, but there is only one");
            if (isPlaced[static_cast<size_t>(text)])
                item.fail("repeats the text, which is not supported", "use a template with the text once");
            isPlaced[static_cast<size_t>(text)] = true;
            pieces.push_back({.token = {}, .text = text, .type = typeOf(*sequence)});
            continue;
        }
        const JsonNode token = item.at("SpecialToken");
        const std::string name = token.at("id").text();
        if (!specials || !specials->find(name))
            item.fail(fmt::format("names {}, which is not in special_tokens", printable(name)));
        for (const JsonNode& id : specials->at(name).at("ids").items())
            pieces.push_back({.token = id.tokenId(), .type = typeOf(token)});
        if (pieces.size() > kMostSpecials) node.fail(kTooMany);
    }
    if (!std::ranges::all_of(isPlaced, [](bool is) { return is; })) node.fail("has no place for the text");
    return pieces;
}

/// Puts the tokens of `inner` around the first text of `outer`.
void nest(std::vector<Piece>& outer, const std::vector<Piece>& inner) {
    const auto place = std::ranges::find_if(outer, [](const Piece& piece) { return !piece.token && piece.text == 0; });
    outer.insert(outer.erase(place), inner.begin(), inner.end());
}

/// BERT's and RoBERTa's processors: one token before and one after, as ["<s>", 0].
int pairedId(const JsonNode& node) {
    const std::vector<JsonNode> pair = node.items();
    if (pair.size() != 2) node.fail("is not a token and its id");
    return pair[1].tokenId();
}

/// Puts a template around the result of earlier templates.
void wrap(SpecialTemplate outer, const JsonNode& node, SpecialTemplate& result) {
    nest(outer.single, result.single);
    if (outer.single.size() > kMostSpecials) node.fail(kTooMany);
    result = std::move(outer);
}

void add(const JsonNode& node, int depth, SpecialTemplate& result) {
    const std::string type = node.type();
    if (type == "Sequence") {
        if (depth == 8) node.fail("is nested more than 8 deep");
        for (const JsonNode& item : node.at("processors").items()) add(item, depth + 1, result);
    } else if (type == "TemplateProcessing") {
        SpecialTemplate outer{.single = piecesOf(node, "single", 1)};
        if (const auto pair = node.find("pair"); pair && !pair->items().empty()) outer.pair = piecesOf(node, "pair", 2);
        wrap(std::move(outer), node, result);
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
        const bool isBert = type == "BertProcessing"; // RoBERTa has two separators and one token type
        const int begin = pairedId(node.at("cls")), end = pairedId(node.at("sep")), second = isBert ? 1 : 0;
        const Piece before{.token = begin}, after{.token = end};
        SpecialTemplate outer{.single = {before, {}, after}, .pair = {before, {}, after}};
        if (!isBert) outer.pair.push_back(after);
        outer.pair.push_back({.token = {}, .text = 1, .type = second});
        outer.pair.push_back({.token = end, .type = second});
        wrap(std::move(outer), node, result);
    } else if (type != "ByteLevel") { // which trims only offsets
        node.fail(fmt::format("is a post-processor of type {}, which is not supported", printable(type)),
                  "use a tokenizer with Sequence, TemplateProcessing, RobertaProcessing, BertProcessing or ByteLevel");
    }
}

} // namespace

SpecialTemplate SpecialTemplate::parse(const JsonNode& node) {
    SpecialTemplate result;
    add(node, 0, result);
    return result;
}

} // namespace attn
