#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/trainable_family.h"
#include "engine/models/written_configs.h"

#include <fmt/format.h>

#include <algorithm>

// XLNet, as it reads a text: every token sees every token, by content and by distance. Only training has the second
// stream, which predicts a token without seeing it; segments are left out. @source Yang et al. 2019, "XLNet:
// Generalized Autoregressive Pretraining for Language Understanding", arXiv:1906.08237; tensor names as in Hugging
// Face's files.

namespace attn {
namespace {

constexpr int64_t kContext = 512; ///< the model allows any length
constexpr const char* kPrefix = "transformer.";
constexpr TiedReadout kTie{.stored = "lm_loss.weight"};

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const int64_t width = read.size("d_model"), heads = read.heads("n_head", width, "d_model"),
                  headWidth = read.size("d_head", width / heads);
    if (const std::string kind = read.text("attn_type", "bi"); kind != "bi")
        read.fail("attn_type", fmt::format("is \"{}\", but only \"bi\" is supported", kind));
    if (read.flag("bi_data", false)) read.fail("bi_data", "is true, but a text is read in one direction only");
    const double clamp = read.number("clamp_len", -1); // larger distances are equal: no text has them here
    read.flag("same_length", false);                   // changes only attention in one direction
    if (width % 2 != 0) read.fail("d_model", fmt::format("is {} but must be even", width));
    LayerAttention attention{.spec = plainAttention({heads, heads}, {}), .headWidth = headWidth};
    attention.spec.put(Slot::Position, "transformer_xl", {static_cast<double>(width)});
    const bool hasHead = names.contains("lm_loss.bias");
    ModelSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = width;
    config.context = clamp > 0
                         ? std::max<int64_t>(1, static_cast<int64_t>(std::min(clamp, static_cast<double>(kContext))))
                         : kContext;
    config.normEpsilon = read.number("layer_norm_eps", 1e-12);
    config.finalNorm = false;
    config.residual = &kPostNormResidual;
    const ReadoutSpec readout{.kind = TextReadout::MaskedToken,
                              .tiedEmbedding = kTie.inForce(read, names),
                              .unembedBias = true,
                              .hasMaskedHead = false};
    config.readouts.assign(hasHead ? 1 : 0, readout);
    config.feedForward = {.width = read.size("d_inner"), .activation = read.activation("ff_activation", "gelu")};
    config.layers = std::vector<LayerAttention>(static_cast<size_t>(read.size("n_layer")), attention);
    config.hasQueryStream = hasHead && names.contains(names.resolve(kPrefix, "mask_emb"));
    return config;
}

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    static const FamilyNames kNames{.prefix = kPrefix,
                                    .global = {{"embed.W_E", "word_embedding.weight"},
                                               {"mask_embed.W_mask", "mask_emb"},
                                               {"unembed.W_U", "lm_loss.weight"},
                                               {"unembed.b_U", "lm_loss.bias"}},
                                    .blocks = "layer.",
                                    .inBlock = {{"attn.W_Q", "rel_attn.q"},
                                                {"attn.W_K", "rel_attn.k"},
                                                {"attn.W_V", "rel_attn.v"},
                                                {"attn.W_O", "rel_attn.o"},
                                                {"attn.position.W_R", "rel_attn.r"},
                                                {"attn.position.u", "rel_attn.r_w_bias"},
                                                {"attn.position.v", "rel_attn.r_r_bias"},
                                                {"ln1", "rel_attn.layer_norm"},
                                                {"mlp.in", "ff.layer_1"},
                                                {"mlp.out", "ff.layer_2"},
                                                {"ln2", "ff.layer_norm"}}};
    const std::string name = kNames.tensorOf(parameter, names), inBlock = splitName(parameter).rest;
    // Projections have the axes width, head and feature.
    const bool isProjection = projectionOf(inBlock) >= 0 || inBlock == "attn.position.W_R",
               isBias = inBlock == "attn.position.u" || inBlock == "attn.position.v",
               isMask = parameter == "mask_embed.W_mask";
    const LayerAttention& attention = config.layers.front();
    std::vector<int64_t> extents;
    if (isMask) extents = {1, 1, config.modelWidth};
    if (isProjection || inBlock == "attn.W_O")
        extents = {config.modelWidth, attention.heads().heads, attention.headWidth};
    if (isBias) extents = {attention.heads().heads, attention.headWidth};
    return {.source = name,
            .transposed = isProjection,
            .flattened = isProjection || inBlock == "attn.W_O" || isMask,
            .extents = std::move(extents)};
}

} // namespace

const ModelFamily kXlNet{.id = "xlnet",
                         .title = "XLNet",
                         .modelTypes = {"xlnet"},
                         .config = config,
                         .recipe = recipe,
                         .describe = describeXlnet,
                         .prefix = kPrefix,
                         .unprefixed = {"lm_loss"},
                         .tie = kTie,
                         .leftovers = {"*.rel_attn.r_s_bias", "*.rel_attn.seg_embed", "*mask_emb"}};

const TrainableFamily kTrainsXlnet{
    .id = "xlnet",
    .title = "XLNet: predicts words in a random order",
    .readouts = {TextReadout::MaskedToken},
    .permutes = true,
    .looksAhead = true,
    .composes = false,
    .describe = [](const Architecture& a, int64_t vocabulary, int64_t context) {
        LayerAttention attention = attentionOfLayers(a, {});
        attention.spec.put(Slot::Position, "transformer_xl", {static_cast<double>(a.width)});
        attention.queryKeyValueBias = attention.outputBias = false;
        ModelSpec config;
        config.family = a.family;
        config.tokens.vocabulary = vocabulary;
        config.modelWidth = a.width;
        config.context = std::max(context, kContext);
        config.normEpsilon = 1e-12;
        config.finalNorm = false;
        config.residual = &kPostNormResidual;
        config.readouts = {{.kind = TextReadout::MaskedToken, .unembedBias = true, .hasMaskedHead = false}};
        config.feedForward = feedForwardOf(a);
        config.layers = std::vector(static_cast<size_t>(a.layers), attention);
        config.hasQueryStream = true;
        return config;
    }};

} // namespace attn
