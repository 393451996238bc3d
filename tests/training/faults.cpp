#include "engine/models/model_source.h"
#include "engine/training/run.h"
#include "tests/io/files.h"
#include "tests/support/file_size_limit.h"
#include "tests/training/train_program.h"

#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>

using namespace attn;
using namespace attn::test;

namespace {

constexpr DeviceChoice kQuick{.softwareThreads = 0};

Recipe smallRecipe(int64_t checkpointEvery) {
    return {.task = "copy",
            .settings = {.values = {{"length", 3}}, .seed = 1},
            .architecture = {.layers = 1, .heads = 2, .width = 16},
            .schedule = {.rate = 5e-3, .finalRate = 5e-3, .warmUp = 5, .steps = 1000},
            .batch = 4,
            .evaluateEvery = 1000,
            .checkpointEvery = checkpointEvery};
}

void advance(TrainingRun& run, int steps) {
    for (int step = 0; step < steps; ++step) run.advance();
}

void flipBit(const fs::path& path, uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
}

/// A run of eight steps with a checkpoint at each fourth.
void makeRun(const fs::path& folder) {
    TrainingRun run(folder, smallRecipe(4), kQuick, false);
    advance(run, 8);
}

} // namespace

TEST_CASE("training: metrics that a full disk refuses wait, and training continues", "[training][gpu]") {
    const TemporaryFolder folder;
    TrainingRun run(folder / "run", smallRecipe(1000), kQuick, false);
    advance(run, 3);
    CHECK_FALSE(run.metricsProblem());
    {
        const FileSizeLimit limit(fs::file_size(folder / "run" / kMetricsFile) + 10); // inside the next line
        advance(run, 3);
        REQUIRE(run.metricsProblem());
        CHECK_THAT(run.metricsProblem()->sentence(),
                   CONTAINS("metrics.jsonl: the metrics cannot be written: File too large"));
        CHECK(readMetrics(folder / "run").size() == 3);
    }
    advance(run, 1);
    CHECK_FALSE(run.metricsProblem());
    const std::vector<MetricPoint> points = readMetrics(folder / "run");
    REQUIRE(points.size() == 7);
    for (size_t i = 0; i < points.size(); ++i) CHECK(points[i].step == static_cast<int64_t>(i) + 1);
}

TEST_CASE("training: a full disk while a run resumes costs none of its metrics", "[training][gpu]") {
    const TemporaryFolder folder;
    makeRun(folder / "run");
    {
        const FileSizeLimit limit(200);
        CHECK_THAT(sentenceOf([&] { TrainingRun(folder / "run", smallRecipe(4), kQuick, true); }),
                   CONTAINS("metrics.jsonl: cannot be written: File too large"));
    }
    CHECK(readMetrics(folder / "run").size() == 8);
    const TrainingRun resumed(folder / "run", smallRecipe(4), kQuick, true);
    CHECK(readMetrics(folder / "run").size() == 8);
}

TEST_CASE("training: a folder that is removed while the model trains is written again", "[training][gpu]") {
    const TemporaryFolder folder;
    const fs::path path = folder / "run";
    {
        TrainingRun run(path, smallRecipe(4), kQuick, false);
        advance(run, 3);
        CHECK_FALSE(run.problem());
        const bool isMoved = GENERATE(false, true);
        if (isMoved)
            fs::rename(path, folder / "elsewhere");
        else
            fs::remove_all(path);
        advance(run, 2);
        REQUIRE(run.problem());
        CHECK_THAT(run.problem()->sentence(), CONTAINS("was removed or moved while the model trained"));
    }
    CHECK(readRecipe(path / "recipe.json") == smallRecipe(4));
    CHECK(readMetrics(path).size() == 5); // the earlier ones too
    TrainingRun run(path, readRecipe(path / "recipe.json"), kQuick, true);
    CHECK(run.trainer().stepsDone() == 4);
}

TEST_CASE("training: one flipped bit in a checkpoint is found before anything is loaded", "[training][gpu]") {
    const TemporaryFolder folder;
    makeRun(folder / "run");
    const fs::path last = checkpoints(folder / "run").back();
    const auto resumed = [&] { return sentenceOf([&] { TrainingRun(folder / "run", smallRecipe(4), kQuick, true); }); };
    const auto opened = [&] { return sentenceOf([&] { openModelSource(last.string()); }); };
    for (const char* name : {"model.safetensors", "optimizer.safetensors", "training_state.json"}) {
        INFO(name);
        const uint64_t at = fs::file_size(last / name) - (last / name).extension().string().size();
        flipBit(last / name, at);
        CHECK_THAT(resumed(), CONTAINS(std::string(name) + ": is damaged: its checksum is"));
        if (std::string(name) == "model.safetensors") CHECK_THAT(opened(), CONTAINS("is damaged"));
        flipBit(last / name, at);
        CHECK(resumed() == "accepted");
    }
    flipBit(last / "model.safetensors", fs::file_size(last / "model.safetensors") - 9);
    fs::remove(last / "checksums.sfv"); // as in checkpoints of version 0.2.0 and of other programs
    CHECK(resumed() == "accepted");
    CHECK(opened() == "accepted");
    const std::string states = readTextFile(last / "optimizer.safetensors", uint64_t{1} << 30);
    uint64_t length = 0;
    std::memcpy(&length, states.data(), sizeof length);
    const std::string data = states.substr(8 + length);
    const std::string more =
        fmt::format(R"({{"more":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}},)", data.size(), data.size() + 1);
    writeFile(last / "optimizer.safetensors", safetensors(more + states.substr(9, length - 1), data + "x"));
    CHECK_THAT(resumed(), CONTAINS("optimizer.safetensors: holds \"more\", which this training does not keep"));
}

