#pragma once

#include "engine/io/input_file.h"
#include "tests/models/vision_folder.h"

#include <regex>

namespace attn::test {

/// Copies a text model of the goldens into a folder, and lets it take so many tokens. @return the copy
inline fs::path longerModel(const fs::path& folder, const std::string& name, int context) {
    fs::create_directories(folder);
    const fs::path copy = folder / (name + std::to_string(context));
    fs::copy(kGoldenRoot / name, copy, fs::copy_options::recursive);
    const std::regex field("(\"max_position_embeddings\": )[0-9]+");
    writeFile(copy / "config.json",
              std::regex_replace(readTextFile(copy / "config.json", 1 << 20), field, "$01" + std::to_string(context)));
    return copy;
}

} // namespace attn::test
