#include "engine/system/signals.h"

#include "tests/support/catch.h"

#include <csignal>
#include <cstdint>
#include <thread>

using namespace attn;

namespace {

std::uintptr_t handlerStack = 0; // an address on it

void remember(int) {
    volatile char here = 0;
    handlerStack = reinterpret_cast<std::uintptr_t>(&here);
}

} // namespace

TEST_CASE("signals: handlers run on a stack of their own, and other threads leave signals to the main one", "[core]") {
    struct sigaction before {};
    REQUIRE(sigaction(SIGHUP, nullptr, &before) == 0);
    handleSignals({SIGHUP}, remember);
    shieldFromSignals();
    stack_t stack{};
    REQUIRE(sigaltstack(nullptr, &stack) == 0);
    REQUIRE(raise(SIGHUP) == 0);
    const auto begin = reinterpret_cast<std::uintptr_t>(stack.ss_sp);
    CHECK(handlerStack >= begin);
    CHECK(handlerStack < begin + stack.ss_size);

    bool isBlocked = false, isOwnBlocked = true;
    std::thread([&] {
        shieldFromSignals();
        sigset_t blocked;
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        isBlocked = sigismember(&blocked, SIGHUP) == 1 && sigismember(&blocked, SIGCHLD) == 1;
        isOwnBlocked = sigismember(&blocked, SIGSEGV) == 1;
    }).join();
    CHECK(isBlocked);
    CHECK_FALSE(isOwnBlocked);
    sigaction(SIGHUP, &before, nullptr);
}