TEST_CASE("training: an unfinished checkpoint of a killed process is removed by the next one", "[training][gpu]") {
    const TemporaryFolder folder;
    makeRun(folder / "run");
    const fs::path unfinished = folder / "run" / kCheckpointFolder / "step-000007.partial";
    fs::create_directories(unfinished);
    writeFile(unfinished / "model.safetensors", "half");
    TrainingRun run(folder / "run", smallRecipe(4), kQuick, true);
    advance(run, 4);
    CHECK_FALSE(fs::exists(unfinished));
    CHECK(checkpoints(folder / "run").size() == 4);
}

TEST_CASE("training: two trainers cannot have the same run", "[training][gpu]") {
    const TemporaryFolder folder;
    makeRun(folder / "run");
    const TrainingRun first(folder / "run", smallRecipe(4), kQuick, true);
    CHECK_THAT(sentenceOf([&] { TrainingRun(folder / "run", smallRecipe(4), kQuick, true); }),
               CONTAINS("this program trains it already"));
    TrainProgram second({"--resume", "--out", (folder / "run").string()});
    CHECK(second.wait() == 1);
    CHECK_THAT(second.errors(), CONTAINS("another program trains it already (process " + std::to_string(getpid())));
}

TEST_CASE("training: a pipe in the place of the metrics is refused, not waited for", "[training][gpu]") {
    const TemporaryFolder folder;
    makeRun(folder / "run");
    fs::remove(folder / "run" / kMetricsFile);
    REQUIRE(mkfifo((folder / "run" / kMetricsFile).c_str(), 0600) == 0);
    CHECK_THAT(sentenceOf([&] { TrainingRun(folder / "run", smallRecipe(4), kQuick, true); }),
               CONTAINS("metrics.jsonl: is not a file"));
}

TEST_CASE("metrics: a line with a step that no run reaches is skipped", "[training]") {
    const TemporaryFolder folder;
    std::ofstream file(folder / kMetricsFile);
    for (const char* step : {"1", "-1", "1e300", "1.5", "18446744073709551615", "1125899906842625", "1125899906842624"})
        file << R"({"step": )" << step << R"(, "loss": 2})" << '\n';
    file.close();
    std::vector<int64_t> steps;
    for (const MetricPoint& point : readMetrics(folder.path())) steps.push_back(point.step);
    CHECK(steps == std::vector<int64_t>{1, int64_t{1} << 50});
}

TEST_CASE("training: signals that end a program make it save first", "[training][gpu]") {
    const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
    INFO("signal " << signal);
    const TemporaryFolder folder;
    TrainProgram program({"--task", "sort", "--layers", "1", "--heads", "2", "--width", "16", "--batch", "8", "--steps",
                          "1000000", "--evaluate-every", "1000000", "--checkpoint-every", "1000000", "--out",
                          (folder / "run").string()});
    REQUIRE(program.waitFor([&] { return !readMetrics(folder / "run").empty(); }));
    program.send(signal);
    CHECK(program.wait() == 130);
    const auto step = checkpointStep(checkpoints(folder / "run").back());
    CHECK(step.value() > 0);
    CHECK(readMetrics(folder / "run").back().step == step);
    CHECK_THAT(program.errors(), CONTAINS("stopped after step " + std::to_string(*step)));
}

TEST_CASE("training: a terminal that goes away does not end the training before it has saved", "[training][gpu]") {
    const TemporaryFolder folder;
    TrainProgram program({"--task", "sort", "--layers", "1", "--heads", "2", "--width", "16", "--batch", "8", "--steps",
                          "1000000", "--evaluate-every", "2", "--checkpoint-every", "1000000", "--out",
                          (folder / "run").string()});
    REQUIRE(program.waitFor([&] { return !readMetrics(folder / "run").empty(); }));
    program.closeErrors();
    const auto before = readMetrics(folder / "run").back().step;
    REQUIRE(program.waitFor([&] { return readMetrics(folder / "run").back().step > before + 10; }));
    program.send(SIGHUP);
    CHECK(program.wait() == 130);
    CHECK(checkpointStep(checkpoints(folder / "run").back()) > before);
}
