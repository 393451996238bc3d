#pragma once

#include "engine/runtime/device.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace attn::cli {

struct EvalOptions {
    std::string path, split = "validation", data;
    DeviceChoice device;
    std::vector<std::string> closed; ///< "layer.head"
    bool sweepsHeads = false, json = false;
};

/// The heads that --close names, as layer and head. @throws Error naming what is written otherwise
std::vector<std::pair<int, int>> closedHeads(const EvalOptions& options);

/// Measures what a model says of the rows of options.data, or of the examples of its training run, and prints it.
/// @param recipe of the training run; read only without options.data  @return the exit code
/// @throws Error if the model does not answer with classes or numbers of a whole text or picture, or the rows do not
/// fit
int evaluateLabels(const EvalOptions& options, const std::filesystem::path& recipe);

} // namespace attn::cli
