#include "engine/text/json_node.h"

#include "engine/core/quoting.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attn {

namespace {

/// A value for an error message: a number itself, or the type of any other value.
std::string shown(const nlohmann::json& value) { return value.is_number() ? value.dump() : value.type_name(); }

} // namespace

void JsonNode::fail(const std::string& what, const std::string& hint) const {
    throw Error(
        {.what = path_.empty() ? what : fmt::format("{} {}", inQuotes(path_), what), .where = file_, .hint = hint});
}

JsonNode JsonNode::child(const nlohmann::json& value, const std::string& key) const {
    return {value, file_, path_.empty() ? key : path_ + "." + key};
}

const nlohmann::json& JsonNode::object() const {
    if (!value_.is_object()) fail(fmt::format("is {}, not an object", value_.type_name()));
    return value_;
}

std::optional<JsonNode> JsonNode::find(const std::string& key) const {
    const auto found = object().find(key);
    if (found == value_.end() || found->is_null()) return std::nullopt;
    return child(*found, key);
}

JsonNode JsonNode::at(const std::string& key) const {
    if (const auto node = find(key)) return *node;
    fail(path_.empty() ? fmt::format("{} is missing", inQuotes(key)) : fmt::format("lacks {}", inQuotes(key)));
}

std::vector<JsonNode> JsonNode::items() const {
    if (!value_.is_array()) fail(fmt::format("is {}, not a list", value_.type_name()));
    std::vector<JsonNode> nodes;
    nodes.reserve(value_.size());
    for (size_t i = 0; i < value_.size(); ++i) nodes.push_back({value_[i], file_, fmt::format("{}[{}]", path_, i)});
    return nodes;
}

std::vector<std::pair<std::string_view, int>> JsonNode::vocabulary(uint64_t limit) const {
    std::vector<std::pair<std::string_view, int>> entries;
    entries.reserve(object().size());
    for (const auto& [token, id] : object().items()) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() >= limit)
            fail(fmt::format("gives token {} the id {}, not a whole number from 0 to {}", inQuotes(token), shown(id),
                             limit - 1));
        entries.emplace_back(token, id.get<int>());
    }
    return entries;
}

bool JsonNode::isText() const { return value_.is_string(); }
bool JsonNode::isList() const { return value_.is_array(); }
bool JsonNode::isZero() const { return value_ == 0; }

std::string JsonNode::text() const {
    if (!value_.is_string()) fail(fmt::format("is {}, not text", value_.type_name()));
    return value_.get<std::string>();
}

std::string JsonNode::text(const std::string& key, const std::string& fallback) const {
    const auto node = find(key);
    return node ? node->text() : fallback;
}

double JsonNode::number() const {
    if (!value_.is_number()) fail(fmt::format("is {}, not a number", value_.type_name()));
    return value_.get<double>();
}

int JsonNode::tokenId() const {
    if (!value_.is_number_unsigned() || value_.get<uint64_t>() >= uint64_t{1} << 24)
        fail(fmt::format("is {}, not a token id", shown(value_)));
    return value_.get<int>();
}

bool JsonNode::flag(const std::string& key, bool fallback) const {
    const auto node = find(key);
    if (!node) return fallback;
    if (!node->value_.is_boolean()) node->fail(fmt::format("is {}, not true or false", node->value_.type_name()));
    return node->value_.get<bool>();
}

size_t JsonNode::size(const std::string& key, size_t fallback) const {
    const auto node = find(key);
    if (!node) return fallback;
    if (!node->value_.is_number_unsigned())
        node->fail(fmt::format("is {}, not a whole number from 0", shown(node->value_)));
    return node->value_.get<size_t>();
}

} // namespace attn
