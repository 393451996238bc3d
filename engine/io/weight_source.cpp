#include "engine/io/weight_source.h"

#include "engine/core/error.h"
#include "engine/core/nearest_names.h"
#include "engine/core/quoting.h"
#include "engine/io/input_file.h"
#include "engine/io/json_file.h"
#include "engine/system/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAdapterConfig = "adapter_config.json";
constexpr const char* kSaveSafely = "save the model again with safe_serialization=True";
/// Prefixes that programs put before tensor names when they wrap a model.
constexpr std::array<std::string_view, 3> kWrappers{"module.", "base_model.model.", "language_model."};
/// Prefixes of wrapped layers, which occur anywhere in a name.
constexpr std::array<std::string_view, 3> kInnerWrappers{"_orig_mod.", "_fsdp_wrapped_module.",
                                                         "_checkpoint_wrapped_module."};
/// Lies beside the checkpoints of this program's training runs.
constexpr std::string_view kOptimizerFile = "optimizer.safetensors";

/// Whether a file exists. @throws Error if it is a link without a target, or if the system cannot tell
bool isThere(const fs::path& path) {
    std::error_code error;
    if (fs::exists(path, error)) return true;
    if (error)
        throw Error({.what = fmt::format("cannot be read: {}", error.message()),
                     .where = path.string(),
                     .hint = remedyForReading(error.value())});
    if (fs::is_symlink(fs::symlink_status(path, error)))
        throw Error(
            {.what = "is a link to a file that is not there", .where = path.string(), .hint = "fetch the model again"});
    return false;
}

/// Whether a file seems to hold weights of a model, and not only its results. True for a file that cannot be read.
bool holdsWeights(const fs::path& path) {
    try {
        return std::ranges::any_of(SafetensorsFile(path).tensors(), [](const auto& each) {
            return each.first.ends_with(".weight") || each.first.find("lora_") != std::string::npos;
        });
    } catch (const Error&) {
        return true;
    }
}

/// The name of a tensor without the prefixes of wrappers.
std::string unwrapped(std::string_view name) {
    std::string plain;
    for (size_t at = 0; at < name.size();) {
        const auto begins = [rest = name.substr(at)](std::string_view wrapper) { return rest.starts_with(wrapper); };
        const auto inner = std::ranges::find_if(kInnerWrappers, begins);
        if (inner != kInnerWrappers.end() && (at == 0 || name[at - 1] == '.'))
            at += inner->size();
        else
            plain += name[at++];
    }
    size_t first = 0;
    const auto isNext = [&](std::string_view wrapper) {
        return std::string_view(plain).substr(first).starts_with(wrapper);
    };
    for (auto next = kWrappers.begin(); (next = std::ranges::find_if(kWrappers, isNext)) != kWrappers.end();)
        first += next->size();
    return plain.substr(first);
}

/// The sorted contents of a folder. @throws Error if it cannot be read
std::vector<fs::path> listing(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> entries = entriesOf(folder, error);
    if (error)
        throw Error({.what = fmt::format("cannot be read: {}", error.message()),
                     .where = folder.string(),
                     .hint = remedyForReading(error.value())});
    std::ranges::sort(entries);
    return entries;
}

