#pragma once

#include "engine/jobs/job.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace attn {

// What a job with a folder leaves there for other programs, and for the time after it: job.json, written whole or not
// at all, and job.request, by which another program asks for something. What the job works on, such as recipe.json, has
// files of its own.

/// job.json of a folder.
struct JobRecord {
    JobStatus status;
    int64_t began = 0, written = 0; ///< seconds since 1970, UTC
    bool operator==(const JobRecord&) const = default;
};

/// @throws Error naming the file and the reason
void writeJob(const std::filesystem::path& folder, const JobRecord& record);
/// @return none if there is no job.json  @throws Error naming the file, which the job itself does not need
std::optional<JobRecord> readJob(const std::filesystem::path& folder);

/// Asks a job that another program does. It takes the newest request between two pieces of its work.
/// @throws Error naming the file and the reason
void requestOf(const std::filesystem::path& folder, JobRequest request);
/// The request that was made last, which is taken away. @return none: nobody asked
std::optional<JobRequest> takeRequest(const std::filesystem::path& folder);

/// Keeps job.json of a folder up to date. A file that cannot be written stops no job.
class JobJournal {
public:
    /// Takes away requests that were made of an earlier program.
    JobJournal(std::filesystem::path folder, std::string kind, std::string title);

    void setState(JobState state);
    /// Writes it if some time has gone by since the last time.
    void report(const Progress& progress);
    void fail(Failure failure);
    JobState state() const { return record_.status.state; }

private:
    void write();

    std::filesystem::path folder_;
    JobRecord record_;
    int64_t due_ = 0; ///< when the progress is written again, in seconds since 1970
};

} // namespace attn
