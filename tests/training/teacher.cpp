#include "engine/inference/language_model.h"
#include "engine/models/hook_names.h"
#include "engine/models/memory_source.h"
#include "engine/training/checkpoint.h"
#include "engine/training/forward_copy.h"
#include "engine/training/run.h"
#include "engine/training/sequence_objective.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/training/short_runs.h"

#include <cmath>

// Two models in one store: a student learns from a teacher, which lies under a prefix.

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char* kPrefix = "teacher.";

/// A model that learns a task from a larger one alone.
class Distilled : public SequenceObjective {
public:
    Distilled(const Recipe& recipe, const Recipe& teacher, const Trainer& trained)
        : SequenceObjective(recipe), teacher_(teacher), trained_(trained) {}

    Forward forward(int rows, double dropout, int64_t windowDivisor) const override {
        Forward own = SequenceObjective::forward(rows, dropout, windowDivisor);
        Forward other = beside(own.graph, teacher_.forward(rows, 0), kPrefix);
        own.losses.push_back({.name = "distillation",
                              .prediction = own.losses.front().prediction,
                              .perRow = own.losses.front().perRow,
                              .metric = "distillation",
                              .kind = NamedLoss::Kind::Divergence,
                              .targets = Batch::kTargets,
                              .teacher = other.losses.front().prediction});
        own.losses.front().weight = 0;
        auto& constants = own.partTensors.constants;
        constants.insert(constants.end(), other.partTensors.constants.begin(), other.partTensors.constants.end());
        return own;
    }
    void fill(GpuExecutor& executor, const Batch& batch) const override {
        SequenceObjective::fill(executor, batch);
        for (const Site& site : teacher_.structure().sites)
            if (const std::string name = kPrefix + site.inSite("gates"); executor.hasInput(name))
                std::ranges::fill(executor.input(name), 1.0f);
    }
    bool isOther(const std::string& parameter) const override { return parameter.starts_with(kPrefix); }
    std::vector<float> startOf(const std::string& parameter, const Shape& shape,
                               std::vector<float> fresh) const override {
        if (isOther(parameter)) return trained_.read(parameter.substr(std::string(kPrefix).size()));
        return SequenceObjective::startOf(parameter, shape, std::move(fresh));
    }

private:
    SequenceObjective teacher_;
    const Trainer& trained_;
};

Recipe recipeOf(int64_t layers, int64_t width, const std::string& attention = {}) {
    Recipe recipe{.task = "sort", .batch = 8};
    recipe.architecture = {.layers = layers, .heads = 2, .width = width, .attention = attention};
    recipe.architecture.initialDeviation = 0.1;
    recipe.schedule = {.rate = 1e-2, .warmUp = 2, .steps = 200};
    return recipe;
}

/// log p of the choices after each row of a batch that has a target, as the model of a trainer gives them.
std::vector<std::vector<double>> logProbabilities(const Trainer& trainer, const Batch& batch, int rows) {
    LanguageModel model(makeMemorySource(weightsOf(trainer, trainer.objective().describe())),
                        {.device = onOneThread()});
    const auto width = static_cast<size_t>(batch.width(Batch::kInputs));
    std::vector<std::vector<double>> all;
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
        std::vector<int> tokens;
        for (size_t column = 0; column < width; ++column) {
            tokens.push_back(std::max(batch[Batch::kInputs][row * width + column], 0));
            if (batch[Batch::kTargets][row * width + column] == Batch::kIgnored) continue;
            const std::vector<float> logits = model.predict(Input(TextInput{.tokens = tokens}));
            double sum = 0;
            for (const float each : logits) sum += std::exp(static_cast<double>(each));
            all.emplace_back();
            for (const float each : logits) all.back().push_back(static_cast<double>(each) - std::log(sum));
        }
    }
    return all;
}

} // namespace

TEST_CASE("two models: a student learns what its teacher says, and the teacher stays", "[training][gpu]") {
    const Recipe large = recipeOf(2, 24, "position=alibi, mask=causal"), small = recipeOf(1, 16);
    Trainer teacher(large, onOneThread());
    losses(teacher, 150);
    const MakeObjective make = [&](Recipe& recipe) { return std::make_unique<Distilled>(recipe, large, teacher); };
    Trainer student(small, onOneThread(), {}, make);
    for (const Trainer::Named& parameter : student.parameters()) CHECK_FALSE(parameter.name.starts_with(kPrefix));

    const Batch batch = student.objective().questions(Split::Validation, 0, 8);
    const auto taught = logProbabilities(teacher, batch, 8), own = logProbabilities(student, batch, 8);
    double divergence = 0;
    for (size_t row = 0; row < taught.size(); ++row)
        for (size_t i = 0; i < taught[row].size(); ++i)
            divergence +=
                std::exp(taught[row][i]) * (taught[row][i] - own[row][i]) / static_cast<double>(taught.size());
    // The models that people use compute with caches: 1e-4.
    CHECK(student.evaluate(Split::Validation, 8).shares.at("distillation") == Approx(divergence).epsilon(1e-4));

    const std::vector<float> before = student.read("teacher.blocks.0.attn.W_Q");
    CHECK(before == teacher.read("blocks.0.attn.W_Q"));
    const double far = student.evaluate(Split::Validation, 256).shares.at("distillation");
    losses(student, 60);
    CHECK(student.evaluate(Split::Validation, 256).shares.at("distillation") < 0.8 * far);
    CHECK(student.read("teacher.blocks.0.attn.W_Q") == before);

    const TemporaryFolder folder; // a run resumes with the teacher, and its files are the student's alone
    Trainer again(small, onOneThread(), {}, make);
    resume(again, saveCheckpoint(folder / "run", student));
    CHECK(losses(again, 3) == losses(student, 3));
    writeModel(folder / "model", student);
    const LanguageModel opened(openModelSource((folder / "model").string()), {.device = onOneThread()});
    CHECK(opened.config().layers.size() == 1);
}
