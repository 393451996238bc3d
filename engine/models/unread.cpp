#include "engine/models/unread.h"

#include "engine/core/globs.h"
#include "engine/io/json_file.h"
#include "engine/models/generation_rules.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

/// Fields of config.json, and of timm's objects in it, that change no number of a run of a trained model: notes of the
/// program that wrote the file, what only training reads, what a run returns, and names of classes.
constexpr std::array<std::string_view, 96> kSilent{"_attn_implementation",
                                                   "_attn_implementation_autoset",
                                                   "_name_or_path",
                                                   "_num_labels",
                                                   "add_cross_attention",
                                                   "apply_layernorm",
                                                   "architecture",
                                                   "architectures",
                                                   "attn_implementation",
                                                   "auto_map",
                                                   "chunk_size_feed_forward",
                                                   "classifier",
                                                   "custom_load",
                                                   "description",
                                                   "directionality",
                                                   "dtype",
                                                   "encoder_stride",
                                                   "end_n_top",
                                                   "example_prompt",
                                                   "file",
                                                   "finetuning_task",
                                                   "first_conv",
                                                   "fixed_input_size",
                                                   "gradient_checkpointing",
                                                   "hf_hub_filename",
                                                   "hf_hub_id",
                                                   "id2label",
                                                   "init",
                                                   "init_range",
                                                   "init_std",
                                                   "is_decoder",
                                                   "is_encoder_decoder",
                                                   "keys_to_ignore_at_inference",
                                                   "label2id",
                                                   "label_descriptions",
                                                   "label_names",
                                                   "label_offset",
                                                   "layerscale_value",
                                                   "license",
                                                   "mask_ratio",
                                                   "max_seq_len",
                                                   "max_seq_length",
                                                   "max_sequence_length",
                                                   "mem_len",
                                                   "min_input_size",
                                                   "model_max_length",
                                                   "model_type",
                                                   "notes",
                                                   "num_classes",
                                                   "num_features",
                                                   "num_labels",
                                                   "origin_url",
                                                   "out_features",
                                                   "out_indices",
                                                   "output_past",
                                                   "paper_ids",
                                                   "paper_name",
                                                   "pool_size",
                                                   "pooler_act",
                                                   "pooler_fc_size",
                                                   "pooler_num_attention_heads",
                                                   "pooler_num_fc_layers",
                                                   "pooler_output_size",
                                                   "pooler_size_per_head",
                                                   "pooler_type",
                                                   "prefix",
                                                   "pretraining_tp",
                                                   "qa_dropout",
                                                   "reorder_and_upcast_attn",
                                                   "reshape_hidden_states",
                                                   "return_dict",
                                                   "reuse_len",
                                                   "router_aux_loss_coef",
                                                   "save_step",
                                                   "sinusoidal_pos_embds",
                                                   "source",
                                                   "stage_names",
                                                   "start_n_top",
                                                   "state_dict",
                                                   "tag",
                                                   "task_specific_params",
                                                   "test_crop_pct",
                                                   "test_input_size",
                                                   "tf_legacy_loss",
                                                   "tie_weights_",
                                                   "tokenizer_class",
                                                   "torchscript",
                                                   "transformers.js_config",
                                                   "unsloth_fixed",
                                                   "unsloth_version",
                                                   "untie_r",
                                                   "url",
                                                   "use_bfloat16",
                                                   "use_mask_token",
                                                   "use_mems_eval",
                                                   "use_mems_train"};
/// The same as globs.
constexpr std::array<std::string_view, 12> kSilentGlobs{"*_token_id", "*_token_ids",   "*dropout*", "*_pdrop",
                                                        "*layerdrop", "initializer_*", "summary_*", "drop_path*",
                                                        "drop_rate",  "*_drop_rate",   "*_loss_*",  "*_loss"};

/// Fields that change numbers in some families of this program.
constexpr std::array<std::string_view, 36> kOfSomeFamilies{"activation_function",
                                                           "add_final_layer_norm",
                                                           "attention_bias",
                                                           "attention_layers",
                                                           "attention_types",
                                                           "clamp_len",
                                                           "dense_act_fn",
                                                           "feed_forward_proj",
                                                           "head_dim",
                                                           "hidden_act",
                                                           "is_gated_act",
                                                           "layer_norm_eps",
                                                           "layer_norm_epsilon",
                                                           "layer_types",
                                                           "max_window_layers",
                                                           "mlp_bias",
                                                           "num_key_value_heads",
                                                           "num_register_tokens",
                                                           "partial_rotary_factor",
                                                           "position_embedding_type",
                                                           "qkv_bias",
                                                           "rms_norm_eps",
                                                           "rope_parameters",
                                                           "rope_scaling",
                                                           "rope_theta",
                                                           "rotary_emb_base",
                                                           "rotary_pct",
                                                           "scale_attn_by_inverse_layer_idx",
                                                           "scale_attn_weights",
                                                           "scale_decoder_outputs",
                                                           "scale_embedding",
                                                           "sliding_window",
                                                           "type_vocab_size",
                                                           "use_parallel_residual",
                                                           "use_sliding_window",
                                                           "window_size"};

