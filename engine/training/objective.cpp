#include "engine/training/objective.h"

#include "engine/training/image_objective.h"
#include "engine/training/sequence_objective.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

namespace attn {

std::string Said::nameOfLosses(std::string_view loss) { return fmt::format("losses.{}", loss); }

std::string Said::nameOfBest(std::string_view loss) { return fmt::format("best.{}", loss); }

std::span<const float> Said::losses(std::string_view loss) const { return executor_->result(nameOfLosses(loss)); }

int32_t Said::best(std::string_view loss, int64_t row) const {
    if (const auto found = chosen_.find(loss); found != chosen_.end()) return found->second[static_cast<size_t>(row)];
    return executor_->resultIntegers(nameOfBest(loss))[static_cast<size_t>(row) * 4]; // rows of one, padded to four
}

std::unique_ptr<Objective> makeObjective(Recipe& recipe) {
    check(recipe);
    const Task& task = taskNamed(recipe.task);
    std::optional<StartingModel> start;
    if (!recipe.start.model.empty()) {
        start = openStartingModel(recipe.start, task);
        recipe = startingFrom(*start, recipe);
    }
    if (task.hasImages()) return std::make_unique<ImageObjective>(recipe, std::move(start));
    return std::make_unique<SequenceObjective>(recipe, std::move(start));
}

} // namespace attn
