#pragma once

#include "app/figures/plot_figure.h"
#include "app/lab/widgets/figure_view.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/lab_window.h"

namespace attn {

inline const TrainingSnapshot& training(LabWindow& lab) { return *lab.window().workbench().training().snapshot(); }

inline bool trainsToItsEnd(LabWindow& lab) {
    return lab.waitFor([&] { return training(lab).state == TrainingSnapshot::State::Finished; }) && lab.settle();
}

/// A run whose steps take milliseconds: reverse, 2 layers of width 16.
inline Recipe smallRecipe(int64_t steps, int64_t evaluateEvery = 10, int64_t checkpointEvery = 5) {
    Recipe recipe = suggestedRecipe(taskNamed("reverse"));
    recipe.architecture = {.layers = 2, .heads = 2, .width = 16};
    recipe.batch = 8;
    recipe.schedule.steps = steps;
    recipe.evaluateEvery = evaluateEvery;
    recipe.checkpointEvery = checkpointEvery;
    return recipe;
}

inline void setSmallRecipe(LabWindow& lab, int64_t steps) {
    lab.window().workbench().requestRecipe(smallRecipe(steps));
}

inline const std::vector<PlotFigure::Line>& lossCurves(LabWindow& lab) {
    return static_cast<const FigureView<PlotFigure>&>(lab.find<QWidget>("lossChart")).figure().lines;
}

} // namespace attn