/// The beginning of a folder's listing, for messages.
std::string contentsOf(const fs::path& folder) {
    constexpr size_t kMost = 12;
    std::vector<std::string> names;
    for (const fs::path& entry : listing(folder)) names.push_back(printable(entry.filename().string()));
    if (names.empty()) return "nothing";
    const size_t more = names.size() - std::min(names.size(), kMost);
    names.resize(names.size() - more);
    return fmt::format("{}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

/// Refuses a folder that holds only an adapter, with the model that it belongs to.
void refuseAdapter(const fs::path& folder) {
    const fs::path path = folder / kAdapterConfig;
    if (!isThere(path)) return;
    const nlohmann::json json = readJsonFile(path);
    const auto base = json.is_object() ? json.find("base_model_name_or_path") : json.end();
    const bool isNamed = json.is_object() && base != json.end() && base->is_string() && !base->empty();
    throw Error({.what = fmt::format("this folder is no model but an adapter (such as LoRA) of {}",
                                     isNamed ? inQuotes(base->get<std::string>()) : "a model that it does not name"),
                 .where = folder.string(),
                 .hint = "merge the two, in peft by merge_and_unload(), save the result and open that"});
}

/// The snapshot of a Hugging Face cache that its main branch names, or else the first complete one. A folder that is no
/// cache is returned itself.
fs::path currentSnapshot(const fs::path& folder) {
    const fs::path snapshots = folder / "snapshots";
    if (!isThere(snapshots)) return folder;
    if (isThere(folder / "refs" / "main")) {
        constexpr uint64_t kMostReferenceBytes = uint64_t{1} << 20; // it holds a hash
        const std::string text = readTextFile(folder / "refs" / "main", kMostReferenceBytes),
                          name = text.substr(0, text.find_first_of(" \r\n"));
        if (!name.empty() && isThere(snapshots / name)) return snapshots / name;
    }
    for (const fs::path& snapshot : listing(snapshots))
        if (isThere(snapshot / "config.json")) return snapshot;
    return folder;
}

/// The file of each tensor in an index. @param warnings receives what is ambiguous in the index
std::map<std::string, std::string> shardsOf(const fs::path& index, std::vector<std::string>& warnings) {
    const auto refuse = [&](const std::string& what) {
        throw Error({.what = what, .where = index.string(), .hint = "fetch the file again"});
    };
    const nlohmann::json json = readJsonFile(index, warnings);
    if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
        refuse("has no \"weight_map\"");
    std::map<std::string, std::string> shards;
    for (const auto& [tensor, shard] : json["weight_map"].items()) {
        if (!shard.is_string() || fs::path(shard.get<std::string>()).extension() != ".safetensors" ||
            shard.get<std::string>().find('/') != std::string::npos)
            refuse(fmt::format("names {} as the shard of tensor {}", shownJson(shard), inQuotes(tensor)));
        shards.emplace(tensor, shard.get<std::string>());
    }
    return shards;
}

/// The folder with config.json: the path itself, the folder of a file, or the current snapshot of a cache.
fs::path modelFolder(const fs::path& path) {
    if (!isThere(path))
        throw Error({.what = "there is no such file or folder", .where = path.string(), .hint = "check the path"});
    std::error_code error;
    if (fs::is_directory(path, error)) return isThere(path / "config.json") ? path : currentSnapshot(path);
    if (path.extension() == ".safetensors" || path.filename() == "config.json" || path.filename() == kAdapterConfig)
        return path.parent_path().empty() ? fs::path(".") : path.parent_path();
    if (const auto other = otherModelFormat(path))
        throw Error({.what = other->what, .where = other->where, .hint = other->hint});
    const std::string suffix = path.extension().string();
    throw Error({.what = suffix.empty() ? "this file is not a model"
                                        : fmt::format("{} files cannot be opened", inQuotes(suffix)),
                 .where = path.string(),
                 .hint = "open a Hugging Face folder or a .safetensors file"});
}

} // namespace

std::optional<Failure> otherModelFormat(const fs::path& path) {
    std::string suffix = path.extension().string(), magic(4, '\0');
    std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::error_code error;
    if (fs::is_regular_file(path, error)) std::ifstream(path, std::ios::binary).read(magic.data(), 4);
    if (magic == "GGUF") suffix = ".gguf";
    constexpr std::array kProgram{".bin", ".pt", ".pth", ".ckpt", ".pkl"}; // pickles
    constexpr std::array kOther{".gguf", ".ggml", ".onnx", ".tflite", ".h5", ".msgpack", ".npz"};
    if (std::ranges::find(kProgram, suffix) != kProgram.end())
        return Failure{.what = "can run code, so it is not opened", .where = path.string(), .hint = kSaveSafely};
    if (std::ranges::find(kOther, suffix) == kOther.end()) return {};
    std::string format = suffix.substr(1);
    std::ranges::transform(format, format.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return Failure{.what = fmt::format("{} files cannot be opened yet", format),
                   .where = path.string(),
                   .hint = "get the same model as safetensors: a folder with config.json and model.safetensors"};
}

WeightSource::WeightSource(const fs::path& path) : folder_(modelFolder(path)) {
    std::error_code error;
    if (path.extension() == ".safetensors" && !isThere(configFile()) && fs::is_regular_file(path, error)) {
        refuseAdapter(folder_);
        const SafetensorsFile weights(path); // reports first what is wrong with the file itself
        throw Error({.what = "has no config.json beside it, which says what its tensors are",
                     .where = path.string(),
                     .hint = "put the model's config.json into the same folder"});
    }
    if (!isThere(configFile())) refuseAdapter(folder_);
    if (!isThere(configFile()))
        throw Error(
            {.what = fmt::format("this folder is no model: it has no config.json; it holds {}", contentsOf(folder_)),
             .where = folder_.string(),
             .hint = "choose the folder that holds config.json and model.safetensors together"});
    config_ = std::make_shared<const nlohmann::json>(readJsonFile(configFile(), warnings_));
    if (!config_->is_object())
        throw Error({.what = "is not a JSON object", .where = configFile(), .hint = "fetch the file again"});

    openWeights(path);
    for (Repeat& repeat : repeats_) repeat.used = fileOf(repeat.tensor).filename().string();
    addAliases();
    listOtherFiles(files_.size() == 1 && path.extension() == ".safetensors" && !fs::is_directory(path, error));
}

void WeightSource::openWeights(const fs::path& path) {
    const fs::path whole = folder_ / "model.safetensors", index = folder_ / "model.safetensors.index.json";
    std::error_code error;
    const bool isFile = path.extension() == ".safetensors" && !fs::is_directory(path, error);
    if (isFile ? path.filename() == whole.filename() : isThere(whole)) return addFile(isFile ? path : whole);
    if (isThere(index)) {
        const std::map<std::string, std::string> shards = shardsOf(index, warnings_);
        const auto isNamed = [&](const auto& each) { return each.second == path.filename().string(); };
        if (!isFile || std::ranges::any_of(shards, isNamed)) return openShards(index, shards);
    }
    if (isFile) return addFile(path);
    throw Error(isThere(folder_ / "pytorch_model.bin")
                    ? Error::Fields{.what = "pytorch_model.bin can run code, so it is not opened",
                                    .where = folder_.string(),
                                    .hint = kSaveSafely}
                    : Error::Fields{.what = fmt::format("has no model.safetensors; it holds {}", contentsOf(folder_)),
                                    .where = folder_.string(),
                                    .hint = "fetch model.safetensors"});
}

void WeightSource::openShards(const fs::path& index, const std::map<std::string, std::string>& shards) {
    const auto refuse = [](const fs::path& where, const std::string& what, const std::string& hint) {
        throw Error({.what = what, .where = where.string(), .hint = hint});
    };
    std::map<std::string, size_t> files; // name to index in files_
    for (const auto& [tensor, shard] : shards) files.emplace(shard, 0);
    for (const auto& [shard, place] : files)
        if (!isThere(folder_ / shard))
            refuse(folder_, fmt::format("the shard {} is missing", printable(shard)),
                   fmt::format("fetch all {} shards that the index names", files.size()));
    for (auto& [shard, place] : files) {
        place = files_.size();
        addFile(folder_ / shard);
    }
    for (const auto& [tensor, shard] : shards) {
        const SafetensorsFile& file = files_[files.at(shard)];
        if (!file.tensors().contains(tensor) && !file.aliases().contains(tensor))
            refuse(index,
                   fmt::format("the index promises tensor {} in {}, which does not hold it", inQuotes(tensor),
                               printable(shard)),
                   "fetch the shard again");
    }
    std::vector<std::string> unnamed;
    for (const auto& [tensor, place] : places_)
        if (!shards.contains(tensor)) unnamed.push_back(inQuotes(tensor));
    constexpr size_t kMostNames = 4;
    const size_t count = unnamed.size();
    unnamed.resize(std::min(count, kMostNames));
    if (count > 0)
        warnings_.push_back(fmt::format("{} does not name {} of its files{} {}; this program reads them all the same",
                                        index.filename().string(),
                                        count == 1 ? "a tensor" : fmt::format("{} tensors", count),
                                        count > kMostNames ? ", such as" : ":", fmt::join(unnamed, ", ")));
}

void WeightSource::addFile(const fs::path& path) {
    files_.emplace_back(path);
    const size_t last = files_.size() - 1;
    for (const auto& [name, tensor] : files_.back().tensors()) {
        const auto [place, isNew] = places_.try_emplace(name, last);
        if (isNew) continue;
        repeats_.push_back({.tensor = name, .file = files_[place->second].path().filename().string(), .used = {}});
        place->second = last;
    }
}

void WeightSource::addAliases() {
    for (const SafetensorsFile& file : files_)
        for (const auto& [name, stored] : file.aliases())
            if (places_.contains(stored) && !places_.contains(name)) aliases_.emplace(name, stored);
    std::map<std::string, std::string> plain; // stored names by plain name; "" if two have the same plain name
    const auto add = [&](const std::string& name, const std::string& stored) {
        if (const std::string each = unwrapped(name); each != name && !each.empty())
            if (const auto [place, isNew] = plain.emplace(each, stored); !isNew) place->second.clear();
    };
    for (const auto& [name, place] : places_) add(name, name);
    for (const auto& [name, stored] : aliases_) add(name, stored);
    for (const auto& [name, stored] : plain)
        if (!stored.empty() && !places_.contains(name)) aliases_.emplace(name, stored);
}

void WeightSource::listOtherFiles(bool onlyAdapters) {
    std::set<std::string> open;
    for (const SafetensorsFile& file : files_) open.insert(file.path().filename().string());
    for (const fs::path& entry : listing(folder_)) {
        const std::string name = entry.filename().string();
        if (open.contains(name) || name == kOptimizerFile) continue;
        const bool isAdapter = name.starts_with(kAdapterConfig) || name.starts_with("adapter_model.");
        if (isAdapter || (!onlyAdapters && (entry.extension() == ".gguf" ||
                                            (entry.extension() == ".safetensors" && holdsWeights(entry)))))
            otherFiles_.push_back(name);
    }
}

std::vector<std::string> WeightSource::storedNames() const {
    std::vector<std::string> result;
    for (const auto& [name, place] : places_) result.push_back(name);
    return result;
}

std::vector<std::string> WeightSource::names() const {
    std::vector<std::string> result = storedNames();
    for (const auto& [name, stored] : aliases_)
        if (!places_.contains(name)) result.push_back(name);
    return result;
}

const std::string& WeightSource::storedName(const std::string& name) const {
    const auto alias = aliases_.find(name);
    return alias == aliases_.end() || places_.contains(name) ? name : alias->second;
}

const StoredTensor& WeightSource::tensor(const std::string& name) const {
    if (const auto found = places_.find(storedName(name)); found != places_.end())
        return files_[found->second].tensors().at(found->first);
    std::vector<std::string> nearest = nearestNames(name, names(), 3);
    for (std::string& each : nearest) each = printable(each);
    throw Error({.what = fmt::format("tensor {} is missing", inQuotes(name)),
                 .where = (files_.size() == 1 ? files_.front().path() : folder_).string(),
                 .hint = nearest.empty()
                             ? "the files hold no tensors"
                             : fmt::format("the nearest names are {}; check that config.json belongs to the weights",
                                           fmt::join(nearest, ", "))});
}

int64_t WeightSource::read(const std::string& name, int64_t first, std::span<float> out) const {
    const StoredTensor& stored = tensor(name);
    return files_[places_.at(storedName(name))].read(stored, first, out);
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
