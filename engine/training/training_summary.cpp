#include "engine/training/training_summary.h"

#include "engine/core/error.h"
#include "engine/models/bundled.h"
#include "engine/training/checkpoint.h"
#include "engine/training/metrics.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attn {
namespace fs = std::filesystem;
namespace {

/// The folder of the training run that made a model. @return empty if there is none
fs::path runOf(const std::string& path) {
    const fs::path folder = modelFolder(path);
    std::error_code error;
    for (const fs::path& run : {folder, folder.parent_path().parent_path()})
        if (fs::exists(run / "recipe.json", error)) return run;
    return {};
}

} // namespace

std::string titleOfModel(const std::string& path) { return path.starts_with("builtin:") ? path : folderTitle(path); }

std::string trainingSummary(const std::string& path) {
    try {
        const fs::path run = runOf(path);
        if (run.empty()) return {};
        const Recipe recipe = readRecipe(run / "recipe.json");
        const std::string& start = recipe.start.model;
        const std::string what =
            start.empty() ? "task " + recipe.task : fmt::format("from {}, task {}", titleOfModel(start), recipe.task);
        const std::optional<MetricPoint> last = readNewestMetrics(run);
        if (!last) return what;
        const auto validation = last->find(metric_names::kValidationLoss); // not after every step
        const auto loss = validation ? validation : last->find(metric_names::kLoss);
        const std::string steps = fmt::format("{}, {} steps", what, last->step);
        return loss ? fmt::format("{}, {} {:.2f}", steps, validation ? "validation loss" : "loss", *loss) : steps;
    } catch (const Error&) {
        return {}; // a model opens without them, and builtin:induction has none
    }
}

std::string trainedParameters(const std::string& path) {
    try {
        const fs::path run = runOf(path);
        if (run.empty()) return {};
        const Recipe recipe = readRecipe(run / "recipe.json");
        std::vector<std::string> parameters;
        for (const Param& param : taskNamed(recipe.task).params) {
            const auto given = recipe.settings.values.find(std::string(param.id));
            const double value = given == recipe.settings.values.end() ? param.initial : given->second;
            if (param.kind != Param::Kind::Toggle)
                parameters.push_back(fmt::format("{} {}", param.id, value));
            else if (value != 0)
                parameters.emplace_back(param.id);
        }
        return fmt::format("{}", fmt::join(parameters, ", "));
    } catch (const Error&) {
        return {};
    }
}

Recipe furtherRecipe(const std::string& path, const Task& otherwise) {
    try {
        if (const fs::path run = runOf(path); !run.empty()) {
            const Recipe before = readRecipe(run / "recipe.json");
            Recipe recipe = suggestedRecipe(taskNamed(before.task), path);
            const std::string tokens = recipe.settings.data.tokens;
            recipe.settings = before.settings;
            recipe.settings.data.tokens = tokens;
            return recipe;
        }
    } catch (const Error&) { // no recipe that can be read
    }
    return suggestedRecipe(otherwise, path);
}

} // namespace attn
