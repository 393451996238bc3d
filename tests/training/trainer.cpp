#include "engine/training/trainer.h"
#include "engine/io/json_file.h"
#include "engine/models/model_source.h"
#include "engine/training/answers.h"
#include "engine/training/checkpoint.h"
#include "engine/training/metrics.h"
#include "engine/training/training_summary.h"
#include "tests/io/files.h"
#include "tests/support/farthest.h"
#include "tests/training/short_runs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

using namespace attn;
using attn::test::farthest;
using attn::test::losses;
using attn::test::onOneThread;
using attn::test::TemporaryFolder;

namespace {

Recipe smallRecipe() {
    Recipe recipe{.task = "sort", .batch = 8};
    recipe.architecture = {.layers = 1, .heads = 2, .width = 16};
    recipe.schedule = {.rate = 3e-3, .warmUp = 5, .steps = 40};
    recipe.settings.seed = 3;
    return recipe;
}

} // namespace

TEST_CASE("training: losses equal PyTorch's over 100 steps from the same weights and batches", "[training][gpu]") {
    const char* name = GENERATE("gpt2", "llama", "vit", "bert", "t5", "bart", "marian", "lora", "prefix", "permutation",
                                "classify_bert", "classify_gpt2", "labels_bert", "numbers_gpt2", "tag", "answer",
                                "pretraining", "cpc", "longformer", "window_stages", "linformer", "mixers", "rfa",
                                "reversible", "pixels", "pixels_in_blocks", "axial", "trees");
    const std::string path = std::string(ATTN_TEST_DIR "/golden/training/") + name;
    const auto expected = readJsonFile(path + ".losses.json").get<std::vector<double>>();
    REQUIRE(expected.size() == 100);
    Recipe recipe = readRecipe(path + ".recipe.json");
    std::filesystem::path& text = recipe.settings.data.text;
    if (!text.empty() && !text.string().starts_with("builtin:")) text = ATTN_TEST_DIR "/golden/training" / text;
    Trainer trainer(recipe, onOneThread());
    double worst = 0;
    for (const double loss : expected) worst = std::max(worst, std::abs(trainer.step().loss - loss));
    INFO(name);
    CHECK(worst <= 1e-3);
    CHECK(expected.back() < 0.94 * expected.front()); // it learnt: the comparison means something
}

TEST_CASE("mixed precision: losses equal PyTorch's with the same roundings", "[training][gpu]") {
    struct Golden {
        const char* name;
        int exactSteps; // f16's last digit is so small that sums in f32 and in f64 are soon rounded to different sides
        double tolerance, least, later;
    };
    const Golden golden = GENERATE(Golden{"mixed_bf16", 3, 1e-6, 2e-5, 1e-2}, Golden{"mixed_f16", 1, 2e-7, 2e-6, 1e-3});
    const std::string path = std::string(ATTN_TEST_DIR "/golden/training/") + golden.name;
    const auto expected = readJsonFile(path + ".losses.json").get<std::vector<double>>();
    REQUIRE(expected.size() == 100);
    Recipe recipe = readRecipe(path + ".recipe.json");
    REQUIRE(recipe.precision != DType::F32);
    Trainer trainer(recipe, onOneThread());
    recipe.precision = DType::F32;
    Trainer whole(recipe, onOneThread());
    const std::vector<double> found = losses(trainer, 100), unrounded = losses(whole, golden.exactSteps);
    const auto begin = [&](const std::vector<double>& all) {
        return std::vector<double>(all.begin(), all.begin() + golden.exactSteps);
    };
    const double near = farthest(begin(found), begin(expected)), other = farthest(unrounded, begin(expected)),
                 all = farthest(found, expected);
    INFO(golden.name << ": " << near << ", without rounding " << other << ", in all steps " << all);
    CHECK(near < golden.tolerance);
    CHECK(other > golden.least); // so that the comparison sees the roundings
    CHECK(all < golden.later);
    CHECK(expected.back() < 0.94 * expected.front());
}

TEST_CASE("recipes: fields that a lesson gives replace those that are suggested, or are refused", "[training]") {
    const Recipe recipe = suggestedRecipeWith(R"({"task": "sort", "values": {"length": 5}, "steps": 7})");
    CHECK(recipe.task == "sort");
    CHECK(recipe.settings.values.at("length") == 5);
    CHECK(recipe.schedule.steps == 7);
    CHECK(suggestedRecipeWith("{}").task == "reverse");
    for (const char* fields : {"", "{\"task\":", "7", "[1]", "{\"task\": 7}", "{\"task\": \"sort\", \"values\": [1]}",
                               "{\"tsak\": \"sort\"}", "{\"steps\": \"many\"}"}) {
        INFO(fields);
        CHECK(attn::test::sentenceOf([&] { suggestedRecipeWith(fields); }) != "accepted");
    }
}

