#include "engine/jobs/job_file.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/io/json_file.h"
#include "engine/system/atomic_file.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFile = "job.json";
constexpr const char* kRequest = "job.request";
constexpr const char* kTaken = "job.request.taken"; ///< while it is read, so that another can be made
constexpr int64_t kSecondsBetween = 2;              ///< two records of the progress

int64_t now() {
    using namespace std::chrono;
    return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

/// A whole number; 0 if it is missing. @throws std::bad_optional_access if it is none
int64_t wholeFrom(const nlohmann::json& json, const char* name) {
    const auto found = json.find(name);
    if (found == json.end()) return 0;
    return (found->is_number_integer() ? std::optional(found->get<int64_t>()) : std::nullopt).value();
}

JobRecord recordFrom(const nlohmann::json& json) {
    JobRecord record;
    JobStatus& status = record.status;
    status.kind = json.at("kind").get<std::string>();
    status.title = json.at("title").get<std::string>();
    status.state = jobStateNamed(json.at("state").get<std::string>()).value();
    status.canPause = json.value("can_pause", false);
    Progress& progress = status.progress;
    progress.fraction = json.value("fraction", -1.0);
    progress.step = wholeFrom(json, "step");
    progress.steps = wholeFrom(json, "steps");
    progress.sentence = json.value("sentence", std::string());
    if (json.contains("seconds_left")) progress.secondsLeft = json.at("seconds_left").get<double>();
    if (json.contains("failure")) {
        const nlohmann::json& failure = json.at("failure");
        status.failure = Failure{.what = failure.value("what", std::string()),
                                 .where = failure.value("where", std::string()),
                                 .hint = failure.value("hint", std::string())};
    }
    record.began = wholeFrom(json, "began");
    record.written = wholeFrom(json, "written");
    return record;
}

} // namespace

void writeJob(const fs::path& folder, const JobRecord& record) {
    const JobStatus& status = record.status;
    nlohmann::ordered_json json{{"kind", status.kind},
                                {"title", status.title},
                                {"state", jobStateName(status.state)},
                                {"can_pause", status.canPause}};
    const Progress& progress = status.progress;
    if (progress.fraction >= 0) json["fraction"] = progress.fraction;
    if (progress.steps > 0) {
        json["step"] = progress.step;
        json["steps"] = progress.steps;
    }
    if (!progress.sentence.empty()) json["sentence"] = progress.sentence;
    if (progress.secondsLeft) json["seconds_left"] = *progress.secondsLeft;
    if (status.failure)
        json["failure"] = {
            {"what", status.failure->what}, {"where", status.failure->where}, {"hint", status.failure->hint}};
    json["began"] = record.began;
    json["written"] = record.written;
    writeAtomically(folder / kFile, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::optional<JobRecord> readJob(const fs::path& folder) {
    const fs::path path = folder / kFile;
    std::error_code error;
    if (!fs::exists(path, error)) return std::nullopt;
    const nlohmann::json json = readJsonFile(path);
    try {
        JobRecord record = recordFrom(json);
        record.status.folder = folder;
        return record;
    } catch (const std::exception&) {
        throw Error({.what = "is damaged: a field is missing, or of another kind",
                     .where = path.string(),
                     .hint = "remove it; the job itself does not need it"});
    }
}

void requestOf(const fs::path& folder, JobRequest request) {
    writeAtomically(folder / kRequest, std::string(jobRequestName(request)));
}

std::optional<JobRequest> takeRequest(const fs::path& folder) {
    const fs::path path = folder / kRequest;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    const fs::path taken = folder / kTaken;
    fs::rename(path, taken, error);
    if (error) return std::nullopt;
    std::ifstream file(taken, std::ios::binary);
    std::string word(32, '\0');
    file.read(word.data(), static_cast<std::streamsize>(word.size()));
    word.resize(static_cast<size_t>(file.gcount()));
    fs::remove(taken, error);
    return jobRequestNamed(word);
}

JobJournal::JobJournal(fs::path folder, std::string kind, std::string title) : folder_(std::move(folder)) {
    record_.status = {.kind = std::move(kind), .title = std::move(title), .canPause = true, .state = JobState::Running};
    record_.began = now();
    std::error_code error;
    fs::remove(folder_ / kRequest, error);
    write();
}

void JobJournal::setState(JobState state) {
    if (std::exchange(record_.status.state, state) == state) return;
    if (state != JobState::Running) record_.status.progress.secondsLeft.reset();
    if (state != JobState::Failed) record_.status.failure.reset();
    write();
}

void JobJournal::report(const Progress& progress) {
    const bool isFirst = std::exchange(record_.status.progress, progress) == Progress();
    if (isFirst || now() >= due_) write();
}

void JobJournal::fail(Failure failure) {
    record_.status.failure = std::move(failure);
    setState(JobState::Failed);
}

void JobJournal::write() {
    record_.written = now();
    due_ = record_.written + kSecondsBetween;
    (void)attempt({}, [this] { writeJob(folder_, record_); });
}

} // namespace attn
