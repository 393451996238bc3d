#include "engine/training/adapters.h"
#include "engine/inference/language_model.h"
#include "engine/io/input_file.h"
#include "engine/io/safetensors.h"
#include "engine/training/checkpoint.h"
#include "engine/training/run.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/io/files.h"
#include "tests/training/short_runs.h"

#include <cmath>
#include <set>

using namespace attn;
using attn::test::onOneThread;
using attn::test::sentenceOf;

namespace {

/// Trains low-rank adapters on a model's own task.
Recipe recipeOf(const std::string& task, const std::string& model, LowRankAdapters adapters) {
    Recipe recipe = suggestedRecipe(taskNamed(task), model);
    recipe.start.adapters = std::move(adapters);
    recipe.batch = 4;
    recipe.schedule = {.kind = Schedule::Kind::Constant, .rate = 0.02, .warmUp = 0, .steps = 6};
    return recipe;
}

std::map<std::string, std::vector<float>> parametersOf(const Trainer& trainer) {
    std::map<std::string, std::vector<float>> values;
    for (const Trainer::Named& parameter : trainer.parameters()) values[parameter.name] = trainer.read(parameter.name);
    return values;
}

std::vector<float> tensorOf(const SafetensorsFile& file, const std::string& name) {
    const StoredTensor& tensor = file.tensors().at(name);
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    file.read(tensor, 0, values);
    return values;
}

} // namespace

TEST_CASE("adapters: only the named matrices change, by a difference of the adapters' rank", "[training][gpu]") {
    Trainer trainer(
        recipeOf("reverse", "builtin:reverse", {.rank = 2, .alpha = 4, .matrices = "*.W_Q,blocks.1.*W_out"}),
        onOneThread());
    const auto before = parametersOf(trainer);
    const double first = trainer.step().loss;
    for (int i = 0; i < 3; ++i) trainer.step();
    CHECK(std::isfinite(first));
    std::set<std::string> changed, expected{"blocks.1.mlp.W_out"};
    for (const auto& [name, values] : parametersOf(trainer)) {
        if (values != before.at(name)) changed.insert(name);
        CHECK(trainer.isFrozen(name) == (values == before.at(name)));
        if (name.ends_with("attn.W_Q")) expected.insert(name);
    }
    CHECK(changed == expected);
    int64_t count = 0;
    for (const Adapter& adapter : trainer.adapters()) {
        count += 2 * (adapter.shape[0] + adapter.shape[1]);
        std::vector<float> product = before.at(adapter.matrix);
        addProduct(adapter, 2, product, trainer.read(adapter.nameOfA()), trainer.read(adapter.nameOfB()));
        CHECK(product == trainer.read(adapter.matrix));
    }
    CHECK(trainer.parameterCount() == count);
    CHECK(trainer.parameterCount() < trainer.modelParameterCount());
}

TEST_CASE("adapters: a resumed run equals an unbroken one, also with a batch in parts", "[training][gpu]") {
    const int accumulation = GENERATE(1, 2);
    const TemporaryFolder folder;
    Recipe recipe = recipeOf("numbers", "builtin:numbers-de", {.rank = 3});
    recipe.accumulation = accumulation;
    const auto train = [&](const std::filesystem::path& run, int stop, bool resumes) {
        TrainingRun training(run, resumes ? readRecipe(run / "recipe.json") : recipe, onOneThread(), resumes);
        while (training.trainer().stepsDone() < stop) training.advance();
        training.save();
        auto values = parametersOf(training.trainer());
        for (const Trainer::Named& state : training.trainer().states())
            values[state.name] = training.trainer().read(state.name);
        return values;
    };
    const auto unbroken = train(folder.path() / "a", 6, false);
    train(folder.path() / "b", 3, false);
    CHECK(train(folder.path() / "b", 6, true) == unbroken);
}

TEST_CASE("adapters: gradient checkpointing gives the same bits", "[training][gpu]") {
    Recipe recipe = recipeOf("reverse", "builtin:reverse", {.rank = 2});
    Trainer keeping(recipe, onOneThread());
    recipe.gradientCheckpointing = true;
    Trainer recomputing(recipe, onOneThread());
    for (int i = 0; i < 4; ++i) CHECK(keeping.step().loss == recomputing.step().loss);
}