TEST_CASE("checkpoints: a number of steps that no training run reaches is refused", "[training]") {
    CHECK(stepsDoneIn(nlohmann::json{{"step", 500U}}, "training_state.json") == 500);
    for (const char* step : {"-1", "18446744073709551615", "9223372036854775808", "1.5", "\"7\"", "null"}) {
        const auto state = nlohmann::json::parse(std::string(R"({"step": )") + step + "}");
        INFO(step);
        CHECK(attn::test::sentenceOf([&] { stepsDoneIn(state, "training_state.json"); }).find("has no valid") !=
              std::string::npos);
    }
    CHECK(attn::test::sentenceOf([] { stepsDoneIn(nlohmann::json::array(), "training_state.json"); }) != "accepted");
}

TEST_CASE("training: the same recipe gives the same bits, another seed others", "[training][gpu]") {
    Recipe recipe = smallRecipe();
    recipe.dropout = 0.1;
    Trainer a(recipe, onOneThread()), b(recipe, onOneThread());
    recipe.settings.seed = 4;
    Trainer c(recipe, onOneThread());
    const auto first = losses(a, 12);
    CHECK(first == losses(b, 12));
    CHECK(first != losses(c, 12));
}

TEST_CASE("training: gradient checkpointing gives the same bits in less memory", "[training][gpu]") {
    const char* family = GENERATE("gpt2", "llama");
    Recipe recipe = smallRecipe();
    recipe.architecture.family = family;
    recipe.architecture.layers = 4;
    recipe.dropout = 0.1;
    Trainer keeping(recipe, onOneThread());
    recipe.gradientCheckpointing = true;
    Trainer recomputing(recipe, onOneThread());
    CHECK(losses(keeping, 8) == losses(recomputing, 8));
    CHECK(recomputing.arenaBytes() * 4 < keeping.arenaBytes() * 3);
}

TEST_CASE("training: reversible layers keep as little for many layers as for few, and learn the same",
          "[training][gpu]") {
    const auto recipeOf = [](int64_t layers, const char* attention, bool isCheckpointed) {
        Recipe recipe{.task = "text", .batch = 16, .gradientCheckpointing = isCheckpointed};
        recipe.settings.data.text = "builtin:stories";
        recipe.settings.values["context"] = 32;
        recipe.architecture = {.layers = layers, .heads = 2, .width = 32, .attention = attention};
        return recipe;
    };
    /// Bytes of a step without the gradients of the parameters, which all layers have.
    const auto activations = [&](int64_t layers, const char* attention, bool isCheckpointed = false) {
        const Trainer trainer(recipeOf(layers, attention, isCheckpointed), onOneThread());
        return static_cast<double>(trainer.arenaBytes()) - 4.0 * static_cast<double>(trainer.parameterCount());
    };
    constexpr const char* kReversible = "residual=reversible, position=learned, mask=causal";
    const double few = activations(2, kReversible), many = activations(10, kReversible);
    const double kept = (activations(10, "mask=causal") - activations(2, "mask=causal")) / 8,
                 checkpointed = (activations(10, "mask=causal", true) - activations(2, "mask=causal", true)) / 8;
    INFO("a layer more: " << (many - few) / 8 << " bytes, " << kept << " if kept, " << checkpointed
                          << " with checkpoints");
    CHECK(many - few <= 8 * 0.1 * kept);
    CHECK(checkpointed < kept / 2);
    CHECK(few < activations(2, "mask=causal") * 1.5);
}

TEST_CASE("training: chunks of a feed-forward layer keep one hidden layer at a time", "[training][gpu]") {
    const auto trainerOf = [](const char* feedForward) {
        Recipe recipe = smallRecipe();
        recipe.batch = 32;
        recipe.architecture.layers = 3;
        recipe.architecture.attention = fmt::format("feed_forward={}, position=learned, mask=causal", feedForward);
        return std::make_unique<Trainer>(recipe, onOneThread());
    };
    const auto whole = trainerOf("gelu(factor = 8)"), chunked = trainerOf("gelu(factor = 8, chunks = 8)");
    CHECK(static_cast<double>(chunked->arenaBytes()) < 0.7 * static_cast<double>(whole->arenaBytes()));
    const auto expected = losses(*whole, 8), found = losses(*chunked, 8);
    for (size_t step = 0; step < expected.size(); ++step) CHECK(found[step] == Approx(expected[step]).margin(1e-5));
}

