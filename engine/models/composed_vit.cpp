#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/vision_family.h"
#include "engine/models/vision_grid.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

// Vision transformers trained by this program that differ from the plain one: in composed attention, in a classifier
// that reads the mean of the patches instead of CLS, or in their positions. Files use the engine's tensor names.

namespace attn {
namespace {

constexpr const char* kWhere = "'attention-cli parts' lists the parts of attention";

/// Reads rows of `columns` whole numbers, each at least 0 and below a common bound.
std::vector<std::vector<int64_t>> numberRows(const ConfigReader& read, const char* field, size_t columns) {
    std::vector<std::vector<int64_t>> rows;
    const nlohmann::json* found = read.value(field);
    if (found == nullptr) return rows;
    const auto isNumber = [](const nlohmann::json& number) {
        return number.is_number_unsigned() && number.get<uint64_t>() <= 65536;
    };
    for (const nlohmann::json& row : *found) {
        if (!row.is_array() || row.size() != columns || !std::ranges::all_of(row, isNumber))
            read.fail(field, fmt::format("is not a list of lists of {} whole numbers", columns), kWhere);
        rows.push_back(row.get<std::vector<int64_t>>());
    }
    return rows;
}

/// Reads windows, merges and pools. The encoder checks that they fit together.
void readStructure(const ConfigReader& read, ModelSpec& config) {
    const int64_t heads = config.layers.front().heads().heads, layers = config.lastLayer() + 1;
    for (const auto& row : numberRows(read, "merges", 1)) {
        if (row[0] < 1 || row[0] >= layers || config.patches.merges.size() >= 8 ||
            (!config.patches.merges.empty() && row[0] <= config.patches.merges.back()))
            read.fail("merges", "does not list layers after layer 0 in rising order", kWhere);
        config.patches.merges.push_back(row[0]);
    }
    for (int64_t layer = 0; layer < layers && !config.patches.merges.empty(); ++layer)
        config.layers[static_cast<size_t>(layer)] =
            visionLayer(config.widthOf(layer), heads << config.patches.mergesUpTo(layer));
    for (const auto& row : numberRows(read, "windows", 2))
        config.patches.windows.push_back({.size = row[0], .shift = row[1]});
    const auto isShiftedTooFar = [](const GridWindows& window) {
        return window.shift >= std::max<int64_t>(window.size, 1);
    };
    if (!config.patches.windows.empty() && (static_cast<int64_t>(config.patches.windows.size()) != layers ||
                                            std::ranges::any_of(config.patches.windows, isShiftedTooFar)))
        read.fail("windows", "is not a list of one window size and one smaller shift per layer", kWhere);
    for (const auto& row : numberRows(read, "pools", 2))
        config.patches.pools.push_back({.layer = row[0], .tokens = row[1]});
}

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    ModelSpec config = visionConfigOf(read);
    config.feedForward.width = read.size("intermediate_size", 4 * config.modelWidth);
    if (names.contains("head.W_H")) config.readouts.front().classes = names.rowsOf("head.W_H");
    const std::string pooling = read.text("pooling", "cls"), positions = read.text("positions", "learned");
    if (pooling != "cls" && pooling != "mean")
        read.fail("pooling", fmt::format("is \"{}\"", pooling), "supported: cls, mean");
    config.readouts.front().pooling = pooling == "mean" ? PatchPooling::Mean : PatchPooling::Cls;
    config.patches.clsToken = pooling == "cls";
    if (positions != "learned" && positions != "sinusoidal" && positions != "none")
        read.fail("positions", fmt::format("is \"{}\"", positions), "supported: learned, sinusoidal, none");
    config.positions = positions == "sinusoidal" ? Positions::Sinusoidal
                       : positions == "none"     ? Positions::None
                                                 : Positions::Learned;
    readStructure(read, config);
    const nlohmann::json* specs = read.value("attention");
    if (specs == nullptr) return config;
    if (!specs->is_array() || specs->size() != config.layers.size() ||
        !std::ranges::all_of(*specs, [](const auto& spec) { return spec.is_string(); }))
        read.fail("attention", "is not a list of one expression per layer", kWhere);
    for (size_t layer = 0; layer < specs->size(); ++layer) {
        const int64_t heads = config.layers[layer].heads().heads, at = static_cast<int64_t>(layer);
        const AttentionSpec spec = AttentionSpec::parse((*specs)[layer].get<std::string>());
        requireNoProjections(read, spec, blockName(at), names);
        config.layers[layer] = visionLayer(config.widthOf(at), heads, spec);
        if (const int64_t counted = headCounts(spec).heads;
            counted != heads && config.patches.merges.empty() && !mixesStream(spec))
            read.fail("attention", fmt::format("has {} heads, but the model has {}", counted, heads), kWhere);
    }
    placeOnGrid(config);
    return config;
}

WeightRecipe recipe(const ModelSpec&, const std::string& parameter, const TensorNames&) {
    return {.source = parameter};
}

nlohmann::json describe(const ModelSpec& config) {
    nlohmann::json json = visionConfigJson(config);
    json["model_type"] = "attention-lab-vit";
    json["pooling"] = config.classReadout().pooling == PatchPooling::Mean ? "mean" : "cls";
    json["positions"] = config.positions == Positions::Sinusoidal ? "sinusoidal"
                        : config.positions == Positions::None     ? "none"
                                                                  : "learned";
    const auto put = [&](const char* field, const auto& members, const auto& rowOf) {
        for (const auto& member : members) json[field].push_back(rowOf(member));
    };
    put("merges", config.patches.merges, [](int64_t layer) { return nlohmann::json::array({layer}); });
    put("windows", config.patches.windows, [](const GridWindows& w) {
        return nlohmann::json::array({w.size, w.shift});
    });
    put("pools", config.patches.pools, [](const TokenPool& pool) {
        return nlohmann::json::array({pool.layer, pool.tokens});
    });
    if (hasPlainAttention(config)) return json;
    for (const LayerAttention& layer : config.layers) json["attention"].push_back(layer.spec.text());
    return json;
}

} // namespace

const ModelFamily kComposedVit{.id = "attention-lab-vit",
                               .title = "Composed vision transformer",
                               .axis = AxisKind::Patches,
                               .modelTypes = {"attention-lab-vit"},
                               .config = config,
                               .recipe = recipe,
                               .describe = describe};

} // namespace attn
