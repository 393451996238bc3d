#pragma once

#include "app/cli/command.h"

namespace attn::cli {

/// Measures how the time of each part grows from 512 to 4,096 tokens, and prints the exponents.
/// @param out file for a table of the milliseconds, separated by tabs; empty: none
int costOfParts(Device& device, int64_t width, const std::string& out);

} // namespace attn::cli
