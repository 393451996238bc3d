#pragma once

#include "app/scope/renderer.h"

#include <string>

namespace attn::scope {

/// @throws Error naming the file if it cannot be written
void writePng(const std::string& path, const Screenshot& picture);

} // namespace attn::scope
