#pragma once

#include <string>

namespace attn {

/// How tables, titles and sentences name a head: "L2 H3". Where hooks are named it is "blocks.2.attn", head 3.
/// @param site as ModelStructure::labelOf() gives it
inline std::string headName(const std::string& site, int head) { return site + " H" + std::to_string(head); }
inline std::string headName(int layer, int head) { return headName("L" + std::to_string(layer), head); }

} // namespace attn
