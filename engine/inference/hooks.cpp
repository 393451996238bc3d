#include "engine/inference/hooks.h"

#include "engine/core/error.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attn {
namespace {

/// Whether a glob matches; `*` matches any text.
bool matches(std::string_view glob, std::string_view name) {
    const size_t star = glob.find('*');
    if (star == std::string_view::npos) return glob == name;
    if (name.substr(0, star) != glob.substr(0, star)) return false;
    for (size_t at = star; at <= name.size(); ++at)
        if (matches(glob.substr(star + 1), name.substr(at))) return true;
    return false;
}

std::vector<std::string> splitAtCommas(const std::string& text) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        std::string part = text.substr(begin, end - begin);
        while (!part.empty() && part.front() == ' ') part.erase(part.begin());
        while (!part.empty() && part.back() == ' ') part.pop_back();
        if (!part.empty()) parts.push_back(std::move(part));
        begin = end + 1;
    }
    return parts;
}

} // namespace

std::vector<std::string> matchHooks(const std::vector<std::string>& hooks, const std::string& globs,
                                    const std::string& where) {
    std::vector<std::string> result;
    for (const std::string& glob : splitAtCommas(globs)) {
        bool any = false;
        for (const std::string& hook : hooks) {
            if (!matches(glob, hook)) continue;
            any = true;
            if (std::ranges::find(result, hook) == result.end()) result.push_back(hook);
        }
        if (any) continue;
        std::vector<std::string> kinds; // each kind of hook once, with * for the layer
        for (std::string hook : hooks) {
            for (const std::string stack : {"blocks", "encoder", "decoder"})
                if (const auto [layer, rest] = splitName(hook, stack + "."); layer >= 0) hook = stack + ".*." + rest;
            if (std::ranges::find(kinds, hook) == kinds.end()) kinds.push_back(hook);
        }
        throw Error({.what = fmt::format("no hook matches \"{}\"", glob),
                     .where = where,
                     .hint = fmt::format("choose from {}", fmt::join(kinds, ", "))});
    }
    if (result.empty())
        throw Error(
            {.what = "no hooks are given", .where = where, .hint = "for example: blocks.*.attn.hook_pattern,logits"});
    std::ranges::sort(result, {},
                      [&](const std::string& name) { return std::ranges::find(hooks, name) - hooks.begin(); });
    return result;
}

} // namespace attn
