#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

// The names of hooks, parameters and states. A name is a path: the block, the site in it, and what the site computes.
// Only these functions join the parts.
// @source Nanda and Bloom 2022, TransformerLens, for the names of hooks

/// The stack of a model whose only stream needs no name.
inline constexpr std::string_view kOnlyStack = "blocks";

/// "ln_final", or "decoder.ln_final" of a stack with a name of its own.
std::string inStack(std::string_view stack, std::string_view name);

/// "blocks.3", or "decoder.3" in a model with an encoder and a decoder.
std::string blockName(int64_t layer, std::string_view stack = "blocks");

/// The attention of a block, or the mechanism in its place: "blocks.3.attn".
std::string siteName(int64_t layer);

/// The layer of a site's name: 3 of "blocks.3.attn". @return nothing if this is no such name
std::optional<int> layerOfSite(const std::string& site);

/// "blocks.3.hook_resid_pre" from "hook_resid_pre", and "blocks.3.attn.W_Q" from "attn.W_Q"
std::string inBlock(int64_t layer, std::string_view name);

/// The names that every block has, for capture: "blocks.*.attn.hook_pattern" from "attn.hook_pattern".
std::string inEveryBlock(std::string_view name);

/// A hook of a site: "blocks.3.attn.hook_pattern" from "pattern".
std::string attentionHook(int64_t layer, std::string_view hook);

/// A name split at its block: "blocks.3.attn.W_Q" has layer 3 and rest "attn.W_Q". A name that begins otherwise has
/// layer -1 and is its own rest.
struct NameInBlock {
    int layer = -1;
    std::string rest;
};
NameInBlock splitName(const std::string& name, std::string_view prefix = "blocks.");

} // namespace attn
