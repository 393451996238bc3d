#pragma once

#include <initializer_list>

namespace attn {

/// Calls a handler when a signal with one of these numbers arrives; interrupted system calls go on. Signals that the
/// caller of the program ignores, as nohup does, stay ignored.
/// @param handler may only call functions that are safe in signal handlers
void handleSignals(std::initializer_list<int> numbers, void (*handler)(int));

} // namespace attn
