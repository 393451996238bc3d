#include "engine/inference/language_model.h"
#include "engine/models/model_source.h"
#include "engine/training/answers.h"
#include "engine/training/run.h"
#include "engine/training/run_jobs.h"
#include "engine/training/sequence_objective.h"
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

/// Whether all that training changes are numbers.
bool hasNumbers(const Trainer& trainer) {
    return std::ranges::all_of(trainer.parameters(), [&](const Trainer::Named& parameter) {
        const std::vector<float> values = trainer.read(parameter.name);
        return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
    });
}

/// Gives all parameters values as far from zero as there are, with signs that do not cancel.
void spoil(Trainer& trainer) {
    std::mt19937 random(1);
    for (const Trainer::Named& parameter : trainer.parameters()) {
        std::vector<float> values(static_cast<size_t>(parameter.shape.elements()));
        for (float& value : values) value = random() % 2 == 0 ? 3e38f : -3e38f;
        trainer.write(parameter.name, values);
    }
}

std::string failedStep(TrainingRun& run) {
    return sentenceOf([&] { run.advance(); });
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
        CHECK(readMetrics(folder / "run").points.size() == 3);
    }
    advance(run, 1);
    CHECK_FALSE(run.metricsProblem());
    const std::vector<MetricPoint> points = readMetrics(folder / "run").points;
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
    CHECK(readMetrics(folder / "run").points.size() == 8);
    const TrainingRun resumed(folder / "run", smallRecipe(4), kQuick, true);
    CHECK(readMetrics(folder / "run").points.size() == 8);
}

TEST_CASE("training: a full disk while a run goes back leaves its metrics, and it goes back later", "[training][gpu]") {
    const TemporaryFolder folder;
    TrainingRun run(folder / "run", smallRecipe(4), kQuick, false);
    advance(run, 5);
    spoil(run.trainer());
    CHECK_THAT(failedStep(run), CONTAINS("the loss of step 6 is not a number"));
    {
        const FileSizeLimit limit(200);
        CHECK_THAT(failedStep(run), CONTAINS("metrics.jsonl: cannot be written: File too large"));
        CHECK_FALSE(run.problem());
    }
    CHECK(readMetrics(folder / "run").points.size() == 5);
    advance(run, 1);
    CHECK(run.trainer().stepsDone() == 5);
    CHECK(readMetrics(folder / "run").points.size() == 5);
}

TEST_CASE("training: a run that continues says which lines of its metrics are damaged", "[training][gpu]") {
    const TemporaryFolder folder;
    makeRun(folder / "run");
    std::vector<std::string> lines;
    {
        std::ifstream file(folder / "run" / kMetricsFile);
        for (std::string line; std::getline(file, line);) lines.push_back(line);
    }
    REQUIRE(lines.size() == 8);
    const auto write = [&](const std::string& end) {
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        writeFile(folder / "run" / kMetricsFile, text + end);
    };
    write(R"({"step": 9, "lo)"); // a program that was killed
    CHECK_FALSE(readMetrics(folder / "run").damage);
    CHECK(readMetrics(folder / "run").points.size() == 8);
    lines[2] = lines[2].substr(0, lines[2].size() / 2);
    write("");
    CHECK_THAT(readMetrics(folder / "run").damage.value().sentence(),
               CONTAINS("run/metrics.jsonl: line 3 of 8 is damaged and left out; curves and exports are incomplete"));
    lines[6][0] = '#';
    lines.insert(lines.begin(), ""); // which holds nothing that could be lost
    write("");
    const std::string expected = "metrics.jsonl: 2 of 9 lines are damaged and left out, the first of them line 4";
    CHECK_THAT(readMetrics(folder / "run").damage.value().sentence(), CONTAINS(expected));
    TrainingRun run(folder / "run", smallRecipe(4), kQuick, true);
    REQUIRE(run.problem());
    CHECK_THAT(run.problem()->sentence(), CONTAINS(expected));
    advance(run, 1);
    CHECK_THAT(run.problem()->sentence(), CONTAINS(expected)); // the file is whole again, but lacks them
    const RecordedMetrics now = readMetrics(folder / "run");
    CHECK_FALSE(now.damage);
    CHECK(now.points.size() == 7);
}

