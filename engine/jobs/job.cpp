#include "engine/jobs/job.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array<std::string_view, 7> kStates{"waiting", "running",     "paused", "finished",
                                                  "stopped", "interrupted", "failed"};
constexpr std::array<std::string_view, 3> kRequests{"pause", "continue", "stop"};

template <class Value, size_t count>
std::optional<Value> named(const std::array<std::string_view, count>& names, std::string_view name) {
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? std::nullopt : std::optional(static_cast<Value>(found - names.begin()));
}

} // namespace

std::string_view jobStateName(JobState state) { return kStates[static_cast<size_t>(state)]; }
std::optional<JobState> jobStateNamed(std::string_view name) { return named<JobState>(kStates, name); }
std::string_view jobRequestName(JobRequest request) { return kRequests[static_cast<size_t>(request)]; }
std::optional<JobRequest> jobRequestNamed(std::string_view name) { return named<JobRequest>(kRequests, name); }

} // namespace attn
