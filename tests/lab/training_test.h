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

/// A run that takes a second: reverse, 1 layer of width 16.
inline void setSmallRecipe(LabWindow& lab, int64_t steps) {
    Recipe recipe = suggestedRecipe(*taskCatalogue().front());
    recipe.task = "reverse";
    recipe.architecture = {.layers = 2, .heads = 2, .width = 16};
    recipe.batch = 8;
    recipe.schedule.steps = steps;
    recipe.evaluateEvery = 10;
    recipe.checkpointEvery = 5;
    lab.window().workbench().requestRecipe(recipe);
}

inline const std::vector<PlotFigure::Line>& lossCurves(LabWindow& lab) {
    return static_cast<const FigureView<PlotFigure>&>(lab.find<QWidget>("lossChart")).figure().lines;
}

} // namespace attn