TEST_CASE("adapters: the folder holds the merged model, and the adapters in PEFT's layout", "[training][gpu]") {
    const TemporaryFolder folder;
    const Recipe recipe = recipeOf("reverse", "builtin:reverse", {.rank = 2, .alpha = 6, .matrices = "*.W_Q,*.W_V"});
    Trainer trainer(recipe, onOneThread());
    for (int i = 0; i < 5; ++i) trainer.step();
    const double loss = trainer.evaluate(Split::Validation, 64).loss;
    writeModel(folder.path() / "model", trainer);

    Trainer merged(recipe, onOneThread()); // the folder's matrices, with adapters that add nothing
    CHECK(merged.evaluate(Split::Validation, 64).loss != Approx(loss).epsilon(1e-3));
    loadWeights(merged, folder.path() / "model");
    CHECK(merged.evaluate(Split::Validation, 64).loss == Approx(loss).epsilon(1e-5));
    CHECK(parametersOf(merged) == parametersOf(trainer));
    CHECK(openModelSource((folder.path() / "model").string())->config().family == "gpt2");

    // GPT-2 keeps queries, keys and values in one tensor [in,out], so that both adapters are one of the rank 4.
    const std::filesystem::path adapter = folder.path() / "model/adapter";
    const std::string config = readTextFile(adapter / "adapter_config.json", 10'000);
    for (const char* field :
         {"\"peft_type\": \"LORA\"", "\"r\": 4", "\"lora_alpha\": 12.0", "\"fan_in_fan_out\": true"})
        CHECK_THAT(config, CONTAINS(field));
    constexpr double scale = 12.0 / 4;
    const SafetensorsFile file(adapter / "adapter_model.safetensors"), now(folder.path() / "model/model.safetensors"),
        before(std::filesystem::path(ATTN_SOURCE_DIR "/assets/models/reverse/model.safetensors"));
    double worst = 0, largest = 0;
    for (const auto& [key, tensor] : file.tensors()) {
        const std::string end = ".lora_A.weight", name = key.substr(0, key.size() - end.size());
        if (!key.ends_with(end)) continue;
        const std::string module = name.substr(std::string("base_model.model.").size());
        CHECK_THAT(config, CONTAINS('"' + module + '"'));
        const auto a = tensorOf(file, name + ".lora_A.weight"), b = tensorOf(file, name + ".lora_B.weight"),
                   w = tensorOf(before, module + ".weight"), merge = tensorOf(now, module + ".weight");
        const size_t in = a.size() / 4, out = b.size() / 4;
        REQUIRE(w.size() == in * out);
        for (size_t i = 0; i < in; ++i)
            for (size_t j = 0; j < out; ++j) {
                double change = 0;
                for (size_t r = 0; r < 4; ++r)
                    change += scale * static_cast<double>(a[r * in + i]) * static_cast<double>(b[j * 4 + r]);
                largest = std::max(largest, std::abs(change));
                worst = std::max(worst, std::abs(static_cast<double>(w[i * out + j]) + change -
                                                 static_cast<double>(merge[i * out + j])));
            }
    }
    CHECK(largest > 1e-3);
    CHECK(worst < 1e-6);
}

TEST_CASE("adapters: with new tokens the embedding is trained too, and the model is written without PEFT's files",
          "[training][gpu]") {
    const TemporaryFolder folder;
    Recipe recipe = recipeOf("sort", "builtin:reverse", {.rank = 2});
    recipe.settings.values = {{"length", 5}};
    Trainer trainer(recipe, onOneThread());
    CHECK_FALSE(trainer.isFrozen("embed.W_E"));
    CHECK(trainer.isFrozen("blocks.0.mlp.W_in"));
    writeModel(folder.path() / "model", trainer);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "model/adapter"));
}

TEST_CASE("adapters: what cannot be is refused in a sentence", "[training]") {
    const auto sentence = [](const StartingPoint& start) {
        return sentenceOf([&] {
            Recipe recipe = suggestedRecipe(taskNamed("reverse"), start.model);
            recipe.start = start;
            Trainer(recipe, onOneThread());
        });
    };
    const std::string model = "builtin:reverse";
    CHECK_THAT(sentence({.adapters = {.rank = 4}}), CONTAINS("there is none to start from"));
    CHECK_THAT(sentence({.model = model, .trained = "norms and readout", .adapters = {.rank = 4}}),
               CONTAINS("leave the model's own parameters as they are"));
    CHECK_THAT(sentence({.model = model, .adapters = {.rank = 1000}}),
               CONTAINS("a rank of 1000 is larger than that of blocks.0.attn.W_Q") && CONTAINS("at most"));
    CHECK_THAT(sentence({.model = model, .adapters = {.rank = 2, .matrices = "*.W_X"}}),
               CONTAINS("no matrix of the model matches \"*.W_X\"") && CONTAINS("blocks.*.attn.W_Q"));
    CHECK_THAT(sentence({.model = model, .adapters = {.rank = 2, .matrices = "*.ln1.w"}}),
               CONTAINS("no matrix of the model matches"));
    CHECK_THAT(sentence({.model = model, .adapters = {.rank = 2, .matrices = " , "}}), CONTAINS("names no matrices"));
}
