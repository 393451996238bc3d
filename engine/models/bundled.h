#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attn {

/// A trained model in assets/models.
struct BundledModel {
    std::string path;  ///< "builtin:sort"
    std::string title; ///< "sort"
    std::filesystem::path folder;
};

/// The bundled models by name. Empty if their folder is missing.
std::vector<BundledModel> bundledModels();
/// The models that open as "builtin:...", for help and messages: "builtin:induction, builtin:add, ...". The first is
/// constructed, the others are bundled.
std::string builtinModelNames();

/// The folder of a model: that of a bundled model, the last checkpoint of an unfinished training run, or the path
/// itself.
/// @throws Error if the path is empty or names an unknown bundled model; lists those that exist
std::filesystem::path modelFolder(const std::string& path);

} // namespace attn