TEST_CASE("training: the memory of a step is known from its plan, with and without what saves it", "[training][gpu]") {
    using Alternative = TrainingMemory::Alternative;
    const auto bytesOf = [](const Recipe& recipe) { return Trainer(recipe, onOneThread()).arenaBytes(); };
    Recipe recipe = smallRecipe();
    recipe.architecture.layers = 4;
    Recipe checkpointed = recipe;
    checkpointed.gradientCheckpointing = true;
    const uint64_t kept = bytesOf(recipe), saved = bytesOf(checkpointed);
    const TrainingMemory memory = trainingMemory(recipe), ofCheckpointed = trainingMemory(checkpointed);
    CHECK(memory.bytes == kept);
    Recipe rounded = recipe;
    rounded.precision = DType::BF16;
    const uint64_t inShort = bytesOf(rounded);
    CHECK(static_cast<double>(inShort) < 0.8 * static_cast<double>(kept));
    CHECK(memory.alternatives == std::vector{Alternative{MemorySaving::Checkpointing, false, saved},
                                             Alternative{MemorySaving::ShortNumbers, false, inShort}});
    rounded.precision = DType::F16; // the sums of gradients are as long; two numbers more are read
    const TrainingMemory ofRounded = trainingMemory(rounded);
    CHECK(ofRounded.bytes == bytesOf(rounded));
    CHECK(ofRounded.alternatives.back() == Alternative{MemorySaving::ShortNumbers, true, kept});
    CHECK(ofCheckpointed.bytes == saved);
    REQUIRE(ofCheckpointed.alternatives.size() == 2);
    CHECK(ofCheckpointed.alternatives.front() == Alternative{MemorySaving::Checkpointing, true, kept});

    recipe.architecture.attention = "residual=reversible, feed_forward=gelu(factor = 8, chunks = 8), mask=causal";
    const TrainingMemory both = trainingMemory(recipe);
    CHECK(both.bytes == bytesOf(recipe));
    REQUIRE(both.alternatives.size() == 2);
    CHECK(both.alternatives[0].saving == MemorySaving::Reversible);
    CHECK(both.alternatives[1].saving == MemorySaving::Chunks);
    for (const Alternative& other : both.alternatives) {
        CHECK(other.isUsed);
        CHECK(static_cast<double>(other.bytes) > 1.1 * static_cast<double>(both.bytes));
    }
    recipe.accumulation = 2; // the update has a plan of its own
    CHECK(trainingMemory(recipe).bytes == bytesOf(recipe));
}

TEST_CASE("training: evaluating in between changes nothing", "[training][gpu]") {
    Trainer a(smallRecipe(), onOneThread()), b(smallRecipe(), onOneThread());
    for (int i = 0; i < 8; ++i) {
        b.evaluate(Split::Validation, 64);
        CHECK(a.step().loss == b.step().loss);
    }
}

TEST_CASE("training: a vocabulary too wide to be measured on 64 rows at once is measured in parts", "[training][gpu]") {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "text.txt";
    std::string text;
    for (int i = 0; i < 24'000; ++i) { // Chinese characters, of three bytes each
        const int character = 0x4E00 + i * 7 % 2400;
        for (const int byte : {0xE0 | character >> 12, 0x80 | (character >> 6 & 0x3F), 0x80 | (character & 0x3F)})
            text += static_cast<char>(byte);
    }
    std::ofstream(path, std::ios::binary) << text;
    Recipe recipe{.task = "text", .batch = 1};
    recipe.architecture = {.layers = 1, .heads = 1, .width = 8};
    recipe.settings = {.values = {{"context", 512}}, .data = {.text = path}};
    Trainer trainer(recipe, onOneThread());
    const int64_t bytes = int64_t{64} * 512 * 2400 * static_cast<int64_t>(sizeof(float));
    CHECK(static_cast<uint64_t>(bytes) > trainer.device().traits().maxStorageBufferRange); // or this tests nothing
    const Evaluation evaluation = trainer.evaluate(Split::Validation, 1024);
    CHECK(evaluation.examples == 5);                               // 2,399 targets
    CHECK(evaluation.loss == Approx(std::log(2400)).margin(0.05)); // before training all tokens are alike
}

