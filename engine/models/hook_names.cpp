#include "engine/models/hook_names.h"

#include <fmt/format.h>

#include <charconv>

namespace attn {

std::string inStack(std::string_view stack, std::string_view name) {
    return stack == kOnlyStack ? std::string(name) : fmt::format("{}.{}", stack, name);
}

std::string blockName(int64_t layer, std::string_view stack) { return fmt::format("{}.{}", stack, layer); }

std::string siteName(int64_t layer) { return inBlock(layer, "attn"); }

std::optional<int> layerOfSite(const std::string& site) {
    const auto [layer, rest] = splitName(site);
    return layer >= 0 && rest == "attn" ? std::optional(layer) : std::nullopt;
}

std::string inBlock(int64_t layer, std::string_view name) { return fmt::format("{}.{}", blockName(layer), name); }

std::string inEveryBlock(std::string_view name) { return fmt::format("blocks.*.{}", name); }

std::string attentionHook(int64_t layer, std::string_view hook) {
    return fmt::format("{}.hook_{}", siteName(layer), hook);
}

NameInBlock splitName(const std::string& name, std::string_view prefix) {
    if (!name.starts_with(prefix)) return {-1, name};
    const char *begin = name.data() + prefix.size(), *end = name.data() + name.size();
    int layer = -1;
    const auto [after, error] = std::from_chars(begin, end, layer);
    if (error != std::errc() || layer < 0 || (after != end && *after != '.')) return {-1, name};
    return {layer, after == end ? std::string() : std::string(after + 1, end)};
}

} // namespace attn
