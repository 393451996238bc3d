#include "engine/io/weight_source.h"

#include "engine/core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace attn {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> listing(const fs::path& folder) {
    std::error_code error;
    std::vector<std::string> names;
    fs::directory_iterator entries(folder, error);
    if (error) throw Error({.what = fmt::format("cannot be read: {}", error.message()), .where = folder.string(), .hint = "give yourself permission to read the folder"});
    for (const auto& entry : entries) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    if (names.size() > 12) names.resize(12);
    return names;
}

/// The folder that holds config.json: the path itself, a file's folder, or the current snapshot of a cache.
fs::path modelFolder(const fs::path& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) throw Error({.what = "there is no such file or folder", .where = path.string(), .hint = "check the path"});
    if (error) throw Error({.what = fmt::format("cannot be read: {}", error.message()), .where = path.string(), .hint = "check the permissions"});
    if (fs::is_regular_file(status)) {
        if (path.extension() == ".safetensors" || path.filename() == "config.json") return path.parent_path().empty() ? fs::path(".") : path.parent_path();
        throw Error({.what = fmt::format("\"{}\" files cannot be opened", path.extension().string()), .where = path.string(), .hint = "open a Hugging Face folder or a .safetensors file"});
    }
    if (fs::exists(path / "config.json", error) || !fs::is_directory(path / "snapshots", error)) return path;
    if (std::ifstream head(path / "refs" / "main"); head) {
        std::string snapshot;
        head >> snapshot;
        if (!snapshot.empty() && fs::is_directory(path / "snapshots" / snapshot, error)) return path / "snapshots" / snapshot;
    }
    for (const auto& entry : fs::directory_iterator(path / "snapshots", error)) return entry.path();
    return path;
}

size_t editDistance(const std::string& a, const std::string& b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = std::exchange(row[0], i);
        for (size_t j = 1; j <= b.size(); ++j) diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)}));
    }
    return row.back();
}

} // namespace

std::string readTextFile(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || fs::is_directory(path)) throw Error({.what = "cannot be read", .where = path.string(), .hint = "check that it exists and that you may read it"});
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

nlohmann::json readJsonFile(const fs::path& path) {
    try {
        return nlohmann::json::parse(readTextFile(path));
    } catch (const nlohmann::json::exception& error) {
        throw Error({.what = fmt::format("is not valid JSON ({})", error.what()), .where = path.string(), .hint = "fetch the file again"});
    }
}

WeightSource::WeightSource(const fs::path& path) : folder_(modelFolder(path)) {
    const std::vector<std::string> found = listing(folder_);
    if (!fs::exists(folder_ / "config.json"))
        throw Error({.what = fmt::format("has no config.json; it holds {}", found.empty() ? "nothing" : fmt::format("{}", fmt::join(found, ", "))), .where = folder_.string(), .hint = "open a Hugging Face model folder"});
    config_ = readJsonFile(folder_ / "config.json");
    if (!config_.is_object()) throw Error({.what = "is not a JSON object", .where = configFile(), .hint = "fetch the file again"});

    if (fs::is_regular_file(path) && path.extension() == ".safetensors" && !fs::exists(folder_ / "model.safetensors.index.json")) {
        addFile(path);
    } else if (fs::exists(folder_ / "model.safetensors")) {
        addFile(folder_ / "model.safetensors");
    } else if (fs::exists(folder_ / "model.safetensors.index.json")) {
        openShards(folder_ / "model.safetensors.index.json");
    } else {
        const bool isPickled = fs::exists(folder_ / "pytorch_model.bin");
        throw Error({.what = fmt::format("has no model.safetensors; it holds {}", fmt::join(found, ", ")),
                     .where = folder_.string(),
                     .hint = isPickled ? "pytorch_model.bin can run code and is not opened: save the model with safe_serialization=True" : "fetch model.safetensors"});
    }
}

void WeightSource::openShards(const fs::path& index) {
    const nlohmann::json json = readJsonFile(index);
    const auto map = json.find("weight_map");
    if (!json.is_object() || map == json.end() || !map->is_object()) throw Error({.what = "has no \"weight_map\"", .where = index.string(), .hint = "fetch the file again"});
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
        if (!shard.is_string() || shard.get<std::string>().find('/') != std::string::npos)
            throw Error({.what = fmt::format("names no shard for tensor \"{}\"", tensor), .where = index.string(), .hint = "fetch the file again"});
        shards.insert(shard.get<std::string>());
    }
    for (const std::string& shard : shards)
        if (!fs::exists(folder_ / shard))
            throw Error({.what = fmt::format("the shard {} is missing", shard), .where = folder_.string(), .hint = fmt::format("fetch all {} shards that the index names", shards.size())});
    for (const std::string& shard : shards) addFile(folder_ / shard);
    for (const auto& [tensor, shard] : map->items())
        if (!places_.contains(tensor))
            throw Error({.what = fmt::format("the index promises tensor \"{}\" in {}, which does not hold it", tensor, shard.get<std::string>()), .where = index.string(), .hint = "fetch the shard again"});
}

void WeightSource::addFile(const fs::path& path) {
    files_.emplace_back(path);
    for (const auto& [name, tensor] : files_.back().tensors()) places_[name] = files_.size() - 1;
}

std::vector<std::string> WeightSource::names() const {
    std::vector<std::string> result;
    for (const auto& [name, place] : places_) result.push_back(name);
    return result;
}

const StoredTensor& WeightSource::tensor(const std::string& name) const {
    if (const auto found = places_.find(name); found != places_.end()) return files_[found->second].tensors().at(name);
    std::vector<std::pair<size_t, std::string>> near;
    for (const auto& [other, place] : places_) near.emplace_back(editDistance(name, other), other);
    std::ranges::sort(near);
    std::vector<std::string> nearest;
    for (size_t i = 0; i < std::min<size_t>(3, near.size()); ++i) nearest.push_back(near[i].second);
    throw Error({.what = fmt::format("tensor \"{}\" is missing", name),
                 .where = folder_.string(),
                 .hint = nearest.empty() ? "the files hold no tensors" : fmt::format("the nearest names are {}; check that config.json belongs to the weights", fmt::join(nearest, ", "))});
}

int64_t WeightSource::read(const std::string& name, int64_t first, std::span<float> out) const {
    const StoredTensor& stored = tensor(name);
    return files_[places_.at(name)].read(stored, first, out);
}

std::string WeightSource::dtype() const {
    std::map<std::string, uint64_t> bytes;
    for (const auto& [name, place] : places_) {
        const StoredTensor& stored = tensor(name);
        bytes[dtypeName(stored.dtype)] += stored.end - stored.begin;
    }
    const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
    return most == bytes.end() ? "F32" : most->first;
}

} // namespace attn