TEST_CASE("training: a resumed run continues with the same bits", "[training][gpu]") {
    for (const auto kind : {Optimiser::Kind::AdamW, Optimiser::Kind::Adam, Optimiser::Kind::Sgd})
        for (const char* family : {"gpt2", "llama"}) {
            const TemporaryFolder folder;
            Recipe recipe = smallRecipe();
            recipe.optimiser.kind = kind;
            recipe.architecture.family = family;
            Trainer whole(recipe, onOneThread());
            losses(whole, 6);
            startRun(folder.path(), recipe);
            const auto checkpoint = saveCheckpoint(folder.path(), whole);
            CHECK(checkpoints(folder.path()) == std::vector{checkpoint});
            Trainer resumed(readRecipe(folder.path() / "recipe.json"), onOneThread());
            resume(resumed, checkpoint);
            CHECK(resumed.stepsDone() == 6);
            CHECK(losses(whole, 6) == losses(resumed, 6));
        }
}

TEST_CASE("training: centroids follow a running average that steps alone move, and a resumed run continues with it",
          "[training][gpu]") {
    const std::string name = "blocks.0.attn.normaliser.centroids";
    Recipe recipe = smallRecipe();
    recipe.architecture.attention = "position=learned, normaliser=routing(3, 4, 0.9), mask=causal";
    Trainer whole(recipe, onOneThread());
    const std::vector<float> first = whole.read(name);
    whole.evaluate(Split::Validation, 32);
    CHECK(whole.read(name) == first);
    losses(whole, 6);
    const std::vector<float> moved = whole.read(name);
    // No step keeps less than 0.9 of a number or adds more than 0.1, the largest number of a row of length 1.
    for (size_t i = 0; i < moved.size(); ++i)
        CHECK(std::abs(moved[i] - std::pow(0.9f, 6.0f) * first[i]) <= 1 - std::pow(0.9f, 6.0f) + 1e-5f);
    CHECK(moved != first);
    CHECK_FALSE(whole.isFrozen(name));
    for (const Trainer::Named& state : whole.states()) CHECK(state.name.find("centroids") == std::string::npos);

    const TemporaryFolder folder;
    startRun(folder.path(), recipe);
    const auto checkpoint = saveCheckpoint(folder.path(), whole);
    Trainer resumed(readRecipe(folder.path() / "recipe.json"), onOneThread());
    resume(resumed, checkpoint);
    CHECK(resumed.read(name) == moved);
    CHECK(losses(whole, 4) == losses(resumed, 4));
    CHECK(whole.read(name) == resumed.read(name));
}

TEST_CASE("training: windows grow in stages while the learning rate falls", "[training][gpu]") {
    const Schedule schedule{.kind = Schedule::Kind::Constant, .rate = 0.8, .warmUp = 0, .steps = 12, .stages = 3};
    CHECK(schedule.at(0) == 0.8);
    CHECK(schedule.at(3) == 0.8);
    CHECK(schedule.at(4) == 0.4);
    CHECK(schedule.at(11) == 0.2);
    CHECK(schedule.stageOf(12) == 2); // after the last step
    CHECK(schedule.windowDivisor(0) == 4);
    CHECK(schedule.windowDivisor(2) == 1);

    Recipe recipe = smallRecipe();
    recipe.architecture.attention = "position=learned, mask=causal & window(4)";
    recipe.schedule.steps = 12;
    recipe.schedule.stages = 3;
    Recipe narrow = recipe; // what the first stage sees
    narrow.architecture.attention = "position=learned, mask=causal & window(1)";
    narrow.schedule.stages = 1;
    Recipe wide = recipe;
    wide.schedule.stages = 1;
    Trainer grown(recipe, onOneThread()), first(narrow, onOneThread()), full(wide, onOneThread());
    // Evaluations have the full windows, so that all of them measure the same model.
    CHECK(grown.evaluate(Split::Validation, 32).loss == full.evaluate(Split::Validation, 32).loss);
    CHECK(losses(grown, 1) == losses(first, 1));
    CHECK(losses(grown, 1) != losses(full, 1));
    losses(grown, 4);
    CHECK(grown.stage() == 1);
    const TemporaryFolder folder; // a run that is continued in the middle of a stage, and one at its end
    startRun(folder.path(), recipe);
    for (int part = 0; part < 2; ++part) {
        const auto checkpoint = saveCheckpoint(folder.path(), grown);
        ModelSpec written = openModelSource(checkpoint.string())->config();
        written.name.clear();
        CHECK(written == sequencesOf(full)->config());
        Trainer resumed(readRecipe(folder.path() / "recipe.json"), onOneThread());
        resume(resumed, checkpoint);
        CHECK(resumed.stage() == grown.stage());
        const std::vector<double> expected = losses(grown, 2);
        CHECK(losses(resumed, 2) == expected);
        CHECK(resumed.evaluate(Split::Validation, 32).loss == grown.evaluate(Split::Validation, 32).loss);
    }
    CHECK(grown.stage() == 2);
    recipe.architecture.attention = "position=learned, mask=causal";
    CHECK_THROWS_WITH(check(recipe), CONTAINS("no mask of the attention has a window that could grow"));
}

