#include "app/cli/command.h"
#include "app/cli/train.h"

#include "engine/core/error.h"
#include "engine/core/nearest_names.h"
#include "engine/core/quoting.h"
#include "engine/system/environment.h"
#include "engine/training/run_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <system_error>

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

struct JobsOptions {
    std::vector<std::string> words;
    std::string in;
    DeviceChoice device;
    bool json = false;
};

/// The folder with the training runs of the window.
std::string runsFolder() {
    const std::string data = environment::dataDirectory();
    return data.empty() ? "." : data + "/attention-lab/attention-lab/runs";
}

nlohmann::json toJson(const FolderJob& job) {
    const JobStatus& status = job.record.status;
    nlohmann::json json{{"key", job.name},
                        {"folder", status.folder.string()},
                        {"kind", status.kind},
                        {"title", status.title},
                        {"state", jobStateName(status.state)}};
    if (status.progress.fraction >= 0) json["fraction"] = status.progress.fraction;
    if (status.progress.steps > 0) {
        json["step"] = status.progress.step;
        json["steps"] = status.progress.steps;
    }
    if (status.progress.secondsLeft) json["seconds_left"] = *status.progress.secondsLeft;
    if (job.process && *job.process > 0) json["process"] = *job.process;
    if (status.failure) json["failure"] = status.failure->sentence();
    return json;
}

int list(const std::string& folder, bool isJson) {
    std::error_code error;
    if (!fs::is_directory(folder, error) && fs::exists(folder, error))
        throw Error({.what = "is not a folder", .where = folder, .hint = "name the folder that holds training runs"});
    std::vector<FolderJob> jobs = jobsIn(folder);
    if (jobs.empty())
        if (auto own = jobAt(folder)) jobs.push_back(std::move(*own));
    if (isJson) {
        nlohmann::json all = nlohmann::json::array();
        for (const FolderJob& job : jobs) all.push_back(toJson(job));
        print(all);
        return kDone;
    }
    if (jobs.empty()) fmt::print("There are no jobs in {}.\n", printable(folder));
    size_t width = 0;
    for (const FolderJob& job : jobs) width = std::max(width, printable(job.name).size());
    for (const FolderJob& job : jobs) {
        const JobStatus& status = job.record.status;
        std::string remark = progressText(status.progress);
        const auto add = [&](const std::string& text) { remark += (remark.empty() ? "" : " · ") + text; };
        if (job.process && *job.process > 0) add(fmt::format("process {}", *job.process));
        if (status.failure) add(printableLines(status.failure->sentence()));
        fmt::print("{:<{}}  {:<11}  {}\n", printable(job.name), width, jobStateName(status.state), remark);
    }
    const auto waits = std::ranges::find_if(jobs, [](const FolderJob& job) { return job.canContinue(); });
    if (waits != jobs.end())
        fmt::print("\nContinue one by its name or its folder: attention-cli jobs continue {}\n",
                   printable(waits->record.status.folder.string()));
    return kDone;
}

/// @param key the name of a run in the folder, or a path  @throws Error if there is no such job
FolderJob found(const std::string& key, const std::string& in) {
    for (const fs::path& path : {fs::path(in) / key, fs::path(key)})
        if (auto job = jobAt(path)) return std::move(*job);
    constexpr size_t kMostNamed = 5;
    std::vector<std::string> names;
    for (const FolderJob& job : jobsIn(in)) names.push_back(job.name);
    throw Error({.what = fmt::format("there is no job named {}", inQuotes(key)),
                 .where = in,
                 .hint = names.empty()
                             ? "name the folder of the jobs with --in"
                             : fmt::format("there are {}", fmt::join(nearestNames(key, names, kMostNamed), ", "))});
}

int ask(JobRequest request, const FolderJob& job, const JobsOptions& options) {
    const JobStatus& status = job.record.status;
    const std::string name = printable(job.name), folder = status.folder.string();
    const auto refuse = [&](const std::string& what, const char* hint) {
        throw Error({.what = what, .where = folder, .hint = hint});
    };
    if (!job.process && request == JobRequest::Continue) {
        if (status.state == JobState::Finished)
            refuse("the job is finished", "start another one with attention-cli train");
        if (!job.canContinue()) refuse("only training runs can be continued", "start the work again");
        return continueTraining(folder, options.device);
    }
    if (!job.process)
        refuse(fmt::format("nobody works on this job: it is {}", jobStateName(status.state)),
               job.canContinue() ? "continue it with attention-cli jobs continue" : "there is nothing to do");
    if (request == JobRequest::Continue && status.state == JobState::Running)
        refuse("the job is running already", "attention-cli jobs shows how far it is");
    requestOf(status.folder, request);
    fmt::print("Asked {}to {} {}. It does so after the step that it is making.\n",
               *job.process > 0 ? fmt::format("process {} ", *job.process) : "", jobRequestName(request), name);
    return kDone;
}

int jobs(const Command& command, const JobsOptions& options) {
    const auto request = options.words.empty() ? std::nullopt : jobRequestNamed(options.words.front());
    if (!request) {
        if (options.words.size() > 1)
            throw Error({.what = fmt::format("{} is none of stop, pause and continue", inQuotes(options.words.front())),
                         .where = "jobs",
                         .hint = "write for example attention-cli jobs stop sort"});
        refuseIdle(command, {"--device", "--kernels"}, "a list", "jobs continue");
        if (!options.words.empty()) refuseIdle(command, {"--in"}, "a folder that is named already", "other lists");
        return list(options.words.empty() ? options.in : options.words.front(), options.json);
    }
    if (options.words.size() != 2)
        throw Error({.what = fmt::format("say which job to {}", jobRequestName(*request)),
                     .where = "jobs",
                     .hint = fmt::format("write for example attention-cli jobs {} sort", jobRequestName(*request))});
    refuseIdle(command, {"--json"}, jobRequestName(*request), "lists");
    if (*request != JobRequest::Continue)
        refuseIdle(command, {"--device", "--kernels"}, jobRequestName(*request), "continue");
    return ask(*request, found(options.words.back(), options.in), options);
}

} // namespace

void addJobs(Command& command) {
    const auto options = std::make_shared<JobsOptions>();
    options->in = runsFolder();
    command.about("Lists the training runs in a folder: running, paused, stopped, finished, failed, or interrupted "
                  "when their program was killed, with their progress and the time that is left.");
    command.about("stop, pause and continue act on one of them, by the name of its folder or its path, also if the "
                  "window or another command trains it: that program does so after the step that it is making. A run "
                  "that nobody trains continues here, from its last checkpoint, with the same bits as without the "
                  "break.");
    command.argument("FOLDER ...", options->words,
                     "folder whose jobs are listed; or stop, pause or continue, and the name of a job");
    command.option("--in FOLDER", options->in, "folder that holds the jobs")
        .defaultText("the training runs of the window");
    addDevice(command, options->device);
    addJson(command, options->json);
    command.example("attention-cli jobs");
    command.example("attention-cli jobs runs --json");
    command.example("attention-cli jobs continue sort --in runs");
    command.action([=, &command] { return jobs(command, *options); });
}

} // namespace attn::cli
