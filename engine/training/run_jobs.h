#pragma once

#include "engine/jobs/job_file.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A job that has a folder, as other programs see it.
struct FolderJob {
    std::string name;              ///< of the folder
    JobRecord record;              ///< of an interrupted one with the step from which it continues
    std::optional<long> process{}; ///< that has the folder, 0 if its number is not known; none: nobody works on it
    /// Whether continuing it makes more of it.
    bool canContinue() const;
};

/// The job in a folder: a training run, also one without a job.json; a damaged job.json is its failure.
/// @return none: there is no job in it
std::optional<FolderJob> jobAt(const std::filesystem::path& folder);
/// The jobs in the folders of a folder, by name; none if there is no such folder.
/// @throws Error naming the folder if it cannot be read
std::vector<FolderJob> jobsIn(const std::filesystem::path& folder);

} // namespace attn
