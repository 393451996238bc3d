#include "engine/training/attention_recipe.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/execution.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"
#include "engine/models/vision_grid.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/image_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace attn {
namespace {

/// The task that shows the parts of a slot, the most characteristic slot first.
constexpr std::array<std::pair<Slot, std::string_view>, 9> kTasks{{{Slot::Memory, "associative-recall"},
                                                                   {Slot::Mixer, "copy"},
                                                                   {Slot::Normaliser, "modular-addition"},
                                                                   {Slot::Score, "modular-addition"},
                                                                   {Slot::Projections, "induction"},
                                                                   {Slot::Mask, "induction"},
                                                                   {Slot::Output, "modular-addition"},
                                                                   {Slot::Position, "copy"},
                                                                   {Slot::Heads, "compare"}}};
constexpr int64_t kLeastHeadWidth = 8;

/// The smallest usual size of a picture of pixels that blocks fill; none if no size is.
std::optional<int> sizeFilledBy(const ImageSize& block) {
    for (int size = 12; size <= 32; ++size)
        if (size % block.height == 0 && size % block.width == 0) return size;
    return std::nullopt;
}

} // namespace

Slot specialSlot(const AttentionSpec& spec) {
    const AttentionSpec usual;
    for (const auto& [slot, task] : kTasks) {
        const bool isSpecial = slot == Slot::Mask ? spec.mask != usual.mask && spec.mask != MaskExpression::causal()
                                                  : spec.parts.at(slot) != usual.parts.at(slot);
        if (isSpecial) return slot;
    }
    return Slot::Position;
}

Recipe suggestedRecipe(const AttentionSpec& spec, std::optional<Slot> slot) {
    const auto task =
        std::ranges::find(kTasks, slot.value_or(specialSlot(spec)), [](const auto& row) { return row.first; });
    const bool isAhead = looksAhead(spec, AttentionUse().queries);
    // A mask of a grid that looks at earlier tokens only is one for pictures that are written.
    const bool isOfPixels = knowsGrid(spec) && !isAhead && spec.mask != MaskExpression::causal();
    const bool isOfPicture = knowsGrid(spec) && !isOfPixels;
    const bool isEncoder = !isOfPicture && isAhead;
    const bool hasSegments = isEncoder && spec.part(Slot::Position).position.namesSegments;
    const bool hasTree = isEncoder && spec.part(Slot::Position).position.tree;
    Recipe recipe = suggestedRecipe(taskNamed(isOfPicture            ? "shapes"
                                              : isOfPixels           ? "pixels"
                                              : hasSegments          ? "cpc"
                                              : hasTree              ? "dependencies"
                                              : isEncoder            ? "masked-text"
                                              : task == kTasks.end() ? kTasks.back().second
                                                                     : task->second));
    if (hasSegments)
        for (const auto& [setting, value] : {std::pair{"segments", "g"}, {"length", "n"}})
            recipe.settings.values[setting] = spec.values(Slot::Position).real(value);
    if (isEncoder && !hasTree) recipe.settings.data.text = "builtin:stories";
    Architecture& model = recipe.architecture;
    const int64_t heads = headCounts(spec).heads;
    model.heads = heads;
    if (const Part* residual = spec.blockPart(Slot::Residual); residual && residual->block->leastLayers)
        model.layers = std::max(model.layers, residual->block->leastLayers(spec.values(Slot::Residual)));
    // An even head width, which rotary positions need.
    model.width = (std::max(model.width, kLeastHeadWidth * heads) + 2 * heads - 1) / (2 * heads) * (2 * heads);
    AttentionSpec trained = spec;
    if (saysOnlyCount(trained)) trained.reset(Slot::Heads); // the model sets the number
    if (isOfPicture) {
        const ImageSize size = makeImageTask(taskNamed(recipe.task), recipe.settings)->size();
        setGrid(trained, {size.height / model.patch, size.width / model.patch});
    }
    if (isOfPixels) {
        const ImageSize block = blockOf(spec);
        if (const auto size = sizeFilledBy(block); block.height > 1 && size)
            recipe.settings.values = {{"size", *size}, {"block_height", block.height}, {"block_width", block.width}};
        const WrittenPicture picture = *makeTask(taskNamed(recipe.task), recipe.settings)->picture();
        setGrid(trained, {picture.rows, picture.columns * picture.channels}, WrittenPicture::kLeading,
                blockOf(picture));
    }
    model.attention = trained.text();
    return withMoments(std::move(recipe));
}

std::string trainCommand(const Recipe& recipe) {
    const Architecture &model = recipe.architecture, usual = suggestedRecipe(taskNamed(recipe.task)).architecture;
    std::string command = "attention-cli train --task " + recipe.task;
    if (!recipe.settings.data.text.empty()) command += " --text " + recipe.settings.data.text.string();
    for (const auto& [setting, value] : recipe.settings.values) command += fmt::format(" --set {}={}", setting, value);
    if (model.layers != usual.layers) command += fmt::format(" --layers {}", model.layers);
    if (model.heads != usual.heads) command += fmt::format(" --heads {}", model.heads);
    if (model.width != usual.width) command += fmt::format(" --width {}", model.width);
    return command + fmt::format(" --attention '{}' --out run", model.attention);
}

Recipe withMoments(Recipe recipe) {
    recipe.evaluateEvery = std::max<int64_t>(1, recipe.schedule.steps / 20);
    recipe.checkpointEvery = std::max<int64_t>(1, recipe.schedule.steps / 40);
    return recipe;
}

} // namespace attn
