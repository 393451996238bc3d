#include "engine/io/json_events.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {

void JsonEvents::refuse(const std::string& what, const std::string& hint) const {
    throw Error({.what = what, .where = file_, .hint = hint});
}

void JsonEvents::parse(std::string_view text) {
    if (text.empty()) refuse(subject_ + " is empty");
    if (isGitLfsPointer(text))
        refuse("this is a Git-LFS pointer, not the file itself",
               "run `git lfs pull` in the model's folder, or fetch the file itself");
    text_ = text;
    depth_ = 0;
    nlohmann::json::sax_parse(text, static_cast<nlohmann::json_sax<nlohmann::json>*>(this));
}

bool JsonEvents::give(nlohmann::json value) {
    onValue(std::move(value));
    return true;
}

bool JsonEvents::begin(bool isObject) {
    if (++depth_ > kDeepestJson) refuse(fmt::format("{} nests its JSON more than {} deep", subject_, kDeepestJson));
    onBegin(isObject);
    return true;
}

bool JsonEvents::end() {
    onEnd();
    --depth_;
    return true;
}

bool JsonEvents::key(string_t& value) {
    onKey(value);
    return true;
}

bool JsonEvents::parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    if (dynamic_cast<const nlohmann::json::parse_error*>(&error) == nullptr) // a number beyond what a double holds
        refuse(subject_ + " holds a number that is too large");
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const size_t lineBegin = before.rfind('\n') + 1; // npos + 1 is 0
    refuse(fmt::format("{} is not valid JSON at line {}, column {}", subject_,
                       firstLine_ + static_cast<size_t>(std::ranges::count(before, '\n')),
                       std::max<size_t>(1, before.size() - lineBegin)));
}

} // namespace attn
