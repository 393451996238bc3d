#pragma once

#include "engine/inference/changes.h"
#include "engine/session/session.h"
#include "tests/io/files.h"

#include <chrono>
#include <string>
#include <thread>

namespace attn::test {

inline constexpr const char* kInduction = "builtin:induction";
/// A prompt whose last word repeats the second: induction completes it.
inline constexpr const char* kRepeatedWords = "the quick fox the qu";

inline std::string text(const Session& session) {
    return session.latest()->sequence ? session.latest()->sequence->text : "(none)";
}

/// Replaces all changes.
inline SetChangesCommand changesOf(Changes changes) { return {std::make_shared<const Changes>(std::move(changes))}; }
/// Replaces all changes by one gate.
inline SetChangesCommand gateOf(int site, int head, float gate) { return changesOf({.gates = {{{site, head}, gate}}}); }

/// The sentence that a command fails with; the session must be alive and idle afterwards.
inline std::string failureOf(Session& session, const Command& command) {
    const uint64_t before = session.latest()->failureCount;
    session.post(command);
    REQUIRE(session.waitIdle());
    const auto snapshot = session.latest();
    CHECK(snapshot->status.activity == Activity::Idle);
    if (snapshot->failureCount == before) return "accepted";
    REQUIRE(snapshot->failure);
    CHECK_FALSE(snapshot->failure->hint.empty());
    return snapshot->failure->sentence();
}

/// Posts a command that must succeed.
inline std::shared_ptr<const Snapshot> succeed(Session& session, const Command& command) {
    CHECK(failureOf(session, command) == "accepted");
    return session.latest();
}

/// Waits until a snapshot is as wanted. @return false after a time that no machine needs
template <class Wanted> bool waitFor(const Session& session, const Wanted& wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!wanted(*session.latest())) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace attn::test