/// Fields that change numbers in transformers, and what this program does in their place.
/// @source transformers 5, masking_utils.py, create_causal_mask; transformers 4, modeling_utils.py, tie_weights
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kReplacements{
    {{"is_causal", "a decoder reads only earlier tokens here"},
     {"tie_encoder_decoder", "each stack has its own tensors here"}}};

LeftOut::Field fieldOf(const std::string& path, const nlohmann::json& value, const FieldLog& log) {
    using Reason = LeftOut::Field::Reason;
    LeftOut::Field field{.path = path, .value = shownJson(value)};
    const auto known = std::ranges::find(kReplacements, path, [](const auto& each) { return each.first; });
    if (log.isReplaced(path)) {
        field.reason = Reason::Replaced;
    } else if (known != kReplacements.end()) {
        field.reason = Reason::NotObeyed;
        field.instead = known->second;
    } else if (std::ranges::find(kOfSomeFamilies, path) != kOfSomeFamilies.end()) {
        field.reason = Reason::OtherFamilies;
    }
    return field;
}

bool isSilent(std::string_view field) {
    return isGenerationField(field) || std::ranges::find(kSilent, field) != kSilent.end() ||
           std::ranges::any_of(kSilentGlobs, [&](std::string_view glob) { return matchesGlob(glob, field); });
}

/// Whether an object asks for a sliding window, which Mistral has without the field, too.
/// @param hasWindow whether the family has obeyed "sliding_window"
bool asksForWindow(const nlohmann::json& object, bool hasWindow) {
    const auto window = object.find("sliding_window"), isOn = object.find("use_sliding_window");
    if (!hasWindow && isOn != object.end() && *isOn == false) return false;
    return window == object.end() ? hasWindow : !window->is_null();
}

/// Whether a value of a field changes nothing beside the others of its object.
/// @param hasWindow whether the family has obeyed "sliding_window"
bool isNeutral(const nlohmann::json& object, const std::string& field, const nlohmann::json& value, bool hasWindow) {
    if (field == "is_causal") return value == true; // false makes a decoder of transformers read in both directions
    if (field == "use_sliding_window" && value == false) return !hasWindow; // Mistral's window stays in force
    if (isOff(value)) return true;
    if (field == "sliding_window" || field == "max_window_layers") return !asksForWindow(object, hasWindow);
    if (field == "crop_mode") return value == "center";
    return field == "partial_rotary_factor" && value == 1;
}

void collect(const nlohmann::json& object, const FieldLog& log, const std::string& path, int depth,
             std::vector<LeftOut::Field>& found) {
    constexpr int kDeepest = 4;
    for (const auto& [name, value] : object.items()) {
        const std::string whole = path + name;
        if (isSilent(name)) continue;
        if (isNeutral(object, name, value, log.contains(path + "sliding_window"))) continue;
        if (!log.contains(whole))
            found.push_back(fieldOf(whole, value, log));
        else if (value.is_object() && depth < kDeepest)
            collect(value, log, whole + ".", depth + 1, found);
    }
}

} // namespace

std::vector<LeftOut::Field> unreadFields(const nlohmann::json& config, const FieldLog& log) {
    std::vector<LeftOut::Field> found;
    if (config.is_object()) collect(config, log, {}, 0, found);
    return found;
}

bool isSameTable(const WeightSource& weights, const std::string& first, const std::string& second) {
    constexpr int64_t kMostRows = 1024;
    const std::vector<int64_t>& shape = weights.tensor(first).shape;
    if (shape != weights.tensor(second).shape || shape.empty()) return false;
    const int64_t rows = shape.size() == 1 ? 1 : shape.front(), compared = std::min(rows, kMostRows);
    if (rows == 0) return true;
    std::vector<float> a(static_cast<size_t>(weights.tensor(first).elements() / rows)), b(a.size());
    for (int64_t i = 0; i < compared; ++i) {
        const int64_t begin = i * rows / compared * std::ssize(a);
        weights.read(first, begin, a);
        weights.read(second, begin, b);
        if (!std::ranges::equal(a, b, [](float x, float y) { return x == y || (x != x && y != y); })) return false;
    }
    return true;
}

std::vector<std::string> unreadTensors(const WeightSource& weights, const std::set<std::string>& used,
                                       std::span<const std::string_view> leftovers,
                                       std::span<const std::string> tables) {
    std::set<std::string> read;
    for (const std::string& name : used) read.insert(weights.storedName(name));
    std::vector<std::string> left = weights.storedNames();
    std::erase_if(left, [&](const std::string& name) {
        return read.contains(name) ||
               std::ranges::any_of(leftovers, [&](std::string_view glob) { return matchesGlob(glob, name); }) ||
               std::ranges::any_of(tables, [&](const std::string& table) { return isSameTable(weights, name, table); });
    });
    return left;
}

} // namespace attn
