#pragma once

#include "tests/models/vision_folder.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace attn::test {

/// A copy of one of the small vision models, to be broken.
class VisionFolderCopy {
public:
    explicit VisionFolderCopy(const std::string& name) {
        for (const char* file : {"config.json", "preprocessor_config.json", "model.safetensors"})
            if (fs::exists(kGoldenRoot / name / file)) fs::copy_file(kGoldenRoot / name / file, folder_ / file);
    }
    const fs::path& path() const { return folder_.path(); }
    fs::path operator/(const std::string& name) const { return folder_ / name; }

    /// Changes a file as JSON.
    template <class Change> void edit(const std::string& file, const Change& change) {
        nlohmann::json json = nlohmann::json::parse(std::ifstream(folder_ / file));
        change(json);
        writeFile(folder_ / file, json.dump());
    }
    /// Changes the header of model.safetensors as JSON; the data stays.
    template <class Change> void editHeader(const Change& change) {
        std::ifstream stream(folder_ / "model.safetensors", std::ios::binary);
        const std::string file((std::istreambuf_iterator<char>(stream)), {});
        uint64_t length = 0;
        std::memcpy(&length, file.data(), sizeof(length));
        nlohmann::json header = nlohmann::json::parse(file.substr(8, length));
        change(header);
        writeFile(folder_ / "model.safetensors", safetensors(header.dump(), file.substr(8 + length)));
    }

private:
    TemporaryFolder folder_;
};

} // namespace attn::test
