#include "engine/text/special_template.h"

#include "engine/core/quoting.h"
#include "engine/text/json_node.h"

#include <fmt/format.h>

namespace attn {
namespace {

constexpr size_t kMostSpecials = 1024; // around a text; known templates have three
constexpr const char* kTooMany = "puts more than 1024 tokens around a text";

void addTemplate(const JsonNode& node, SpecialTemplate& result) {
    const auto specials = node.find("special_tokens");
    std::vector<int> before, after;
    bool isBehindText = false;
    for (const JsonNode& item : node.at("single").items()) {
        if (item.find("Sequence")) {
            if (isBehindText)
                item.fail("repeats the text, which is not supported", "use a template with the text once");
            isBehindText = true;
            continue;
        }
        const std::string name = item.at("SpecialToken").at("id").text();
        if (!specials || !specials->find(name))
            item.fail(fmt::format("names {}, which is not in special_tokens", printable(name)));
        for (const JsonNode& id : specials->at(name).at("ids").items())
            (isBehindText ? after : before).push_back(id.tokenId());
        if (before.size() + after.size() > kMostSpecials) node.fail(kTooMany);
    }
    if (!isBehindText) node.fail("has no place for the text");
    result.before.insert(result.before.begin(), before.begin(), before.end());
    result.after.insert(result.after.end(), after.begin(), after.end());
    if (result.before.size() + result.after.size() > kMostSpecials) node.fail(kTooMany);
}

/// BERT's and RoBERTa's processors: one token before and one behind, as ["<s>", 0].
int pairedId(const JsonNode& node) {
    const std::vector<JsonNode> pair = node.items();
    if (pair.size() != 2) node.fail("is not a token and its id");
    return pair[1].tokenId();
}

void add(const JsonNode& node, int depth, SpecialTemplate& result) {
    const std::string type = node.type();
    if (type == "Sequence") {
        if (depth == 8) node.fail("is nested more than 8 deep");
        for (const JsonNode& item : node.at("processors").items()) add(item, depth + 1, result);
    } else if (type == "TemplateProcessing") {
        addTemplate(node, result);
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
        result.before.insert(result.before.begin(), pairedId(node.at("cls")));
        result.after.push_back(pairedId(node.at("sep")));
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
