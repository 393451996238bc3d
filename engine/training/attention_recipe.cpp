#include "engine/training/attention_recipe.h"

#include "engine/attention/head_counts.h"
#include "engine/training/tasks/catalogue.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

/// The task that shows the parts of a slot, the most characteristic slot first.
constexpr std::array<std::pair<Slot, std::string_view>, 8> kTasks{{{Slot::Memory, "associative-recall"},
                                                                   {Slot::Mixer, "copy"},
                                                                   {Slot::Normaliser, "modular-addition"},
                                                                   {Slot::Score, "modular-addition"},
                                                                   {Slot::Mask, "induction"},
                                                                   {Slot::Output, "modular-addition"},
                                                                   {Slot::Position, "copy"},
                                                                   {Slot::Heads, "compare"}}};
constexpr int64_t kLeastHeadWidth = 8;

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
    Recipe recipe = suggestedRecipe(taskNamed(task == kTasks.end() ? kTasks.back().second : task->second));
    Architecture& model = recipe.architecture;
    const int64_t heads = headCounts(spec).heads;
    model.heads = heads;
    // An even head width, which rotary positions need.
    model.width = (std::max(model.width, kLeastHeadWidth * heads) + 2 * heads - 1) / (2 * heads) * (2 * heads);
    AttentionSpec trained = spec;
    if (saysOnlyCount(trained)) trained.reset(Slot::Heads); // the model sets the number
    model.attention = trained.text();
    if (const auto problem = attentionProblem(model); problem && !problem->nearest.empty()) {
        AttentionSpec nearest = AttentionSpec::parse(problem->nearest);
        if (nearest.parts == trained.parts) model.attention = problem->nearest;
    }
    return withMoments(std::move(recipe));
}

Recipe withMoments(Recipe recipe) {
    recipe.evaluateEvery = std::max<int64_t>(1, recipe.schedule.steps / 20);
    recipe.checkpointEvery = std::max<int64_t>(1, recipe.schedule.steps / 40);
    return recipe;
}

} // namespace attn
