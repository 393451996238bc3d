#include "engine/io/json_file.h"

#include "engine/core/error.h"
#include "engine/io/input_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attn {
namespace {

constexpr int kDeepest = 64;

[[noreturn]] void refuse(const std::string& file, const std::string& what,
                         const std::string& hint = "fetch the file again") {
    throw Error({.what = what, .where = file, .hint = hint});
}

} // namespace

bool isGitLfsPointer(std::string_view text) { return text.starts_with("version https://git-lfs"); }

nlohmann::json parseJson(std::string_view text, const std::string& file, const std::string& subject,
                         const std::function<void(const std::string&)>& onKey) {
    if (text.empty()) refuse(file, subject + " is empty");
    if (isGitLfsPointer(text))
        refuse(file, "this is a Git-LFS pointer, not the file itself",
               "run `git lfs pull` in the model's folder, or fetch the file itself");
    const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
        if (depth > kDeepest) refuse(file, fmt::format("{} nests its JSON more than {} deep", subject, kDeepest));
        if (onKey && depth == 1 && event == nlohmann::json::parse_event_t::key)
            onKey(parsed.get_ref<const std::string&>());
        return true;
    };
    try {
        return nlohmann::json::parse(text, watch);
    } catch (const nlohmann::json::parse_error& error) {
        const std::string_view before = text.substr(0, std::min<size_t>(error.byte, text.size()));
        const size_t lineBegin = before.rfind('\n') + 1; // npos + 1 is 0
        refuse(file, fmt::format("{} is not valid JSON at line {}, column {}", subject,
                                 1 + std::ranges::count(before, '\n'), std::max<size_t>(1, before.size() - lineBegin)));
    } catch (const nlohmann::json::exception&) { // a number beyond what a double holds
        refuse(file, subject + " holds a number that is too large");
    }
}

nlohmann::json readJsonFile(const std::filesystem::path& path) { return parseJson(readTextFile(path), path.string()); }

std::string shownJson(const nlohmann::json& value) {
    constexpr size_t kMost = 60;
    std::string text = value.dump(-1, ' ', true); // escapes leave only ASCII, which can be cut anywhere
    if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
    return text;
}

} // namespace attn
