#include "engine/training/training_summary.h"

#include "engine/core/error.h"
#include "engine/models/bundled.h"
#include "engine/training/checkpoint.h"
#include "engine/training/metrics.h"

#include <fmt/format.h>

namespace attn {
namespace fs = std::filesystem;
namespace {

/// "builtin:stories", or the title of a folder.
std::string titleOf(const std::string& model) { return model.starts_with("builtin:") ? model : folderTitle(model); }

} // namespace

std::string trainingSummary(const std::string& path) {
    try {
        const fs::path folder = modelFolder(path);
        std::error_code error;
        const fs::path run = fs::exists(folder / "recipe.json", error) ? folder : folder.parent_path().parent_path();
        if (!fs::exists(run / "recipe.json", error)) return {};
        const Recipe recipe = readRecipe(run / "recipe.json");
        const std::string& start = recipe.start.model;
        const std::string what =
            start.empty() ? "task " + recipe.task : fmt::format("from {}, task {}", titleOf(start), recipe.task);
        const std::optional<MetricPoint> last = readNewestMetrics(run);
        if (!last || !last->validationLoss) return what;
        return fmt::format("{}, {} steps, validation loss {:.2f}", what, last->step, *last->validationLoss);
    } catch (const Error&) {
        return {}; // a model opens without them, and builtin:induction has none
    }
}

} // namespace attn
