#include "engine/data/translation_memory.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/refuse_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pugixml.hpp>

#include <algorithm>
#include <cctype>
#include <set>

namespace attn {
namespace {

/// "en-us" for "en_US".
std::string plainTag(std::string_view tag) {
    std::string plain(tag);
    for (char& letter : plain)
        letter = letter == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return plain;
}

bool isOf(std::string_view tag, std::string_view language) {
    return tag.starts_with(language) && (tag.size() == language.size() || tag[language.size()] == '-');
}

/// All text inside a segment. It does not recurse, so that deep tags cannot exhaust the stack.
std::string textOf(const pugi::xml_node& segment) {
    std::string text;
    for (pugi::xml_node node = segment.first_child(); node;) {
        if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) text += node.value();
        if (node.first_child()) {
            node = node.first_child();
            continue;
        }
        while (node != segment && !node.next_sibling()) node = node.parent();
        node = node == segment ? pugi::xml_node() : node.next_sibling();
    }
    return text;
}

/// @throws Error with the line that is not XML
void parse(pugi::xml_document& document, std::string_view bytes, const std::filesystem::path& path) {
    const pugi::xml_parse_result result =
        document.load_buffer(bytes.data(), bytes.size(), pugi::parse_default | pugi::parse_ws_pcdata,
                             isUtf16(bytes) ? pugi::encoding_auto : pugi::encoding_utf8);
    if (result) return;
    const auto before = bytes.substr(0, std::min(static_cast<size_t>(result.offset), bytes.size()));
    const std::string place = isUtf16(bytes) ? "" // pugixml counts bytes of its own UTF-8
                                             : fmt::format(" at line {}", 1 + std::ranges::count(before, '\n'));
    refuseFile(path, fmt::format("is not valid XML{} ({})", place, result.description()),
               "fetch the file again, or export it again as TMX 1.4");
}

} // namespace

bool isUtf16(std::string_view bytes) { return bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF"); }

std::vector<TextPair> readTranslationMemory(std::string_view bytes, const std::filesystem::path& path,
                                            const std::string& languages) {
    const size_t dash = languages.find('-');
    const std::string from = plainTag(languages.substr(0, dash));
    const std::string to = dash == std::string::npos ? std::string() : plainTag(languages.substr(dash + 1));
    if (from.empty() || to.empty())
        throw Error({.what = fmt::format("{} is not written as FROM-TO", inQuotes(languages)),
                     .where = "languages",
                     .hint = "write for example en-de"});
    pugi::xml_document document;
    parse(document, bytes, path);
    const pugi::xml_node body = document.child("tmx").child("body");
    if (!body)
        refuseFile(path, "is XML but not TMX: it has no body of a tmx element",
                   "choose a file that was exported as TMX");

    std::vector<TextPair> pairs;
    std::set<std::string> tags; // for an error
    for (const pugi::xml_node& unit : body.children("tu")) {
        pugi::xml_node source, target;
        for (const pugi::xml_node& variant : unit.children("tuv")) {
            const pugi::xml_attribute language = variant.attribute("xml:lang");
            const std::string tag = (language ? language : variant.attribute("lang")).value(); // the second in TMX 1.1
            if (!source && isOf(plainTag(tag), from))
                source = variant.child("seg");
            else if (!target && isOf(plainTag(tag), to))
                target = variant.child("seg");
            if (tags.size() < 10) tags.insert(tag.empty() ? "texts without a language" : printable(tag));
        }
        if (source && target) pairs.push_back({textOf(source), textOf(target)});
    }
    if (pairs.empty() && tags.empty()) refuseFile(path, "has no texts", "choose a TMX file with translations");
    if (pairs.empty())
        refuseFile(path, fmt::format("has no text in both {} and {}; it has {}", from, to, fmt::join(tags, ", ")),
                   "choose two languages of the file");
    return pairs;
}

} // namespace attn
