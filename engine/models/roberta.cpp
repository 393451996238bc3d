#include "engine/models/bert.h"
#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/generation_rules.h"

#include <fmt/format.h>

// RoBERTa, XLM-RoBERTa and CamemBERT: BERT without its second pre-training task, with positions that count the
// tokens that are no padding, from the row after that of padding. @source Liu et al. 2019, "RoBERTa: A Robustly
// Optimized BERT Pretraining Approach", arXiv:1907.11692; tensor names as in Hugging Face's files.

namespace attn {
namespace {

constexpr TiedReadout kTie{.stored = "lm_head.decoder.weight"};

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    constexpr const char* kPadding = "pad_token_id";
    const int64_t usualPadding = classTokensOf("roberta").padding.value_or(0);
    ModelSpec config = bertConfig(read, names.contains("lm_head.dense.weight"), kTie.inForce(read, names));
    if (read.isNull(kPadding)) read.fail(kPadding, "is null, but positions are counted from it");
    const int64_t padding = read.wholeNumber(kPadding, usualPadding, 0, config.tokens.vocabulary - 1);
    if (config.context <= padding + 1)
        read.fail("max_position_embeddings",
                  fmt::format("is {}, but the first {} rows belong to padding", config.context, padding + 1));
    config.context -= padding + 1;
    config.tokens.paddingToken = padding;
    for (ReadoutSpec& readout : config.readouts)
        readout.headActivation = Activation::GeluErf; // whatever that of the layers is
    return config;
}

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
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
    if (parameter == "pos_embed.W_pos")
        return {.source = name, .offset = *config.tokens.paddingToken, .group = config.context + 1};
    const char* const kOtherBias = "lm_head.decoder.bias"; // some files hold only this one
    return {.source =
                parameter == "unembed.b_U" && !names.contains(name) && names.contains(kOtherBias) ? kOtherBias : name};
}

} // namespace

const ModelFamily kRoberta{.id = "roberta",
                           .title = "RoBERTa",
                           .modelTypes = {"roberta", "xlm-roberta", "camembert"},
                           .config = config,
                           .recipe = recipe,
                           .tie = kTie,
                           .leftovers = {"*position_ids", "*pooler.dense.*", "lm_head.decoder.bias"},
                           .twins = {{"lm_head.bias", "lm_head.decoder.bias"}}};

} // namespace attn
