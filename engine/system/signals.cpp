#include "engine/system/signals.h"

#include <array>
#include <csignal>

#ifdef __linux__
#include <unistd.h>
#endif

namespace attn {

void handleSignals(std::initializer_list<int> numbers, void (*handler)(int)) {
    for (const int number : numbers) {
        struct sigaction action {};
        if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        action = {};
        action.sa_handler = handler;
        action.sa_flags = SA_RESTART | SA_ONSTACK;
        sigaction(number, &action, nullptr);
    }
}

void shieldFromSignals() {
#ifdef __linux__
    if (gettid() == getpid()) {
        static std::array<char, 64 << 10> memory;
        const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
        sigaltstack(&stack, nullptr);
        return;
    }
    sigset_t others; // all signals except those that a thread's own code raises
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&others, own);
    pthread_sigmask(SIG_BLOCK, &others, nullptr);
#endif
}

} // namespace attn
