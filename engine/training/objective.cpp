#include "engine/training/objective.h"

#include "engine/core/error.h"
#include "engine/models/model_source.h"
#include "engine/training/image_objective.h"
#include "engine/training/sequence_objective.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

namespace attn {

std::string Said::nameOfLosses(std::string_view loss) { return fmt::format("losses.{}", loss); }

std::string Said::nameOfBest(std::string_view loss) { return fmt::format("best.{}", loss); }

std::string Said::nameOfNumbers(std::string_view loss) { return fmt::format("numbers.{}", loss); }

std::span<const float> Said::numbers(std::string_view loss, int64_t row, int64_t width) const {
    const auto stride = static_cast<size_t>(Shape{1, width}.rowStride());
    return executor_->result(nameOfNumbers(loss))
        .subspan(static_cast<size_t>(row) * stride, static_cast<size_t>(width));
}

std::span<const float> Said::losses(std::string_view loss) const { return executor_->result(nameOfLosses(loss)); }

int32_t Said::best(std::string_view loss, int64_t row) const {
    if (const auto found = chosen_.find(loss); found != chosen_.end()) return found->second[static_cast<size_t>(row)];
    return executor_->resultIntegers(nameOfBest(loss))[static_cast<size_t>(row) * 4]; // rows of one, padded to four
}

ModelSpec narrowed(ModelSpec config, int64_t divisor) {
    for (LayerAttention& layer : config.layers) layer.spec.mask = layer.spec.mask.narrowed(divisor);
    return config;
}

ReadStored openWritten(const std::filesystem::path& folder, ClassActivation activation) {
    std::shared_ptr<const ModelSource> source = openModelSource(folder.string());
    if (const ClassActivation found = source->config().classReadout().activation; found != activation)
        throw Error({.what = fmt::format("{} says what the training run does not teach: {}", source->config().name,
                                         meaningOf(found)),
                     .where = folder.string(),
                     .hint = fmt::format("restore problem_type in config.json: {}", problemType(activation))});
    return [source = std::move(source)](const std::string& parameter, const Shape& shape, const RowWriter& write) {
        source->read(parameter, shape, write);
    };
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
