#include "engine/io/run_folder.h"
#include "engine/session/training_session.h"
#include "engine/training/recipe.h"
#include "tests/session/session_test.h"

#include <chrono>
#include <fstream>
#include <random>
#include <thread>

using namespace attn;
using attn::test::TemporaryFolder;

namespace {

Recipe smallRecipe(int64_t steps = 12) {
    Recipe recipe{.task = "reverse", .batch = 8};
    recipe.architecture = {.layers = 2, .heads = 2, .width = 16};
    recipe.schedule = {.rate = 3e-3, .warmUp = 2, .steps = steps};
    recipe.evaluateEvery = 5;
    recipe.checkpointEvery = 4;
    return recipe;
}

DeviceChoice options() { return {.device = {}, .softwareThreads = 0, .validation = true}; }

std::vector<double> losses(const std::vector<MetricPoint>& points) {
    std::vector<double> result;
    for (const MetricPoint& point : points) result.push_back(point["loss"]);
    return result;
}

} // namespace

TEST_CASE("training session: a run ends with its metrics, samples and checkpoints, and resumes", "[session][gpu]") {
    const TemporaryFolder folder;
    TrainingSession session(options());
    session.start(folder.path() / "run", smallRecipe(), false);
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->state == TrainingSnapshot::State::Paused);
    CHECK(session.latest()->weightsStep == 0);
    session.step();
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->step == 1);
    CHECK(session.latest()->state == TrainingSnapshot::State::Paused);
    session.play();
    const auto end = test::idle(session);
    REQUIRE_FALSE(end->failure);
    CHECK(end->state == TrainingSnapshot::State::Finished);
    CHECK(end->step == 12);
    CHECK(end->weightsStep == 12);
    const std::vector<MetricPoint> points = session.takePoints();
    REQUIRE(points.size() == 12);
    CHECK(points[4].find("validation_loss").has_value());
    CHECK_FALSE(points[5].find("validation_loss").has_value());
    const auto ratios = points[9].under("update_ratios.");
    REQUIRE(ratios.size() == 3); // embeddings and two blocks
    for (const auto& [part, ratio] : ratios) CHECK((ratio > 0 && ratio < 1));
    CHECK(losses(readMetrics(folder.path() / "run").points).size() == 12);
    CHECK(checkpoints(folder.path() / "run").size() == 4); // 0, 4, 8, 12
    REQUIRE(end->answers.samples->size() == 12);
    CHECK(end->answers.samples->front().expected.size() == end->answers.samples->front().given.size());

    session.start(folder.path() / "run", smallRecipe(16), true);
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->step == 16);
    CHECK(session.takePoints().size() == 4);
    CHECK(readMetrics(folder.path() / "run").points.size() == 16);
}

TEST_CASE("training session: it can be stopped while it reads a text", "[session][gpu]") {
    const TemporaryFolder folder;
    { // millions of different words, of which a vocabulary takes minutes to learn
        std::ofstream text(folder / "text.txt", std::ios::binary);
        std::mt19937 random(1);
        for (int i = 0; i < 40'000'000; ++i) text.put(random() % 9 == 0 ? ' ' : static_cast<char>('a' + random() % 26));
    }
    Recipe recipe{.task = "text", .batch = 8};
    recipe.settings.data.text = folder / "text.txt";
    recipe.settings.data.tokens = "bpe:50000";
    recipe.settings.values["context"] = 16;
    recipe.architecture = {.layers = 1, .heads = 2, .width = 16};
    recipe.schedule = {.warmUp = 2, .steps = 4};
    TrainingSession session(options());
    session.start(folder / "run", recipe, true);
    while (session.latest()->state != TrainingSnapshot::State::Preparing && !session.latest()->failure)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    session.close();
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->state == TrainingSnapshot::State::None);
    CHECK_FALSE(session.latest()->failure);
    CHECK_FALSE(std::filesystem::exists(folder / "run"));
    session.start(folder / "other", smallRecipe(), false); // it is ready for another
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->state == TrainingSnapshot::State::Paused);
    session.start(folder / "run", recipe, true);
} // and a program that ends does not wait for it