TEST_CASE("training: parts of a batch that add up give the whole batch's step", "[training][gpu]") {
    Recipe recipe = smallRecipe();
    recipe.batch = 6;
    recipe.accumulation = 3;
    Trainer parts(recipe, onOneThread());
    std::vector<double> found = losses(parts, 10);
    CHECK(found.front() == Approx(std::log(sequencesOf(parts)->instance().vocabularySize())).margin(0.2));
    CHECK(found.back() < found.front());
    // One step of three parts moves the weights as the mean gradient does: once more, with the clip off, by hand in
    // SGD.
    recipe.optimiser = {.kind = Optimiser::Kind::Sgd, .momentum = 0, .decay = 0, .clip = 0};
    recipe.schedule = {.kind = Schedule::Kind::Constant, .rate = 0.5, .warmUp = 0, .steps = 10};
    Trainer together(recipe, onOneThread());
    const std::string name = "blocks.0.attn.W_Q";
    const auto before = together.read(name);
    together.step();
    std::vector<double> moved(before.size());
    recipe.accumulation = 1;
    recipe.batch = 2;
    int64_t targets = 0;
    for (uint64_t part = 0; part < 3; ++part) {
        const Batch batch = sequencesOf(together)->instance().batch(Split::Train, part, 2);
        for (const int32_t target : batch["targets"]) targets += target >= 0 ? 1 : 0;
    }
    for (int part = 0; part < 3; ++part) {
        Trainer one(recipe, onOneThread());
        one.setStepsDone(part); // its batch
        int64_t own = 0;
        for (const int32_t target :
             sequencesOf(one)->instance().batch(Split::Train, static_cast<uint64_t>(part), 2)["targets"])
            own += target >= 0 ? 1 : 0;
        one.step();
        const auto after = one.read(name);
        for (size_t i = 0; i < moved.size(); ++i)
            moved[i] +=
                static_cast<double>(after[i] - before[i]) * static_cast<double>(own) / static_cast<double>(targets);
    }
    const auto after = together.read(name);
    for (size_t i = 0; i < moved.size(); ++i)
        CHECK(static_cast<double>(after[i] - before[i]) == Approx(moved[i]).margin(1e-6));
}

TEST_CASE("training: a checkpoint is a folder that the program opens, with the same weights", "[training][gpu]") {
    const char* family = GENERATE("gpt2", "llama");
    const TemporaryFolder folder;
    Recipe recipe = smallRecipe();
    recipe.architecture.family = family;
    Trainer trainer(recipe, onOneThread());
    losses(trainer, 3);
    const auto source = openModelSource(saveCheckpoint(folder.path(), trainer).string());
    CHECK(source->config().layers == sequencesOf(trainer)->config().layers);
    CHECK(source->config().feedForward == sequencesOf(trainer)->config().feedForward);
    CHECK(source->tokenizer()->vocabularySize() == sequencesOf(trainer)->instance().vocabularySize());
    Trainer other(recipe, onOneThread());
    loadWeights(other, checkpoints(folder.path()).back());
    for (const auto& parameter : trainer.parameters())
        CHECK(trainer.read(parameter.name) == other.read(parameter.name));
}

TEST_CASE("training: older checkpoints keep their weights and give up their optimiser state", "[training][gpu]") {
    const TemporaryFolder folder;
    Trainer trainer(smallRecipe(), onOneThread());
    std::vector<std::filesystem::path> all;
    for (int i = 0; i < 3; ++i) {
        trainer.step();
        all.push_back(saveCheckpoint(folder.path(), trainer));
    }
    CHECK(checkpoints(folder.path()) == all);
    CHECK_THROWS_WITH(resume(trainer, all[0]), CONTAINS("no longer has optimiser state"));
    resume(trainer, all[1]);
    CHECK(trainer.stepsDone() == 2);
}

