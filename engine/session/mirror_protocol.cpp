#include "engine/session/mirror_protocol.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/json_file.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <climits>
#include <cstdint>

namespace attn {
namespace {

using Json = nlohmann::json;
constexpr size_t kQuoted = 80; // largest number of bytes of a line that an error repeats
constexpr int kMostSteps = 4096;

Error wrong(const std::string& what, const std::string& line) {
    return Error({.what = what,
                  .where = printable(line, kQuoted),
                  .hint = "send one JSON object per line, such as {\"layer\": 1, \"head\": 0}"});
}

/// @param isRight of a value: whether it can become a T
template <typename T>
void read(const Json& object, const char* name, std::optional<T>& field, bool (*isRight)(const Json&), const char* kind,
          const std::string& line) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return;
    if (!isRight(*found)) throw wrong(fmt::format("\"{}\" must be {}", name, kind), line);
    field = found->get<T>();
}

bool isText(const Json& value) { return value.is_string(); }
bool isInt(const Json& value) {
    return value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT_MAX) &&
           value.get<int64_t>() >= INT_MIN && value.get<int64_t>() <= INT_MAX;
}
bool areInts(const Json& value) { return value.is_array() && std::ranges::all_of(value, isInt); }

Json parsed(const std::string& line) {
    try {
        return parseJson(line, "a message");
    } catch (const Error& error) {
        throw wrong(error.message(), line);
    }
}

} // namespace

std::string mirrorLine(const MirrorMessage& message) {
    Json object = Json::object();
    const auto put = [&](const char* name, const auto& field) {
        if (field) object[name] = *field;
    };
    put("path", message.path);
    put("prompt", message.prompt);
    put("tokens", message.tokens);
    put("types", message.types);
    put("tree", message.tree);
    put("promptLength", message.promptLength);
    if (message.step > 0) object["step"] = message.step;
    if (message.changes) object["changes"] = Json::parse(changesToJson(*message.changes));
    if (message.site) object["site"] = siteName(*message.site);
    put("head", message.head);
    put("view", message.view);
    put("theme", message.theme);
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

MirrorMessage parseMirrorLine(const std::string& line) {
    const Json object = parsed(line);
    if (!object.is_object()) throw wrong("the line is not a JSON object", line);
    MirrorMessage message;
    read(object, "path", message.path, isText, "text", line);
    read(object, "prompt", message.prompt, isText, "text", line);
    read(object, "tokens", message.tokens, areInts, "a list of whole numbers", line);
    read(object, "types", message.types, areInts, "a list of whole numbers", line);
    read(object, "tree", message.tree, areInts, "a list of whole numbers", line);
    read(object, "promptLength", message.promptLength, isInt, "a whole number", line);
    if (const auto changes = object.find("changes"); changes != object.end() && !changes->is_null())
        message.changes = changesFromJson(changes->dump(-1, ' ', false, Json::error_handler_t::replace));
    std::optional<int> step;
    read(object, "step", step, isInt, "a whole number", line);
    message.step = step.value_or(0);
    if (message.step < 0 || message.step > kMostSteps)
        throw wrong(fmt::format("\"step\" must be from 0 to {}", kMostSteps), line);
    std::optional<std::string> site;
    read(object, "site", site, isText, "the name of a site", line);
    if (site && !(message.site = layerOfSite(*site)))
        throw wrong(fmt::format("\"site\" must be like \"{}\"", siteName(3)), line);
    read(object, "head", message.head, isInt, "a whole number", line);
    read(object, "view", message.view, isText, "the name of a view", line);
    read(object, "theme", message.theme, isText, "\"dark\" or \"light\"", line);
    if (message.theme && *message.theme != "dark" && *message.theme != "light")
        throw wrong("\"theme\" must be \"dark\" or \"light\"", line);
    return message;
}

std::vector<std::string> MirrorReader::add(const std::string& bytes) {
    std::vector<std::string> lines;
    size_t from = 0;
    for (size_t end; (end = bytes.find('\n', from)) != std::string::npos; from = end + 1) {
        rest_.append(bytes, from, end - from);
        if (!isTooLong_ && rest_.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(rest_);
        rest_.clear();
        isTooLong_ = false;
    }
    if (!isTooLong_) rest_.append(bytes, from);
    if (rest_.size() > kLongestLine) {
        rest_.clear();
        isTooLong_ = true;
    }
    return lines;
}

} // namespace attn
