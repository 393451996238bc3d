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

} // namespace attn
