#pragma once

#include <string>

namespace attn {

/// How tables, titles and sentences name a head: "L2 H3". Where hooks are named it is "blocks.2.attn", head 3.
inline std::string headName(int layer, int head) { return "L" + std::to_string(layer) + " H" + std::to_string(head); }

} // namespace attn
