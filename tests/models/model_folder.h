#pragma once

#include "engine/io/input_file.h"
#include "tests/io/files.h"

#include <nlohmann/json.hpp>

namespace attn::test {

/// A whole safetensors file: bytes of the data that no tensor of the header needs are left out. Offsets that lie
/// outside of the data, or are none, stay as they are.
inline std::string wholeSafetensors(nlohmann::json header, const std::string& data) {
    std::vector<int> begins(data.size() + 1); // of tensors at this byte, less the ends
    std::vector<nlohmann::json*> offsets;
    if (header.is_object())
        for (auto& [name, tensor] : header.items()) {
            if (!tensor.is_object() || name == "__metadata__") continue;
            const auto found = tensor.find("data_offsets");
            if (found == tensor.end() || !found->is_array() || found->size() != 2 ||
                !std::ranges::all_of(*found, [](const auto& each) { return each.is_number_unsigned(); }))
                continue;
            const uint64_t begin = found->at(0), end = found->at(1);
            if (begin > end || end > data.size()) continue;
            ++begins[begin];
            --begins[end];
            offsets.push_back(&*found);
        }
    std::string kept;
    std::vector<size_t> places(data.size() + 1);
    int tensors = 0;
    for (size_t at = 0; at <= data.size(); ++at) {
        places[at] = kept.size();
        tensors += begins[at];
        if (at < data.size() && tensors > 0) kept += data[at];
    }
    for (nlohmann::json* each : offsets)
        for (nlohmann::json& offset : *each) offset = places[offset.get<size_t>()];
    return safetensors(header.dump(), kept);
}

/// A copy of one of the small models of tests/golden, to be broken.
class ModelFolder {
public:
    explicit ModelFolder(const std::string& name = "gpt2") {
        const fs::path golden = fs::path(ATTN_TEST_DIR) / "golden" / name;
        for (const char* file : {"config.json", "preprocessor_config.json", "model.safetensors"})
            if (fs::exists(golden / file)) fs::copy_file(golden / file, folder_ / file);
    }

    const fs::path& path() const { return folder_.path(); }
    fs::path operator/(const std::string& name) const { return folder_ / name; }
    std::string text(const std::string& file) const { return readTextFile(folder_ / file, uint64_t{1} << 26); }

    /// Changes a file as JSON.
    template <class Change> void edit(const std::string& file, const Change& change) {
        nlohmann::json json = nlohmann::json::parse(text(file));
        change(json);
        writeFile(folder_ / file, json.dump());
    }

    /// Changes the header of model.safetensors as JSON; the data stays.
    template <class Change> void changeHeader(const Change& change) {
        auto [header, data] = weights();
        change(header);
        writeFile(folder_ / "model.safetensors", wholeSafetensors(header, data));
    }

    /// Header and data of model.safetensors.
    std::pair<nlohmann::json, std::string> weights() const {
        const std::string file = text("model.safetensors");
        uint64_t length = 0;
        std::memcpy(&length, file.data(), sizeof(length));
        return {nlohmann::json::parse(file.substr(8, length)), file.substr(8 + length)};
    }

    /// Changes the first values of an F32 tensor of model.safetensors.
    void setValues(const std::string& tensor, const std::vector<float>& values) const {
        auto [header, data] = weights();
        std::memcpy(data.data() + header.at(tensor).at("data_offsets").at(0).get<size_t>(), values.data(),
                    values.size() * sizeof(float));
        writeFile(folder_ / "model.safetensors", wholeSafetensors(header, data));
    }

    /// Breaks what a case of bad_folders.json names: {"write": {file: text}, "remove": file}, or patches (RFC 6902) by
    /// the names of JSON files, or of the "header" of the weights.
    void change(const nlohmann::json& named) {
        for (const auto& [name, value] : named.items()) {
            const auto patch = [&value = value](nlohmann::json& json) { json = json.patch(value); };
            if (name == "write")
                for (const auto& [file, text] : value.items()) writeFile(folder_ / file, text.get<std::string>());
            if (name == "remove") fs::remove(folder_ / value.get<std::string>());
            if (name == "header") changeHeader(patch);
            if (name.ends_with(".json")) edit(name, patch);
        }
    }

    /// Splits model.safetensors into two shards with an index.
    void shard() {
        const auto [header, data] = weights();
        std::array<nlohmann::json, 2> headers{nlohmann::json::object(), nlohmann::json::object()};
        std::array<std::string, 2> parts;
        nlohmann::json map;
        size_t count = 0;
        for (const auto& [name, entry] : header.items()) {
            if (name == "__metadata__") continue;
            const size_t shard = count++ % 2, begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
            headers[shard][name] = entry;
            headers[shard][name]["data_offsets"] = {parts[shard].size(), parts[shard].size() + end - begin};
            parts[shard] += data.substr(begin, end - begin);
            map[name] = kShards[shard];
        }
        for (size_t shard = 0; shard < 2; ++shard)
            writeFile(folder_ / kShards[shard], safetensors(headers[shard].dump(), parts[shard]));
        writeFile(folder_ / "model.safetensors.index.json",
                  nlohmann::json{{"metadata", {{"total_size", data.size()}}}, {"weight_map", map}}.dump());
        fs::remove(folder_ / "model.safetensors");
    }

    static constexpr std::array kShards{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};

private:
    TemporaryFolder folder_;
};

/// A tokenizer.json with the vocabulary {"a": 0, "b": 1, ...} of so many letters and one token for their pair "ab"
/// after them.
inline nlohmann::json letterTokenizer(int letters) {
    nlohmann::json vocabulary;
    for (int i = 0; i < letters; ++i) vocabulary[std::string(1, static_cast<char>('a' + i))] = i;
    vocabulary["ab"] = letters;
    return {{"version", "1.0"},
            {"added_tokens", nlohmann::json::array()},
            {"normalizer", nullptr},
            {"pre_tokenizer", nullptr},
            {"post_processor", nullptr},
            {"decoder", {{"type", "Fuse"}}},
            {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"a b"}}}}};
}

} // namespace attn::test
