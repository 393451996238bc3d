#include "engine/training/run_jobs.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/io/run_folder.h"
#include "engine/io/run_lock.h"
#include "engine/system/folder.h"
#include "engine/training/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace attn {
namespace fs = std::filesystem;

bool FolderJob::canContinue() const {
    const JobState state = record.status.state;
    if (process) return state == JobState::Paused;
    return state != JobState::Finished && record.status.kind == "training";
}

std::optional<FolderJob> jobAt(const fs::path& folder) {
    std::error_code error;
    const bool isRun = fs::exists(folder / "recipe.json", error);
    std::optional<JobRecord> record;
    std::optional<Failure> damage = attempt(folder.string(), [&] { record = readJob(folder); });
    if (!isRun && !record && !damage) return std::nullopt;
    FolderJob job{.name = folder.filename().string(), .record = {}, .process = RunLock::holder(folder)};
    const bool isRecorded = record.has_value();
    if (isRecorded) job.record = std::move(*record);
    JobStatus& status = job.record.status;
    status.folder = folder;
    if (status.kind == "training") status.title = "Train " + job.name; // somebody may have renamed the folder
    if (!isRecorded) status = {.kind = "training", .title = "Train " + job.name, .folder = folder, .canPause = true};
    if (damage) status.failure = std::move(damage);
    if (!isRun && !isRecorded) { // nobody knows what it was
        status.kind.clear();
        status.title = job.name;
        status.state = JobState::Failed;
        return job;
    }
    if (job.process) {
        if (!isRecorded) status.state = JobState::Running;
        return job;
    }
    const bool isUnderWay = status.state == JobState::Running || status.state == JobState::Paused;
    if (isRecorded && isUnderWay) status.state = JobState::Interrupted;
    if (!isRun || status.state == JobState::Finished) return job;
    // It continues from its last checkpoint.
    int64_t steps = status.progress.steps;
    if (steps == 0) {
        auto failure = attempt(folder.string(), [&] { steps = readRecipe(folder / "recipe.json").schedule.steps; });
        if (failure) {
            status.state = JobState::Failed;
            status.failure = std::move(failure);
            return job;
        }
    }
    const std::vector<fs::path> all = checkpoints(folder);
    const int64_t step = all.empty() ? 0 : *checkpointStep(all.back());
    status.progress = ofSteps(step, steps);
    if (!isRecorded) status.state = step >= steps ? JobState::Finished : JobState::Stopped;
    return job;
}

std::vector<FolderJob> jobsIn(const fs::path& folder) {
    std::vector<FolderJob> jobs;
    std::error_code error;
    const std::vector<fs::path> entries = entriesOf(folder, error);
    if (error && error != std::errc::no_such_file_or_directory)
        throw Error({.what = fmt::format("cannot be read: {}", error.message()),
                     .where = folder.string(),
                     .hint = "check its permissions"});
    for (const fs::path& each : entries)
        if (!each.filename().string().starts_with('.'))
            if (auto job = jobAt(each)) jobs.push_back(std::move(*job));
    std::ranges::sort(jobs, {}, &FolderJob::name);
    return jobs;
}

} // namespace attn
