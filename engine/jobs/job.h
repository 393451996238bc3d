#pragma once

#include "engine/core/failure.h"
#include "engine/jobs/progress.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

enum class JobState : uint8_t {
    Waiting,
    Running,
    Paused,
    Finished,
    Stopped,     ///< before it was done, as somebody asked
    Interrupted, ///< its program was killed
    Failed
};

/// What a person can ask of a job.
enum class JobRequest : uint8_t { Pause, Continue, Stop };

/// "running", as files and the command line name it.
std::string_view jobStateName(JobState state);
std::optional<JobState> jobStateNamed(std::string_view name);
std::string_view jobRequestName(JobRequest request);
std::optional<JobRequest> jobRequestNamed(std::string_view name);

/// Work that takes longer than a gesture, as it is listed.
struct JobStatus {
    uint64_t number = 0;            ///< of the job in its list
    std::string kind;               ///< "training", "analysis", "model", "costs", "files"
    std::string title;              ///< begins with a verb
    std::filesystem::path folder{}; ///< holds what the job keeps; empty: it keeps nothing
    bool canPause = false;
    JobState state = JobState::Waiting;
    Progress progress{};
    std::optional<Failure> failure{}; ///< why it failed
    bool isAtWork() const { return state == JobState::Running || state == JobState::Waiting; }
    bool operator==(const JobStatus&) const = default;
};

} // namespace attn