TEST_CASE("training session: looking on changes no bit of a run", "[session][gpu]") {
    const TemporaryFolder folder;
    TrainingSession alone(options()), watched(options());
    alone.start(folder.path() / "a", smallRecipe(30), true);
    REQUIRE(alone.waitIdle());
    Session views({.softwareThreads = 0});
    watched.start(folder.path() / "b", smallRecipe(30), false);
    REQUIRE(watched.waitIdle());
    int shown = 0;
    for (int i = 0; i < 30; ++i) {
        watched.requestWeights();
        watched.step();
        REQUIRE(watched.waitIdle());
        const auto now = watched.latest();
        views.post(ShowWeightsCommand{now->weights, now->folder, now->folder, "now", now->example});
        REQUIRE(views.waitIdle());
        REQUIRE_FALSE(views.latest()->failure);
        shown += views.latest()->grid ? 1 : 0;
    }
    CHECK(shown == 30);
    CHECK(losses(alone.takePoints()) == losses(watched.takePoints()));
}

TEST_CASE("training session: parameters that were taken come again only after a step", "[session][gpu]") {
    const TemporaryFolder folder;
    TrainingSession session(options());
    session.start(folder.path() / "run", smallRecipe(), false);
    REQUIRE(session.waitIdle());
    const auto weights = session.latest()->weights;
    session.requestWeights();
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->weights == weights);
    session.step();
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->weights != weights);
    CHECK(session.latest()->weightsStep == 1);
    session.step(); // nobody asked
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->weightsStep == 1);
    session.requestWeights();
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->weightsStep == 2);
}

TEST_CASE("training session: what cannot train is a sentence, and another run can start", "[session][gpu]") {
    const TemporaryFolder folder;
    TrainingSession session(options());
    Recipe recipe = smallRecipe();
    recipe.architecture.width = 15;
    session.start(folder.path() / "bad", recipe, true);
    REQUIRE(session.waitIdle());
    REQUIRE(session.latest()->failure);
    CHECK(session.latest()->failure->sentence().find("15") != std::string::npos);
    CHECK(session.latest()->state == TrainingSnapshot::State::None);
    session.start(folder.path() / "good", smallRecipe(), true);
    REQUIRE(session.waitIdle());
    CHECK_FALSE(session.latest()->failure);
    CHECK(session.latest()->state == TrainingSnapshot::State::Finished);
    const auto good = session.latest();
    session.start(folder.path() / "bad", recipe, true);
    const auto refused = test::idle(session); // it says what the run before answered
    REQUIRE(refused->failure);
    CHECK(refused->state == TrainingSnapshot::State::None);
    CHECK(refused->refused == (folder.path() / "bad").string());
    CHECK(refused->folder == good->folder);
    CHECK(refused->answers.samples == good->answers.samples);
    CHECK(refused->weights == good->weights);
    session.start(folder.path() / "good", smallRecipe(), false);
    CHECK(test::idle(session)->state == TrainingSnapshot::State::Finished);
    CHECK(session.latest()->refused.empty());
}

TEST_CASE("training session: a run whose loss is not a number saves nothing, and Play goes back", "[session][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder.path() / "run";
    Recipe recipe = smallRecipe(1000);
    recipe.evaluateEvery = recipe.checkpointEvery = 1000;
    TrainingSession session(options());
    session.start(run, recipe, false);
    session.step();
    REQUIRE(session.waitIdle());
    const double first = session.takePoints().at(0)["loss"];
    session.setLearningRate(1e30); // after which no loss is a number
    session.play();
    const auto lost = test::idle(session);
    REQUIRE(lost->failure);
    CHECK(lost->failure->what.find("is not a number") != std::string::npos);
    CHECK(lost->failure->hint.find("goes back to step 0") != std::string::npos);
    const bool isReopened = GENERATE(false, true);
    if (isReopened) {
        session.close();
        REQUIRE(session.waitIdle());
        CHECK_FALSE(session.latest()->failure);
        CHECK(checkpoints(run).size() == 1);
        session.start(run, recipe, false);
    }
    session.setLearningRate({});
    session.takePoints();
    session.step();
    const auto again = test::idle(session);
    CHECK_FALSE(again->failure);
    CHECK(again->step == 1);
    const auto points = session.takePoints();
    REQUIRE(points.size() == 1);
    CHECK(points[0]["loss"] == first);
}

