#include "engine/inference/hooks.h"

#include "engine/core/error.h"
#include "engine/core/globs.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attn {

std::vector<std::string> matchHooks(const std::vector<std::string>& hooks, const std::string& globs,
                                    const std::string& where) {
    std::vector<std::string> result;
    for (const std::string& glob : splitAtCommas(globs)) {
        bool any = false;
        for (const std::string& hook : hooks) {
            if (!matchesGlob(glob, hook)) continue;
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
