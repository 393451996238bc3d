#pragma once

#include <initializer_list>

namespace attn {

/// Calls a handler when a signal with one of these numbers arrives; interrupted system calls continue. Signals that the
/// caller of the program ignores, as nohup does, stay ignored.
/// @param handler may only call functions that are safe in signal handlers
void handleSignals(std::initializer_list<int> numbers, void (*handler)(int));

/// Prepares this thread for compiled code that uses the stack pointer as any other register, as oneDNN's products do. A
/// signal that arrives then is written below wherever that register points, into the heap. The main thread gets a stack
/// for signals of its own, on which handleSignals() runs its handlers; any other thread leaves signals to the main one
/// from now on.
void shieldFromSignals();

} // namespace attn