TEST_CASE("training session: a run that cannot be saved closes, says so, and another begins", "[session][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder.path() / "run";
    TrainingSession session(options());
    session.start(run, smallRecipe(), false);
    session.step();
    REQUIRE(session.waitIdle());
    std::filesystem::remove_all(run / kCheckpointFolder);
    std::ofstream(run / kCheckpointFolder) << "in the way";
    const bool isFollowed = GENERATE(false, true);
    if (isFollowed)
        session.start(folder.path() / "other", smallRecipe(), false);
    else
        session.close();
    const auto now = test::idle(session);
    CHECK(now->state == (isFollowed ? TrainingSnapshot::State::Paused : TrainingSnapshot::State::None));
    CHECK(now->folder == (isFollowed ? (folder.path() / "other").string() : std::string()));
    REQUIRE(now->failure);
    CHECK(now->failure->sentence().find(run.string()) != std::string::npos);
    CHECK(now->failureCount == 1);
    session.start(folder.path() / "third", smallRecipe(4), true);
    CHECK(test::idle(session)->state == TrainingSnapshot::State::Finished);
    CHECK_FALSE(session.latest()->failure);
}

TEST_CASE("training session: Play finishes a run whose model could not be written", "[session][gpu]") {
    const TemporaryFolder folder;
    const auto run = folder.path() / "run", model = run / "model.safetensors";
    TrainingSession session(options());
    session.start(run, smallRecipe(4), false);
    REQUIRE(session.waitIdle());
    std::filesystem::create_directories(model / "in the way");
    session.play();
    const auto stopped = test::idle(session);
    REQUIRE(stopped->failure);
    CHECK(stopped->state == TrainingSnapshot::State::Paused);
    CHECK(stopped->step == 4);
    CHECK(session.takePoints().size() == 4);
    std::filesystem::remove_all(model);
    session.play();
    const auto finished = test::idle(session);
    CHECK_FALSE(finished->failure);
    CHECK(finished->state == TrainingSnapshot::State::Finished);
    CHECK(finished->answers.step == 4);
    CHECK(finished->weightsStep == 4);
    CHECK(std::filesystem::is_regular_file(model));
}

TEST_CASE("session: a moment of a run takes the place of another without touching prompt, branches or gates",
          "[session][gpu]") {
    const TemporaryFolder folder;
    TrainingSession training(options());
    training.start(folder.path() / "run", smallRecipe(), true);
    REQUIRE(training.waitIdle());
    const auto end = training.latest();
    const auto all = checkpoints(folder.path() / "run");
    Session session({.softwareThreads = 0});
    session.post(ShowWeightsCommand{nullptr, all.front().string(), end->folder, "step 0", end->example});
    session.post(test::gateOf(1, 1, 0));
    const auto before = test::after(session, GenerateCommand{.maxTokens = 1});
    REQUIRE_FALSE(before->failure);
    CHECK(before->model->name == "run");
    CHECK(before->path() == all.front().string());
    const auto after = test::after(session, ShowWeightsCommand{end->weights, end->folder, end->folder, "end", {}});
    REQUIRE_FALSE(after->failure);
    CHECK(after->model == before->model);
    CHECK(after->shown->title == "end");
    CHECK(after->sequence->tokens.size() == before->sequence->tokens.size());
    CHECK(after->changes->gate(1, 1) == 0);
    CHECK(after->next->logits != before->next->logits);

    Session fresh({.softwareThreads = 0}); // the same from the file, opened as any model
    fresh.post(OpenModelCommand{.path = all.back().string(), .given = {.text = {.tokens = end->example.tokens}}});
    fresh.post(test::gateOf(1, 1, 0));
    session.post(ResetCommand{});
    REQUIRE(fresh.waitIdle());
    REQUIRE(session.waitIdle());
    CHECK(fresh.latest()->model->name == "run, step " + std::to_string(end->step));
    CHECK(fresh.latest()->next->logits == session.latest()->next->logits);
    CHECK(fresh.latest()->grid->at(1, 0).values == session.latest()->grid->at(1, 0).values);
}

TEST_CASE("session: opening a run ends what another model was writing", "[session][gpu]") {
    const TemporaryFolder folder;
    TrainingSession training(options());
    training.start(folder.path() / "run", smallRecipe(), false);
    REQUIRE(training.waitIdle());
    const auto now = training.latest();
    Session session({.softwareThreads = 0});
    session.post(OpenModelCommand{.path = "builtin:induction", .given = {.text = {.text = "abcabc"}}});
    session.post(GenerateCommand{.maxTokens = 100, .tokensPerSecond = 1});
    test::after(session, ShowWeightsCommand{now->weights, now->folder, now->folder, "now", now->example});
    CHECK(session.latest()->model->name == "run");
    CHECK(session.latest()->status.activity == Activity::Idle);
    CHECK(session.latest()->sequence->tokens.size() == now->example.tokens.size());
}
