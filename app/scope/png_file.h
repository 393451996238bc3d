#pragma once

#include "app/scope/renderer.h"

#include <string>

namespace attn::scope {

/// Writes a screenshot as a PNG file.
/// @throws Error that names the file, if it cannot be written
void writePng(const std::string& path, const Screenshot& picture);

} // namespace attn::scope
