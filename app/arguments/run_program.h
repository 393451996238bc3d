#pragma once

#include <functional>
#include <string>

namespace attn::cli {

/// Runs the work of a program. Exceptions, also those from memory that is short, become a sentence on standard error.
/// @param work gives the exit code
/// @return that code; 1 after an exception, or if standard output could not be written completely (a full disk)
int runProgram(const std::string& program, const std::function<int()>& work);

} // namespace attn::cli
