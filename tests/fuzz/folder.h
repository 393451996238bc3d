#pragma once

#include "engine/system/temporary_folder.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn::fuzz {

/// A folder of this process, for readers that take a path. It goes at the end.
class Folder : public TemporaryFolder {
public:
    /// Writes a file of the folder. @return its path
    std::filesystem::path write(const std::string& name, std::string_view bytes) const;
};

/// Folders with the weights of models in tests/golden, for inputs that are a config.json.
class GoldenFolders {
public:
    struct Golden {
        std::string_view mark; ///< part of the config.json of such a model; empty: of any
        std::string_view name; ///< its folder in tests/golden
    };
    explicit GoldenFolders(const std::vector<Golden>& goldens);
    /// The folder of the first model whose mark is in a config. @param config becomes its config.json
    std::filesystem::path with(std::string_view config) const;

private:
    struct Model {
        std::string_view mark;
        std::unique_ptr<Folder> folder; ///< with links to the weights
    };
    std::vector<Model> models_;
};

} // namespace attn::fuzz
