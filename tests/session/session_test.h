#pragma once

#include "engine/inference/changes.h"
#include "engine/session/playground_session.h"
#include "engine/session/session.h"
#include "tests/io/files.h"

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

/// What is shown once no command is left.
template <class AnySession> auto idle(AnySession& session) {
    REQUIRE(session.waitIdle());
    return session.latest();
}

/// What is shown after a command and those before it.
inline std::shared_ptr<const Snapshot> after(Session& session, Command command) {
    session.post(std::move(command));
    return idle(session);
}

/// What a playground says to a question.
inline std::shared_ptr<const PlaygroundSnapshot> answer(PlaygroundSession& session, const PlaygroundQuery& query) {
    session.show(query);
    return idle(session);
}

/// The device of tests: on the thread that asks, and checked.
inline const DeviceChoice kTestDevice{.device = {}, .softwareThreads = 0, .validation = true};
/// The same with shaders, for what kernels of the processor do not meet: compilation, and the loss of a device.
inline const DeviceChoice kShaderDevice{
    .device = {}, .softwareThreads = 0, .validation = true, .kernels = Kernels::Shader};

/// The sentence that a command fails with; the session must be alive and idle afterwards.
inline std::string failureOf(Session& session, const Command& command) {
    const uint64_t before = session.latest()->failureCount;
    const auto snapshot = after(session, command);
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

/// A session that has opened "builtin:induction" with a prompt.
class OpenSession : public Session {
public:
    explicit OpenSession(const std::string& prompt, const DeviceChoice& device = {.validation = true})
        : Session(device) {
        succeed(*this, OpenModelCommand{.path = kInduction, .given = {.text = {.text = prompt}}});
    }
};

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