TEST_CASE("training: the command line says which lines of a run's metrics are damaged", "[training][gpu]") {
    const TemporaryFolder folder;
    const fs::path metrics = folder / "run" / kMetricsFile;
    REQUIRE(TrainProgram({.out = folder / "run", .steps = 3}).wait() == 0);
    std::string text = bytesOf(metrics);
    text[0] = '!';
    writeFile(metrics, text);
    TrainProgram resumed({"--resume", "--out", (folder / "run").string()});
    CHECK(resumed.wait() == 0);
    CHECK_THAT(resumed.errors(), CONTAINS("warning: ") && CONTAINS("metrics.jsonl: line 1 of 3 is damaged"));
}

TEST_CASE("training: the command line says once what was damaged before, also beside another problem",
          "[training][gpu]") {
    const TemporaryFolder folder;
    const fs::path metrics = folder / "run" / kMetricsFile;
    {
        TrainingRun run(folder / "run", smallRecipe(1000), kQuick, false);
        advance(run, 3);
        run.save();
    }
    std::string text = bytesOf(metrics);
    text[0] = '!';
    writeFile(metrics, text);
    std::optional<TrainProgram> resumed;
    {
        const FileSizeLimit limit(20'000); // more than the other files, and less than the metrics of all steps
        resumed.emplace(std::vector<std::string>{"--resume", "--out", (folder / "run").string()});
    }
    REQUIRE(resumed->waitToSay("the metrics cannot be written"));
    resumed->liftFileSizeLimit();
    REQUIRE(resumed->waitToSay("the metrics are written and measured again"));
    CHECK(resumed->wait() == 0);
    const std::string said = resumed->errors(), piece = "is damaged and left out";
    REQUIRE(said.find(piece) != std::string::npos);
    CHECK(said.find(piece) == said.rfind(piece));
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
    CHECK(readMetrics(path).points.size() == 5); // the earlier ones too
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

TEST_CASE("training: a run whose loss is not a number saves nothing and goes back to its newest checkpoint",
          "[training][gpu]") {
    const TemporaryFolder folder;
    TrainingRun run(folder / "run", smallRecipe(4), kQuick, false);
    advance(run, 4);
    const double loss = run.advance()[metric_names::kLoss];
    spoil(run.trainer());
    CHECK_THAT(failedStep(run), CONTAINS("the loss of step 6 is not a number"));
    CHECK_FALSE(run.isFinished());
    run.save();
    CHECK(checkpoints(folder / "run").size() == 2);
    CHECK(run.advance()[metric_names::kLoss] == loss); // step 5 again
    CHECK(run.trainer().stepsDone() == 5);
    CHECK(readMetrics(folder / "run").points.size() == 5);
    CHECK_FALSE(std::ranges::any_of(fs::directory_iterator(folder / "run" / kCheckpointFolder),
                                    [](const auto& entry) { return entry.path().extension() == ".partial"; }));
}

TEST_CASE("training: a checkpoint whose weights give no loss is not one to go back to", "[training][gpu]") {
    const TemporaryFolder folder;
    {
        TrainingRun run(folder / "run", smallRecipe(4), kQuick, false);
        advance(run, 7);
        spoil(run.trainer());
        run.trainer().setStepsDone(8); // as if the step had left numbers, though hopeless ones
        run.save();
        CHECK(checkpoints(folder / "run").size() == 3);
        CHECK_THAT(failedStep(run), CONTAINS("the loss of step 9 is not a number") &&
                                        CONTAINS("the run goes back to step 4, its newest checkpoint"));
    }
    TrainingRun resumed(folder / "run", smallRecipe(4), kQuick, true);
    CHECK(resumed.trainer().stepsDone() == 4);
    CHECK(failedStep(resumed) == "accepted");
}

TEST_CASE("training: of weights that are numbers but spoilt, the message names the step and an older checkpoint",
          "[training][gpu]") {
    const TemporaryFolder folder;
    TrainingRun run(folder / "run", smallRecipe(4), kQuick, false);
    advance(run, 7);
    run.trainer().setLearningRate(10); // no model learns with it
    advance(run, 1);
    CHECK(checkpointStep(checkpoints(folder / "run").back()) == 8);
    for (int again = 0; again < 2; ++again) {
        run.trainer().setLearningRate(1e30);
        advance(run, 1);
        CHECK_THAT(failedStep(run),
                   CONTAINS("the loss of step 10 is not a number") &&
                       CONTAINS("the run goes back to step 8, its newest checkpoint whose weights are "
                                "numbers; if the loss is no number again, start another run from an older "
                                "one, such as step 4"));
        const FolderJob job = jobAt(folder / "run").value(); // what other programs show of it
        CHECK(job.record.status.state == JobState::Failed);
        CHECK_THAT(job.record.status.failure->sentence(), CONTAINS("step 10") && CONTAINS("step 8"));
        Trainer kept(smallRecipe(4), kQuick);
        resume(kept, checkpoints(folder / "run").back());
        CHECK(kept.stepsDone() == 8);
        CHECK(hasNumbers(kept));
    }
    Recipe further = smallRecipe(4);
    further.start.model = (checkpoints(folder / "run").end()[-2]).string();
    TrainingRun other(folder / "other", further, kQuick, false);
    CHECK(std::isfinite(other.advance()[metric_names::kLoss]));
}

TEST_CASE("training: a loss that an evaluation cannot give has the step in its message", "[training][gpu]") {
    const TemporaryFolder folder;
    Recipe recipe = smallRecipe(4);
    recipe.evaluateEvery = 6;
    TrainingRun run(folder / "run", recipe, kQuick, false);
    advance(run, 5);
    run.trainer().setLearningRate(1e30);
    CHECK_THAT(failedStep(run), CONTAINS("after step 6, the loss of the validation examples is not a number") &&
                                    CONTAINS("goes back to step 4"));
    CHECK(checkpointStep(checkpoints(folder / "run").back()) == 4);
}

TEST_CASE("training: weights that are not numbers are in no checkpoint", "[training][gpu]") {
    const TemporaryFolder folder;
    TrainingRun run(folder / "run", smallRecipe(4), kQuick, false);
    advance(run, 6);
    const std::string name = GENERATE("embed.W_E", "blocks.0.attn.W_Q");
    std::vector<float> values = run.trainer().read(name);
    values.back() = GENERATE(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
    run.trainer().write(name, values);
    CHECK_THAT(sentenceOf([&] { run.save(); }),
               CONTAINS("after step 6, " + name + " has weights that are not numbers") &&
                   CONTAINS("goes back to step 4"));
    run.save(); // there is nothing to keep
    CHECK(checkpoints(folder / "run").size() == 2);
    run.advance();
    CHECK(run.trainer().stepsDone() == 5);
    CHECK(hasNumbers(run.trainer()));
}

TEST_CASE("training: the command line keeps no run that is lost, and continues from where it was good",
          "[training][gpu]") {
    const TemporaryFolder folder;
    const std::string out = (folder / "run").string();
    TrainProgram lost({.out = out,
                       .steps = 200,
                       .checkpointEvery = 2,
                       .more = {"--lr", "100", "--weight-decay", "10", "--warmup", "1"}});
    CHECK(lost.wait() == 1);
    INFO(lost.errors());
    const int64_t good = checkpointStep(checkpoints(out).back()).value();
    CHECK_THAT(lost.errors(), CONTAINS("not a number") || CONTAINS("weights that are not numbers"));
    CHECK_THAT(lost.errors(), CONTAINS("the run goes back to step " + std::to_string(good)));
    {
        TrainingRun resumed(out, readRecipe(fs::path(out) / "recipe.json"), kQuick, true);
        CHECK(resumed.trainer().stepsDone() == good);
        CHECK(hasNumbers(resumed.trainer()));
    }
    TrainProgram again({"--resume", "--out", out}); // with the same rate, to the same end
    CHECK(again.wait() == 1);
    CHECK_THAT(again.errors(), CONTAINS("the run goes back to step"));
}

TEST_CASE("training: a checkpoint that a killed process could not name is found", "[training][gpu]") {
    const TemporaryFolder folder;
    makeRun(folder / "run");
    const fs::path all = folder / "run" / kCheckpointFolder, last = all / "step-000008";
    const std::string end = GENERATE(".partial", ".former.partial");
    fs::rename(last, last.string() + end);
    const bool isOnly = GENERATE(false, true);
    if (isOnly)
        for (const char* other : {"step-000000", "step-000004"}) fs::remove_all(all / other);
    CHECK(hasCheckpoint(folder / "run"));
    TrainingRun run(folder / "run", smallRecipe(4), kQuick, true);
    CHECK(run.trainer().stepsDone() == 8);
    CHECK(readMetrics(folder / "run").points.size() == 8);
    CHECK(checkpoints(folder / "run").size() == (isOnly ? 1 : 3));
}

TEST_CASE("training: a step that finds no room for wider windows can be tried again", "[training][gpu]") {
    struct Narrow : SequenceObjective {
        using SequenceObjective::SequenceObjective;
        Forward forward(int rows, double dropout, int64_t windowDivisor) const override {
            if (isFull && windowDivisor == 1) throw Error({"there is no room", "test", "wait"});
            return SequenceObjective::forward(rows, dropout, windowDivisor);
        }
        mutable bool isFull = false;
    };
    Recipe recipe = smallRecipe(4);
    recipe.architecture.attention = "position=learned, mask=causal & window(4)";
    recipe.schedule.steps = 4;
    recipe.schedule.stages = 2;
    Narrow* objective = nullptr;
    Trainer trainer(recipe, kQuick, {}, [&](Recipe& of) {
        auto made = std::make_unique<Narrow>(of);
        objective = made.get();
        return made;
    });
    trainer.step();
    trainer.step();
    objective->isFull = true;
    CHECK_THAT(sentenceOf([&] { trainer.step(); }), CONTAINS("no room"));
    CHECK_THAT(sentenceOf([&] { trainer.step(); }), CONTAINS("no room"));
    objective->isFull = false;
    CHECK(trainer.step().step == 3);
    CHECK(trainer.stage() == 1);
}

TEST_CASE("training: the model that writes answers keeps no cache that a batch of texts leaves unused",
          "[training][gpu]") {
    Recipe recipe = smallRecipe(4);
    recipe.settings.values = {{"length", 40}};
    Trainer trainer(recipe, kQuick);
    REQUIRE(sequencesOf(trainer)->instance().contextLength() > 64);
    CHECK(answersOf(trainer, Split::Validation, 0, 2).size() == 2);
    CHECK(trainer.writer().cacheRows() <= 64);
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

TEST_CASE("metrics: a line with a step that no run reaches is damaged", "[training]") {
    const TemporaryFolder folder;
    std::ofstream file(folder / kMetricsFile);
    for (const char* step : {"1", "-1", "1e300", "1.5", "18446744073709551615", "1125899906842625", "1125899906842624"})
        file << R"({"step": )" << step << R"(, "loss": 2})" << '\n';
    file.close();
    std::vector<int64_t> steps;
    const RecordedMetrics recorded = readMetrics(folder.path());
    for (const MetricPoint& point : recorded.points) steps.push_back(point.step);
    CHECK(steps == std::vector<int64_t>{1, int64_t{1} << 50});
    CHECK(recorded.damage.value().what == "5 of 7 lines are damaged and left out, the first of them line 2");
}

TEST_CASE("training: signals that end a program make it save first", "[training][gpu]") {
    const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
    INFO("signal " << signal);
    const TemporaryFolder folder;
    TrainProgram program({.out = folder / "run"});
    REQUIRE(program.waitFor([&] { return !readMetrics(folder / "run").points.empty(); }));
    program.send(signal);
    CHECK(program.wait() == 130);
    const auto step = checkpointStep(checkpoints(folder / "run").back());
    CHECK(step.value() > 0);
    CHECK(readMetrics(folder / "run").points.back().step == step);
    CHECK_THAT(program.errors(), CONTAINS("stopped after step " + std::to_string(*step)));
}

TEST_CASE("training: a terminal that goes away does not end the training before it has saved", "[training][gpu]") {
    const TemporaryFolder folder;
    TrainProgram program({.out = folder / "run", .evaluateEvery = 2});
    REQUIRE(program.waitFor([&] { return !readMetrics(folder / "run").points.empty(); }));
    program.closeErrors();
    const auto before = readMetrics(folder / "run").points.back().step;
    REQUIRE(program.waitFor([&] { return readMetrics(folder / "run").points.back().step > before + 10; }));
    program.send(SIGHUP);
    CHECK(program.wait() == 130);
    CHECK(checkpointStep(checkpoints(folder / "run").back()) > before);
}
