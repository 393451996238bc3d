#include "engine/session/mirror_protocol.h"

#include "engine/core/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attn {
namespace {

using Json = nlohmann::json;
constexpr size_t kQuoted = 80; // largest number of bytes of a line that an error repeats
constexpr int kMostSteps = 4096;

Error wrong(const std::string& what, const std::string& line) {
    return Error({.what = what,
                  .where = line.size() > kQuoted ? line.substr(0, kQuoted) + "…" : line,
                  .hint = "send one JSON object per line, such as {\"layer\": 1, \"head\": 0}"});
}

template <typename T>
void read(const Json& object, const char* name, std::optional<T>& field, bool (Json::*isRight)() const noexcept,
          const char* kind, const std::string& line) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return;
    if (!((*found).*isRight)()) throw wrong(fmt::format("\"{}\" must be {}", name, kind), line);
    field = found->get<T>();
}

template <typename T>
void readList(const Json& object, const char* name, std::optional<std::vector<T>>& field,
              bool (Json::*isRight)() const noexcept, const char* kind, const std::string& line) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return;
    if (!found->is_array() || !std::ranges::all_of(*found, isRight))
        throw wrong(fmt::format("\"{}\" must be {}", name, kind), line);
    field = found->template get<std::vector<T>>();
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
    put("promptLength", message.promptLength);
    if (message.step > 0) object["step"] = message.step;
    if (message.edits) object["edits"] = Json::parse(editsToJson(*message.edits));
    put("gates", message.gates);
    put("layer", message.layer);
    put("head", message.head);
    put("view", message.view);
    put("theme", message.theme);
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

MirrorMessage parseMirrorLine(const std::string& line) {
    const Json object = Json::parse(line, nullptr, false);
    if (object.is_discarded()) throw wrong("the line is not JSON", line);
    if (!object.is_object()) throw wrong("the line is not a JSON object", line);
    MirrorMessage message;
    read(object, "path", message.path, &Json::is_string, "text", line);
    read(object, "prompt", message.prompt, &Json::is_string, "text", line);
    readList(object, "tokens", message.tokens, &Json::is_number_integer, "a list of whole numbers", line);
    read(object, "promptLength", message.promptLength, &Json::is_number_integer, "a whole number", line);
    readList(object, "gates", message.gates, &Json::is_number, "a list of numbers", line);
    if (const auto edits = object.find("edits"); edits != object.end() && !edits->is_null())
        message.edits = editsFromJson(edits->dump());
    std::optional<int> step;
    read(object, "step", step, &Json::is_number_integer, "a whole number", line);
    message.step = step.value_or(0);
    if (message.step < 0 || message.step > kMostSteps)
        throw wrong(fmt::format("\"step\" must be from 0 to {}", kMostSteps), line);
    read(object, "layer", message.layer, &Json::is_number_integer, "a whole number", line);
    read(object, "head", message.head, &Json::is_number_integer, "a whole number", line);
    read(object, "view", message.view, &Json::is_string, "the name of a view", line);
    read(object, "theme", message.theme, &Json::is_string, "\"dark\" or \"light\"", line);
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
