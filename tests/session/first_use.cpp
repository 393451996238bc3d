#include "engine/runtime/device.h"
#include "engine/session/training_session.h"
#include "engine/training/recipe.h"
#include "tests/gpu/scoped_environment.h"
#include "tests/session/session_test.h"

#include <mutex>
#include <set>
#include <thread>

using namespace attn;
using namespace attn::test;

namespace {

/// Whether a session says while it opens a model that it prepares the engine.
/// @param kernels folder that holds the engine's kernels before the session ends
bool preparesEngine(const OpenModelCommand& open, const std::filesystem::path& kernels) {
    std::atomic<bool> isAnnounced = false; // before the session, whose thread sets it
    Session session(kShaderDevice);
    session.setListener([&] {
        const auto snapshot = session.latest();
        if (snapshot->status.activity != Activity::Idle && snapshot->status.preparesEngine) isAnnounced = true;
    });
    CHECK_FALSE(after(session, open)->status.preparesEngine);
    session.setListener({});
    while (std::filesystem::is_empty(kernels)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return isAnnounced;
}

} // namespace

TEST_CASE("first use: only the first start prepares the engine", "[session][gpu]") {
    const TemporaryFolder folder;
    const gpu::ScopedEnvironment cache("XDG_CACHE_HOME", folder.path().c_str());
    OpenModelCommand open{.path = kInduction};
    SECTION("of a text") {}
    SECTION("of a picture") {
        open.path = "builtin:vit-shapes";
        open.given.picture.image = std::make_shared<const Image>(Image{8, 8, std::vector<uint8_t>(3 * 8 * 8, 128)});
    }
    CHECK(preparesEngine(open, folder.path()));
    CHECK_FALSE(preparesEngine(open, folder.path()));
}

TEST_CASE("first use: a run needs no kernel that was not prepared", "[session][gpu]") {
    Recipe recipe{.task = "reverse", .batch = 8};
    recipe.architecture = {.layers = 1, .heads = 2, .width = 16};
    recipe.schedule = {.rate = 3e-3, .warmUp = 2, .steps = 4};
    recipe.evaluateEvery = 2;
    const TemporaryFolder folder;
    const auto device = Device::shared(kShaderDevice);
    TrainingSession session(kShaderDevice);
    session.prepare(recipe);
    CHECK(idle(session)->preparation == -1);
    CHECK(session.latest()->state == TrainingSnapshot::State::None);
    CHECK(session.takePoints().empty());
    const size_t kernels = device->kernelCount();
    CHECK(kernels > 0);
    session.start(folder.path() / "run", recipe, true);
    CHECK(idle(session)->state == TrainingSnapshot::State::Finished);
    CHECK(device->kernelCount() == kernels);
    session.prepare(recipe); // a run is open
    CHECK(idle(session)->state == TrainingSnapshot::State::Finished);
}

TEST_CASE("first use: preparation says how far it is at the first start only", "[session][gpu]") {
    const Recipe recipe = [] {
        Recipe small{.task = "reverse", .batch = 8};
        small.architecture = {.layers = 1, .heads = 2, .width = 16};
        return small;
    }();
    const TemporaryFolder folder;
    const gpu::ScopedEnvironment cache("XDG_CACHE_HOME", folder.path().c_str());
    const auto shares = [&] {
        std::mutex mutex; // before the session, whose thread uses both
        std::set<double> said;
        TrainingSession session(kShaderDevice);
        session.setListener([&] {
            const std::lock_guard lock(mutex);
            if (const double share = session.latest()->preparation; share >= 0) said.insert(share);
        });
        session.prepare(recipe);
        CHECK(idle(session)->preparation == -1);
        session.setListener({});
        return said.size();
    };
    const size_t first = shares();
    const bool isSoftware = Device::shared(kShaderDevice)->traits().isSoftware;
    CHECK(first > (isSoftware ? 4 : 1)); // a card's driver compiles several between two looks
    CHECK(shares() == 0);
}

TEST_CASE("first use: a run that starts does not wait for the preparation", "[session][gpu]") {
    Recipe recipe{.task = "reverse", .batch = 8};
    recipe.architecture = {.layers = 1, .heads = 2, .width = 16};
    recipe.schedule = {.rate = 3e-3, .warmUp = 2, .steps = 4};
    const TemporaryFolder folder, cacheFolder;
    const gpu::ScopedEnvironment cache("XDG_CACHE_HOME", cacheFolder.path().c_str());
    std::atomic<bool> wasSaidAfter = false; // before the session, whose thread sets it
    TrainingSession session(kShaderDevice);
    session.setListener([&] {
        const auto snapshot = session.latest();
        if (snapshot->preparation >= 0 && snapshot->state != TrainingSnapshot::State::None) wasSaidAfter = true;
    });
    session.prepare(recipe);
    session.start(folder.path() / "run", recipe, true);
    CHECK(idle(session)->state == TrainingSnapshot::State::Finished);
    CHECK(session.latest()->preparation == -1);
    CHECK_FALSE(wasSaidAfter);
    session.setListener({});
}
