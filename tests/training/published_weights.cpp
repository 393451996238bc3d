#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/training/run.h"
#include "engine/training/trainer.h"
#include "engine/training/update_ratios.h"
#include "tests/io/files.h"
#include "tests/support/catch.h"
#include "tests/training/short_runs.h"

#include <cmath>
#include <limits>

// What the views and the curves get from a model that trains.

using namespace attn;
using namespace attn::test;

namespace {

Recipe recipeOf(const std::string& task, const std::string& attention = {}) {
    Recipe recipe{.task = task, .batch = 4};
    recipe.architecture = {.layers = 2, .heads = 2, .width = 16};
    recipe.architecture.attention = attention;
    recipe.schedule = {.rate = 3e-3, .warmUp = 1, .steps = 8};
    return recipe;
}

/// The same parameters in host memory.
std::shared_ptr<const WeightSet> inHostMemory(const Trainer& trainer) {
    auto set = std::make_shared<WeightSet>(WeightSet{.model = trainer.objective().describe(), .values = {}});
    for (const Trainer::Named& parameter : trainer.parameters())
        set->values[parameter.name] = trainer.read(parameter.name);
    return set;
}

std::vector<float> logitsOf(std::shared_ptr<const WeightSet> set, const GivenText& given,
                            Storage storage = Storage::F32) {
    LanguageModel model(makeMemorySource(std::move(set)), {.device = onOneThread(), .storage = storage});
    TextInput input;
    input.tokens = model.info().readsSource ? std::vector<int>{0} : given.tokens;
    if (model.info().readsSource) input.source = given.tokens;
    return model.predict(input);
}

} // namespace

TEST_CASE("published weights: a copy on the device has the bits of one through the host", "[training][gpu]") {
    Recipe recipe = recipeOf("sort");
    SECTION("of the usual model") {}
    SECTION("of layers that share their parameters") {
        recipe = recipeOf("sort", "heads=multi_head(2), mask=causal, layers=shared");
    }
    SECTION("in 16 bits") { recipe.precision = DType::BF16; }
    SECTION("with an encoder") {
        recipe = recipeOf("numbers");
        recipe.architecture.family = "t5";
    }
    Trainer trainer(recipe, onOneThread());
    losses(trainer, 2);
    const auto published = weightsOf(trainer, trainer.objective().describe());
    REQUIRE(published->stored);
    CHECK(published->values.empty());
    const GivenText given = exampleInput(trainer);
    const std::vector<float> expected = logitsOf(inHostMemory(trainer), given);
    CHECK(logitsOf(published, given) == expected);
    CHECK(logitsOf(published, given, Storage::Q8_0) == logitsOf(inHostMemory(trainer), given, Storage::Q8_0));

    losses(trainer, 1); // what is published stays
    CHECK(logitsOf(published, given) == expected);
    CHECK(logitsOf(inHostMemory(trainer), given) != expected);
}

TEST_CASE("published weights: they outlive the trainer, and count the values that are no numbers", "[training][gpu]") {
    std::shared_ptr<const WeightSet> published;
    GivenText given;
    {
        Trainer trainer(recipeOf("sort"), onOneThread());
        auto values = trainer.read("blocks.1.attn.W_Q");
        values[3] = std::numeric_limits<float>::quiet_NaN();
        values[5] = 3e38f; // finite, but its square is not
        trainer.write("blocks.1.attn.W_Q", values);
        given = exampleInput(trainer);
        published = weightsOf(trainer, trainer.objective().describe());
    }
    const LanguageModel model(makeMemorySource(published), {.device = onOneThread()});
    REQUIRE(model.info().warnings.size() == 1);
    CHECK_THAT(model.info().warnings.front(), CONTAINS("1 of 256 values of blocks.1.attn.W_Q are NaN"));
}

TEST_CASE("published weights: those of a model of pictures replace others", "[training][gpu]") {
    Recipe recipe{.task = "shapes", .batch = 4};
    recipe.architecture = {.family = "vit", .layers = 1, .heads = 2, .width = 16};
    recipe.schedule = {.rate = 1e-2, .warmUp = 1, .steps = 8};
    Trainer trainer(recipe, onOneThread());
    VisionModel model(makeMemorySource(weightsOf(trainer, trainer.objective().describe())), {.device = onOneThread()});
    losses(trainer, 2);
    std::unique_ptr<ModelSource> next = makeMemorySource(weightsOf(trainer, trainer.objective().describe()));
    REQUIRE(model.replaceWeights(next));
    for (const ParameterInfo& parameter : model.info().parameters)
        CHECK(model.store().read(parameter.name) == trainer.read(parameter.name));
}

TEST_CASE("update ratios: they are the length of a step by that of the parameters, also with adapters",
          "[training][gpu]") {
    const TemporaryFolder folder;
    Recipe recipe = recipeOf("sort");
    if (GENERATE(false, true)) {
        Trainer first(recipe, onOneThread());
        writeModel(folder / "model", first);
        recipe.start.model = (folder / "model").string();
        recipe.start.adapters = {.rank = 2, .matrices = "*.W_Q,*.W_V"};
    }
    Trainer trainer(recipe, onOneThread());
    UpdateRatios ratios(trainer, GENERATE(UpdateRatios::On::Device, UpdateRatios::On::Host));
    losses(trainer, 1); // the adapters' B begin with zeros
    std::map<std::string, std::vector<float>> before;
    for (const Trainer::Named& each : trainer.parameters())
        if (!trainer.isFrozen(each.name)) before[each.name] = trainer.read(each.name);
    ratios.remember();
    losses(trainer, 1);
    const std::vector<double> found = ratios.measure();
    std::array<double, 3> change{}, length{};
    for (const auto& [name, old] : before) {
        const size_t part = name.starts_with("blocks.0.") ? 1 : name.starts_with("blocks.1.") ? 2 : 0;
        const std::vector<float> now = trainer.read(name);
        for (size_t i = 0; i < now.size(); ++i) {
            change[part] += std::pow(static_cast<double>(now[i]) - static_cast<double>(old[i]), 2);
            length[part] += std::pow(static_cast<double>(old[i]), 2);
        }
    }
    REQUIRE(found.size() == 3);
    for (size_t part = 0; part < 3; ++part) // 1e-4: sums of squares and products in floats
        CHECK(found[part] == Approx(length[part] > 0 ? std::sqrt(change[part] / length[part]) : 0).epsilon(1e-4));
}
