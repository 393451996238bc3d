#pragma once

#include "engine/inference/language_model.h"
#include "engine/models/model_source.h"
#include "engine/training/run.h"
#include "tests/io/files.h"

namespace attn::test {

/// A model of composed attention after a few steps, opened from its run's folder.
class TrainedModel {
public:
    explicit TrainedModel(const std::string& attention) {
        Recipe recipe{.task = "reverse", .batch = 4};
        recipe.architecture = {.layers = 2, .heads = 2, .width = 16, .attention = attention, .initialDeviation = 0.2};
        recipe.schedule = {.rate = 3e-3, .warmUp = 2, .steps = 3};
        const DeviceChoice device{.softwareThreads = 0, .validation = true};
        TrainingRun run(folder_ / "run", recipe, device, false);
        while (!run.isFinished()) run.advance();
        run.finish();
        model_.emplace(openModelSource((folder_ / "run").string()),
                       LanguageModel::Options{.device = device, .inspects = true});
    }
    LanguageModel* operator->() { return &*model_; }
    LanguageModel& operator*() { return *model_; }

private:
    TemporaryFolder folder_;
    std::optional<LanguageModel> model_;
};

} // namespace attn::test
