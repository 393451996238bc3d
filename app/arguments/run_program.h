#pragma once

#include <functional>
#include <string>

namespace attn::cli {

/// Runs the work of a program. Any exception, also one for lack of memory, becomes a sentence on standard error.
/// @param work returns the exit code
/// @return that code; 1 after an exception, or if standard output could not be written completely (a full disk)
int runProgram(const std::string& program, const std::function<int()>& work);

/// Writes out what is printed so far. @throws std::system_error with the reason if standard output does not take it
void flushOutput();

} // namespace attn::cli
