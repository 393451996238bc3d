#include "engine/training/training_summary.h"

#include "engine/core/error.h"
#include "engine/models/bundled.h"
#include "engine/training/checkpoint.h"
#include "engine/training/metrics.h"

#include <fmt/format.h>

namespace attn {
namespace fs = std::filesystem;

std::string trainingSummary(const std::string& path) {
    try {
        const fs::path folder = modelFolder(path);
        std::error_code error;
        const fs::path run = fs::exists(folder / "recipe.json", error) ? folder : folder.parent_path().parent_path();
        if (!fs::exists(run / "recipe.json", error)) return {};
        const Recipe recipe = readRecipe(run / "recipe.json");
        const std::optional<MetricPoint> last = readNewestMetrics(run);
        if (!last || !last->validationLoss) return fmt::format("task {}", recipe.task);
        return fmt::format("task {}, {} steps, validation loss {:.2f}", recipe.task, last->step, *last->validationLoss);
    } catch (const Error&) {
        return {}; // a model opens without them, and builtin:induction has none
    }
}

} // namespace attn
