#include "engine/inference/model_settings.h"

#include "engine/attention/execution.h"
#include "engine/attention/part.h"
#include "engine/core/quoting.h"
#include "engine/io/json_file.h"
#include "engine/models/config_reader.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <utility>

namespace attn {
namespace {

/// The fields of a configuration that it has, with their values.
std::string askedOf(const nlohmann::json& config, std::initializer_list<const char*> fields) {
    std::vector<std::string> found;
    for (const char* field : fields)
        if (config.is_object() && config.contains(field))
            found.push_back(fmt::format("{} {}", field, shownJson(config.at(field))));
    return fmt::format("{}", fmt::join(found, ", "));
}

/// What each layer has, the layers with the same together: "layers 0, 2: A; layer 1: B", or "A" if all have it.
std::string byLayer(size_t layers, const std::function<std::string(size_t)>& of) {
    std::vector<std::pair<std::string, std::vector<size_t>>> groups;
    for (size_t layer = 0; layer < layers; ++layer) {
        const std::string text = of(layer);
        const auto found = std::ranges::find(groups, text, [](const auto& group) { return group.first; });
        if (found == groups.end())
            groups.push_back({text, {layer}});
        else
            found->second.push_back(layer);
    }
    if (groups.size() == 1) return groups.front().first;
    std::vector<std::string> parts;
    for (const auto& [text, members] : groups)
        parts.push_back(fmt::format("layer{} {}: {}", members.size() == 1 ? "" : "s", fmt::join(members, ", "), text));
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string headsOf(const std::vector<LayerAttention>& layers) {
    return fmt::format("{} layers; {}", layers.size(), byLayer(layers.size(), [&](size_t layer) {
                           const HeadCounts heads = layers[layer].heads();
                           return fmt::format("{} query heads, {} key/value heads, width {}", heads.heads, heads.groups,
                                              layers[layer].headWidth);
                       }));
}

std::string windowsOf(const std::vector<LayerAttention>& layers, int64_t length) {
    return byLayer(layers.size(), [&](size_t layer) -> std::string {
        const LayerAttention& attention = layers[layer];
        const auto rule = kernelRule(attention.spec, length, attention.headWidth, static_cast<int>(layer));
        if (!rule) { // the kernel does not serve it
            const MaskExpression& mask = attention.spec.mask;
            return mask == MaskExpression()           ? "all tokens"
                   : mask == MaskExpression::causal() ? "all earlier tokens"
                                                      : mask.text();
        }
        if (!rule->causal) return rule->window > 0 ? fmt::format("within {} tokens", rule->window) : "all tokens";
        return rule->window > 0 ? fmt::format("the last {} tokens", rule->window) : "all earlier tokens";
    });
}

/// The part that gives positions in each layer, with its values.
std::string partsOf(const std::vector<LayerAttention>& layers) {
    return byLayer(layers.size(), [&](size_t layer) -> std::string {
        const AttentionSpec& spec = layers[layer].spec;
        const Part& part = spec.part(Slot::Position);
        const PartValues values = spec.values(Slot::Position);
        if (part.position.rotation) {
            const Rotation rotation = part.position.rotation(values, layers[layer].headWidth);
            std::string text = fmt::format("rotary, {} of {} features, base {}", rotation.frequencies.size() * 2,
                                           layers[layer].headWidth, values.real("base"));
            if (values.real("stretch") != 1) text += fmt::format(", angles divided by {}", values.real("stretch"));
            if (values.real("original") > 0)
                text += fmt::format(" where they turn less than {} to {} times over {} tokens (llama3)",
                                    values.real("low"), values.real("high"), values.real("original"));
            return text;
        }
        if (part.hooks.empty()) return {};
        std::vector<std::string> named;
        for (const Param& param : part.params) named.push_back(fmt::format("{} {}", param.id, values.real(param.id)));
        return fmt::format("{}{}{}", part.title, named.empty() ? "" : ": ", fmt::join(named, ", "));
    });
}

std::string feedForwardOf(const FeedForwardSpec& feedForward) {
    if (feedForward.width == 0) return "no feed-forward layers";
    return activationName(feedForward.activation) + (feedForward.gated ? ", gated" : "");
}

std::string normsOf(const Part* kind, double epsilon, bool isAfter) {
    return fmt::format("{} {} each part, epsilon {}", kind == &kRmsNormPart ? "RMS norm" : "layer norm",
                       isAfter ? "after" : "before", epsilon);
}

/// Names, a few of many.
std::string listed(const std::vector<std::string>& names) {
    constexpr size_t kMost = 12;
    if (names.empty()) return "none";
    std::vector<std::string> shown;
    for (const std::string& name : names)
        if (shown.size() < kMost) shown.push_back(printable(name));
    return fmt::format("{}{}", fmt::join(shown, ", "),
                       names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

void addLeftOut(const LeftOut& leftOut, std::vector<ModelSetting>& settings) {
    std::vector<std::string> fields;
    for (const LeftOut::Field& field : leftOut.fields) fields.push_back(field.path + " " + field.value);
    settings.push_back({"Fields left out", fields.empty() ? "" : listed(fields), fields.empty() ? "none" : "not used"});
    std::vector<std::string> tensors = leftOut.tensors;
    for (const WeightSource::Repeat& each : leftOut.repeats)
        tensors.push_back(fmt::format("{} of {}", each.tensor, each.file));
    settings.push_back(
        {"Tensors left out", tensors.empty() ? "" : listed(tensors), tensors.empty() ? "none" : "not used"});
    settings.push_back({"Files left out", leftOut.files.empty() ? "" : listed(leftOut.files),
                        leftOut.files.empty() ? "none" : "not used"});
}

nlohmann::json configOf(const ModelSource& source) {
    return source.configText().empty() ? nlohmann::json::object() : parseJson(source.configText(), "config.json");
}

std::string readoutOf(const ModelSource& source) {
    const ModelSpec& config = source.config();
    if (config.readout() == TextReadout::None) return "none";
    if (!predictsTokens(config.readout())) return fmt::format("{} classes", config.classReadout().labels.size());
    if (config.tokenReadout().tiedEmbedding) return "the embedding";
    const std::string name = source.sourceName("unembed.W_U");
    return name.empty() ? "a table of its own" : printable(name);
}

std::string textPositionsOf(const StreamSpec& config) {
    std::vector<std::string> found;
    if (config.positions == Positions::Learned) found.emplace_back("a learned table");
    if (config.positions == Positions::Sinusoidal) found.emplace_back("sinusoids");
    if (config.tokens.paddingToken)
        found.push_back(fmt::format("counted without token {}", *config.tokens.paddingToken));
    if (const std::string parts = partsOf(config.layers); !parts.empty()) found.push_back(parts);
    return found.empty() ? "none" : fmt::format("{}", fmt::join(found, "; "));
}

std::vector<ModelSetting> settingsOfText(const ModelSource& source, int64_t capacity) {
    const ModelSpec& config = source.config();
    const nlohmann::json json = configOf(source);
    std::vector<ModelSetting> settings;
    const auto stacks = [&](const std::function<std::string(const StreamSpec&)>& of) {
        std::vector<std::string> said;
        for (const StreamSpec* stream : config.streams())
            said.push_back(stream->stack == kOnlyStack ? of(*stream)
                                                       : fmt::format("{}: {}", stream->stack, of(*stream)));
        return fmt::format("{}", fmt::join(said, "; "));
    };
    settings.push_back({"Layers and heads",
                        askedOf(json, {"num_hidden_layers", "n_layer", "num_layers", "n_layers", "num_decoder_layers",
                                       "encoder_layers", "decoder_layers", "num_attention_heads", "n_head", "num_heads",
                                       "n_heads", "encoder_attention_heads", "decoder_attention_heads",
                                       "num_key_value_heads", "head_dim", "d_kv", "d_head", "heads"}),
                        stacks([](const StreamSpec& stack) { return headsOf(stack.layers); })});
    settings.push_back(
        {"Windows",
         askedOf(json, {"sliding_window", "use_sliding_window", "max_window_layers", "layer_types", "attention_layers",
                        "attention_types", "window_size", "attn_type", "is_decoder"}),
         stacks([&](const StreamSpec& stack) { return windowsOf(stack.layers, std::min(capacity, stack.context)); })});
    settings.push_back(
        {"Positions",
         askedOf(json, {"rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", "rotary_pct",
                        "rotary_emb_base", "position_embedding_type", "relative_attention_num_buckets",
                        "relative_attention_max_distance", "static_position_embeddings", "clamp_len"}),
         stacks(textPositionsOf)});
    settings.push_back({"Readout", askedOf(json, {"tie_word_embeddings"}), readoutOf(source)});
    std::string activation = stacks([](const StreamSpec& stack) { return feedForwardOf(stack.feedForward); });
    if (const auto& own = config.tokenReadout().headActivation)
        activation += fmt::format("; {} in the readout", activationName(*own));
    settings.push_back({"Activation",
                        askedOf(json, {"hidden_act", "activation_function", "activation", "feed_forward_proj",
                                       "dense_act_fn", "is_gated_act", "ff_activation", "gated"}),
                        activation});
    settings.push_back({"Norms",
                        askedOf(json, {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm", "norm_epsilon"}),
                        normsOf(config.norm, config.normEpsilon, config.residual->block->isPostNorm)});
    settings.push_back(
        {"Context", askedOf(json, {"max_position_embeddings", "n_positions", "n_ctx", "context"}),
         fmt::format("{} tokens{}", capacity, capacity < config.context ? ", the most that this program runs" : "")});
    return settings;
}

std::vector<ModelSetting> settingsOfPictures(const ModelSource& source) {
    const ModelSpec& config = source.config();
    const nlohmann::json json = configOf(source);
    std::vector<ModelSetting> settings;
    settings.push_back({"Layers and heads",
                        askedOf(json, {"architecture", "num_hidden_layers", "depths", "num_attention_heads",
                                       "num_heads", "model_args"}),
                        headsOf(config.layers)});
    std::string windows = "the whole picture";
    if (!config.patches.windows.empty())
        windows = byLayer(config.patches.windows.size(), [&](size_t layer) {
            const GridWindows& window = config.patches.windows[layer];
            if (window.size == 0) return std::string("the whole picture");
            return fmt::format("windows of {} x {} tokens{}", window.size, window.size,
                               window.shift > 0 ? fmt::format(", shifted by {}", window.shift) : "");
        });
    settings.push_back({"Windows", askedOf(json, {"window_size", "windows"}), windows});
    std::string positions = config.positions == Positions::Learned      ? "a learned table"
                            : config.positions == Positions::Sinusoidal ? "sinusoids"
                                                                        : "";
    if (const std::string parts = partsOf(config.layers); !parts.empty())
        positions += (positions.empty() ? "" : "; ") + parts;
    settings.push_back(
        {"Positions", askedOf(json, {"positions", "use_absolute_embeddings"}), positions.empty() ? "none" : positions});
    settings.push_back(
        {"Picture", askedOf(json, {"image_size", "patch_size", "num_channels"}),
         fmt::format("{} x {} pixels, {} x {} patches of {}", config.patches.image.width, config.patches.image.height,
                     config.patches.grid().width, config.patches.grid().height, config.patches.patch)});
    settings.push_back(
        {"Activation", askedOf(json, {"hidden_act", "use_swiglu_ffn"}), feedForwardOf(config.feedForward)});
    settings.push_back({"Norms", askedOf(json, {"layer_norm_eps"}), normsOf(config.norm, config.normEpsilon, false)});
    return settings;
}

} // namespace

std::vector<ModelSetting> settingsOf(const ModelSource& source, int64_t capacity) {
    const bool isPicture = source.config().axis == AxisKind::Patches;
    std::vector<ModelSetting> settings = isPicture ? settingsOfPictures(source) : settingsOfText(source, capacity);
    addLeftOut(source.leftOut(), settings);
    return settings;
}

} // namespace attn
