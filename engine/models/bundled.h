#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attn {

/// A trained model that the program ships, in assets/models.
struct BundledModel {
    std::string path;  ///< "builtin:sort"
    std::string title; ///< "sort"
    std::filesystem::path folder;
};

/// By name; from beside the installed program, else from the source tree it was built in. Empty where neither is there.
std::vector<BundledModel> bundledModels();

/// The folder that a path means: of a bundled model, the last checkpoint of a run that goes on, else the path itself.
/// @throws Error naming the bundled models where there is none of this name, or if no path was given
std::filesystem::path modelFolder(const std::string& path);

} // namespace attn
