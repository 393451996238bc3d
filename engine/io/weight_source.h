#pragma once

#include "engine/core/failure.h"
#include "engine/io/field_log.h"
#include "engine/io/safetensors.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Why a file with a model in another format, such as GGUF, is not opened. @return none: it is none that is known
std::optional<Failure> otherModelFormat(const std::filesystem::path& path);

/// A Hugging Face model on disk: a folder with config.json and one or several safetensors files (symlinks of a cache
/// snapshot included), a cache's `models--*` folder, or a .safetensors file with its config.json beside it.
class WeightSource {
public:
    /// @throws Error naming the file, the thing and the remedy
    explicit WeightSource(const std::filesystem::path& path);

    const std::filesystem::path& folder() const { return folder_; }
    const nlohmann::json& config() const { return *config_; }
    std::string configFile() const { return (folder_ / "config.json").string(); }
    /// The fields of the configuration that were read so far.
    FieldLog& fieldLog() const { return *log_; }

    /// The names by which tensors can be read: those of the files, those that a file's metadata gives to tensors which
    /// it holds under another name, and those without what a wrapper adds, such as "module.", where that is clear.
    std::vector<std::string> names() const;
    std::vector<std::string> storedNames() const; ///< names as in the files
    /// The name in the files. @pre names() has it
    const std::string& storedName(const std::string& name) const;
    /// A tensor that several files hold. The last file by name counts, as in transformers.
    struct Repeat {
        std::string tensor;
        std::string file; ///< name of one that does not count
        std::string used; ///< name of the file that counts
        bool operator==(const Repeat&) const = default;
    };
    const std::vector<Repeat>& repeats() const { return repeats_; }
    /// Sentences about ambiguities in config.json and in the index.
    const std::vector<std::string>& warnings() const { return warnings_; }
    /// Files with weights beside those that were opened: adapters, shards that the index does not name, other formats.
    const std::vector<std::string>& otherFiles() const { return otherFiles_; }
    /// @throws Error with the nearest names when there is no such tensor
    const StoredTensor& tensor(const std::string& name) const;
    const std::filesystem::path& fileOf(const std::string& name) const {
        return files_[places_.at(storedName(name))].path();
    }
    /// Converts elements [first, first + out.size()) to float32. @return how many are NaN or infinite
    int64_t read(const std::string& name, int64_t first, std::span<float> out) const;
    /// The dtype of most bytes: "F32".
    std::string dtype() const;

private:
    void openWeights(const std::filesystem::path& path);
    void openShards(const std::filesystem::path& index, const std::map<std::string, std::string>& shards);
    void addFile(const std::filesystem::path& path);
    void addAliases();
    void listOtherFiles(bool onlyAdapters);

    std::filesystem::path folder_;
    std::shared_ptr<const nlohmann::json> config_; ///< never null
    std::vector<SafetensorsFile> files_;
    std::map<std::string, size_t> places_;       ///< tensor name to index in files_
    std::map<std::string, std::string> aliases_; ///< other names of tensors
    std::vector<Repeat> repeats_;
    std::vector<std::string> otherFiles_, warnings_; ///< the first: sorted names
    std::shared_ptr<FieldLog> log_ = std::make_shared<FieldLog>();
};

} // namespace attn
