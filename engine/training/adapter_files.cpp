#include "engine/io/safetensors.h"
#include "engine/io/tensor_writer.h"
#include "engine/system/atomic_file.h"
#include "engine/system/folder.h"
#include "engine/training/adapters.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace attn {
namespace {

constexpr std::string_view kSuffix = ".weight";

/// The adapter of a tensor of the file: A [rank,in] below each other, and B [out,rank] beside each other.
struct FileAdapter {
    int64_t rows = 0, columns = 0, rank = 0; ///< rows, columns: out, in
    std::vector<float> a, b;
};

} // namespace

void writeAdapters(const std::filesystem::path& folder, const std::filesystem::path& model, const std::string& start,
                   const Objective& objective, std::span<const Adapter> adapters, double scale,
                   const ReadParameter& read) {
    std::map<std::string, std::vector<std::pair<const Adapter*, WeightRecipe>>> byTensor;
    for (const Adapter& adapter : adapters) {
        const std::optional<WeightRecipe> place = objective.placeOf(adapter.matrix);
        if (!place || !place->source.ends_with(kSuffix)) return; // a format that only this program reads
        byTensor[place->source].emplace_back(&adapter, *place);
    }
    const SafetensorsFile file(model / "model.safetensors");
    std::map<std::string, FileAdapter> all;
    bool isTransposed = false;
    size_t most = 1;
    for (const auto& [tensor, parts] : byTensor) most = std::max(most, parts.size());
    const int64_t own = adapters.front().rank, rank = own * static_cast<int64_t>(most);
    for (const auto& [tensor, parts] : byTensor) { // PEFT knows one rank, so that smaller ones get zeros
        const std::vector<int64_t>& shape = file.tensors().at(tensor).shape;
        isTransposed = parts.front().second.transposed;
        FileAdapter& made = all[tensor.substr(0, tensor.size() - kSuffix.size())];
        made = {.rows = shape[isTransposed ? 1 : 0], .columns = shape[isTransposed ? 0 : 1], .rank = rank};
        made.a.resize(static_cast<size_t>(rank * made.columns));
        made.b.resize(static_cast<size_t>(made.rows * rank));
        for (size_t part = 0; part < parts.size(); ++part) {
            const auto& [adapter, place] = parts[part];
            const int64_t begin = static_cast<int64_t>(part) * own;
            std::ranges::copy(read(adapter->nameOfA()), made.a.begin() + begin * made.columns);
            const std::vector<float> b = read(adapter->nameOfB());
            for (int64_t row = 0; row < adapter->shape[0]; ++row)
                std::copy_n(b.begin() + row * own, own, made.b.begin() + (place.offset + row) * rank + begin);
        }
    }
    std::vector<WrittenTensor> written;
    nlohmann::json modules = nlohmann::json::array();
    for (const auto& [module, made] : all) {
        modules.push_back(module);
        const std::string name = "base_model.model." + module;
        written.push_back({.name = name + ".lora_A.weight", .shape = {rank, made.columns}, .values = made.a});
        written.push_back({.name = name + ".lora_B.weight", .shape = {made.rows, rank}, .values = made.b});
    }
    createFolder(folder);
    writeSafetensors(folder / "adapter_model.safetensors", written, {{"format", "pt"}});
    const nlohmann::json config{{"peft_type", "LORA"},
                                {"base_model_name_or_path", start},
                                {"r", rank},
                                {"lora_alpha", scale * static_cast<double>(rank)}, // PEFT multiplies by alpha / r
                                {"target_modules", modules},
                                {"fan_in_fan_out", isTransposed},
                                {"bias", "none"},
                                {"lora_dropout", 0.0},
                                {"init_lora_weights", true},
                                {"modules_to_save", nullptr},
                                {"inference_mode", true}};
    writeAtomically(folder / "adapter_config.json", config.dump(2) + "\n");
}

} // namespace attn
