#include "tests/fuzz/fuzz.h"
#include "engine/io/json_file.h"
#include "tests/fuzz/folder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace attn::fuzz {

void require(bool holds, const char* claim) {
    if (holds) return;
    std::fprintf(stderr, "this should hold but does not: %s\n", claim);
    std::abort();
}

void withJson(std::string_view text, const std::string& file, const std::function<void(const nlohmann::json&)>& read) {
    read(parseJson(text, file));
}

std::filesystem::path Folder::write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = *this / name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
}

GoldenFolders::GoldenFolders(const std::vector<Golden>& goldens) {
    for (const Golden& golden : goldens) {
        models_.push_back({golden.mark, std::make_unique<Folder>()});
        for (const auto& entry :
             std::filesystem::directory_iterator(std::filesystem::path(ATTN_TEST_DIR) / "golden" / golden.name))
            if (const std::string name = entry.path().filename(); name.starts_with("model"))
                std::filesystem::create_symlink(entry.path(), *models_.back().folder / name);
    }
}

std::filesystem::path GoldenFolders::with(std::string_view config) const {
    const auto fits = [&](const Model& model) { return config.find(model.mark) != std::string_view::npos; };
    const Folder& folder = *std::ranges::find_if(models_, fits)->folder;
    folder.write("config.json", config);
    return folder.path();
}

} // namespace attn::fuzz