TEST_CASE("training: without biases they stay at zero", "[training][gpu]") {
    Recipe recipe = smallRecipe();
    recipe.architecture.bias = false;
    Trainer trainer(recipe, onOneThread());
    losses(trainer, 5);
    for (const auto& parameter : trainer.parameters())
        if (parameter.name.find(".b") != std::string::npos && parameter.name.find("blocks") == std::string::npos)
            CHECK(trainer.read(parameter.name) ==
                  std::vector<float>(static_cast<size_t>(parameter.shape.elements()), 0.0f));
    CHECK(trainer.read("blocks.0.mlp.b_in") == std::vector<float>(64, 0.0f));
    CHECK(trainer.read("blocks.0.ln1.b") == std::vector<float>(16, 0.0f));
}

TEST_CASE("training: a step is recorded once and replayed", "[training][gpu]") {
    Trainer trainer(smallRecipe(), onOneThread());
    trainer.step();
    const uint64_t before = GpuExecutor::recordings();
    losses(trainer, 5);
    CHECK(GpuExecutor::recordings() == before);
}

TEST_CASE("training: a step takes at most 40 dispatches per layer", "[training][gpu]") {
    for (const char* family : {"gpt2", "llama"})
        for (const int64_t groups : {0, 2}) {
            Recipe recipe = smallRecipe();
            recipe.architecture = {.family = family, .layers = 2, .heads = 4, .keyValueHeads = groups, .width = 32};
            if (recipe.architecture.family == "gpt2" && groups != 0) continue; // has no groups
            INFO(family << " with " << groups << " key/value heads");
            CHECK(Trainer(recipe, onOneThread()).kernelCount() <= 40 * 2);
        }
}

TEST_CASE("training summary: the task, steps and loss of a finished run, and nothing about other models",
          "[training]") {
    CHECK(trainingSummary("builtin:induction").empty());
    CHECK_THAT(trainingSummary("builtin:sort"), Catch::Matchers::StartsWith("task sort, "));
    const TemporaryFolder folder;
    const std::string run = folder.path().string();
    CHECK(trainingSummary(run).empty());
    startRun(run, smallRecipe());
    CHECK(trainingSummary(run) == "task sort");
    std::string lines;
    for (int64_t step = 1; step <= 40; ++step)
        lines += metricLine({.step = step, .values = {{"loss", 1}, {step == 40 ? "validation_loss" : "other", 0.256}}});
    test::writeFile(folder / "metrics.jsonl", lines);
    CHECK(trainingSummary(run) == "task sort, 40 steps, validation loss 0.26");
    CHECK(trainingSummary((folder / "checkpoints/step-000020").string()) == trainingSummary(run));
    const std::string next = metricLine({.step = 41, .values = {{"loss", 0.512}}}), torn = "{\"step\": 42, \"lo";
    for (const std::string& end : {next, next + torn, next + torn + "\n"}) {
        test::writeFile(folder / "metrics.jsonl", lines + end);
        CHECK(trainingSummary(run) == "task sort, 41 steps, loss 0.51");
    }
    test::writeFile(folder / "metrics.jsonl", torn);
    CHECK(trainingSummary(run) == "task sort");
    test::writeFile(folder / "recipe.json", "{");
    CHECK(trainingSummary(run).empty());
}

TEST_CASE("schedule: warm-up, then each way down", "[training]") {
    const auto at = [](Schedule::Kind kind, int64_t step) {
        return Schedule{.kind = kind, .rate = 1, .finalRate = 0.1, .warmUp = 9, .steps = 109}.at(step);
    };
    using Kind = Schedule::Kind;
    for (const Kind kind : {Kind::Constant, Kind::InverseSquareRoot, Kind::Cosine, Kind::Linear}) {
        CHECK(at(kind, 0) == Approx(0.1));
        CHECK(at(kind, 8) == Approx(0.9));
        CHECK(at(kind, 9) == Approx(1));
    }
    CHECK(at(Kind::Constant, 100) == Approx(1));
    CHECK(at(Kind::InverseSquareRoot, 36) == Approx(0.5));
    CHECK(at(Kind::Cosine, 59) == Approx(0.55));
    CHECK(at(Kind::Linear, 59) == Approx(0.55));
    CHECK(at(Kind::Cosine, 109) == Approx(0.1));
    CHECK(at(Kind::Linear, 500) == Approx(0.1));
}
