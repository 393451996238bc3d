#include "engine/models/bundled.h"

#include "engine/core/error.h"
#include "engine/io/run_folder.h"
#include "engine/system/assets.h"
#include "engine/system/folder.h"

#include <algorithm>

namespace attn {
namespace fs = std::filesystem;

std::vector<BundledModel> bundledModels() {
    std::error_code error;
    std::vector<BundledModel> models;
    for (const fs::path& entry : entriesOf(assetsFolder("models"), error)) {
        const std::string name = entry.filename().string();
        if (fs::exists(entry / "config.json", error)) models.push_back({"builtin:" + name, name, entry});
    }
    std::ranges::sort(models, {}, &BundledModel::title);
    return models;
}

std::string builtinModelNames() {
    std::string names = "builtin:induction";
    for (const BundledModel& model : bundledModels()) names += ", " + model.path;
    return names;
}

fs::path modelFolder(const std::string& path) {
    constexpr std::string_view kBuiltin = "builtin:";
    if (path.starts_with(kBuiltin)) {
        for (const BundledModel& model : bundledModels())
            if (path == model.path) return model.folder;
        if (path == "builtin:induction")
            throw Error(
                {.what = "this model was not trained: it has no folder, no training run and no task",
                 .where = path,
                 .hint =
                     "choose a model that was trained, such as builtin:sort, or train one with the task induction"});
        throw Error({.what = "there is no built-in model \"" + path.substr(kBuiltin.size()) + "\"",
                     .where = path,
                     .hint = "there are " + builtinModelNames()});
    }
    if (path.empty())
        throw Error({.what = "no model was named",
                     .where = {},
                     .hint = "name a model folder, or one of " + builtinModelNames()});
    std::error_code error;
    if (!fs::exists(fs::path(path) / "config.json", error) && !error) // an unfinished training run
        if (const auto all = checkpoints(path); !all.empty()) return all.back();
    return path;
}

} // namespace attn
