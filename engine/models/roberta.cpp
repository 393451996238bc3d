#include "engine/models/bert.h"
#include "engine/models/config_reader.h"
#include "engine/models/families.h"

#include <fmt/format.h>

// RoBERTa, XLM-RoBERTa and CamemBERT: BERT without its second pre-training task, with positions counted from the row
// after that of padding. @source Liu et al. 2019, "RoBERTa: A Robustly Optimized BERT Pretraining Approach",
// arXiv:1907.11692; tensor names as in Hugging Face's files.

namespace attn {
namespace {

constexpr int64_t kPadding = 1; ///< id of the padding token
constexpr int64_t kFirstPosition = kPadding + 1;

DecoderConfig config(const nlohmann::json& json, const std::string& file, const TensorNames& names) {
    const ConfigReader read(json, file);
    if (const int64_t padding = read.size("pad_token_id", kPadding); padding != kPadding)
        read.fail("pad_token_id", fmt::format("is {}, but only {} is supported", padding, kPadding));
    DecoderConfig config =
        bertConfig(read, names.contains("lm_head.dense.weight"),
                   read.flag("tie_word_embeddings", true) || !names.contains("lm_head.decoder.weight"));
    if (config.context <= kFirstPosition)
        read.fail("max_position_embeddings",
                  fmt::format("is {}, but the first {} rows belong to padding", config.context, kFirstPosition));
    config.context -= kFirstPosition;
    return config;
}

WeightRecipe recipe(const DecoderConfig& config, const std::string& parameter, const TensorNames& names) {
    static const FamilyNames kNames{
        .prefix = "roberta.",
        .global = {{"embed.W_E", "embeddings.word_embeddings.weight"},
                   {"pos_embed.W_pos", "embeddings.position_embeddings.weight"},
                   {"token_type_embed.W_token_type", "embeddings.token_type_embeddings.weight"},
                   {"embed.ln", "embeddings.LayerNorm"},
                   {"mlm_head", "lm_head.dense"},
                   {"mlm_head.ln", "lm_head.layer_norm"},
                   {"unembed.W_U", "lm_head.decoder.weight"},
                   {"unembed.b_U", "lm_head.bias"}},
        .blocks = "encoder.layer.",
        .inBlock = bertBlockNames()};
    const std::string name = kNames.tensorOf(parameter, names);
    if (parameter == "pos_embed.W_pos") return {.source = name, .offset = kFirstPosition, .group = config.context};
    const char* const kOtherBias = "lm_head.decoder.bias"; // some files hold only this one
    return {.source =
                parameter == "unembed.b_U" && !names.contains(name) && names.contains(kOtherBias) ? kOtherBias : name};
}

} // namespace

const ModelFamily kRoberta{.id = "roberta",
                           .title = "RoBERTa",
                           .modelTypes = {"roberta", "xlm-roberta", "camembert"},
                           .config = config,
                           .recipe = recipe};

} // namespace attn
