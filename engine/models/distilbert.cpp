#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/recipes.h"

#include <fmt/format.h>

// DistilBERT: BERT with half the layers, without token types and pooler. @source Sanh et al. 2019, "DistilBERT, a
// distilled version of BERT", arXiv:1910.01108; tensor names as in Hugging Face's files.

namespace attn {
namespace {

constexpr TiedReadout kTie{.stored = "vocab_projector.weight"};

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const int64_t width = read.size("dim"), heads = read.heads("n_heads", width, "dim"), layers = read.size("n_layers");
    const bool hasHead = names.contains("vocab_transform.weight");
    const LayerAttention attention{.spec = plainAttention({heads, heads}, {}),
                                   .headWidth = width / heads,
                                   .queryKeyValueBias = true,
                                   .outputBias = true};
    ModelSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = width;
    config.context = read.size("max_position_embeddings", 512);
    config.norm = &kLayerNormPart;
    config.normEpsilon = 1e-12; // no field of the config
    config.finalNorm = false;
    config.positions = Positions::Learned; // files hold the table even where it is a sinusoid
    config.embeddingNorm = true;
    config.residual = &kPostNormResidual;
    const ReadoutSpec readout{
        .kind = TextReadout::MaskedToken, .tiedEmbedding = kTie.inForce(read, names), .unembedBias = true};
    config.readouts.assign(hasHead ? 1 : 0, readout);
    config.feedForward = {.width = read.size("hidden_dim"), .activation = read.activation("activation", "gelu")};
    config.layers = std::vector<LayerAttention>(static_cast<size_t>(layers), attention);
    return config;
}

const FamilyNames kNames{.prefix = "distilbert.",
                         .global = {{"embed.W_E", "embeddings.word_embeddings.weight"},
                                    {"pos_embed.W_pos", "embeddings.position_embeddings.weight"},
                                    {"embed.ln", "embeddings.LayerNorm"},
                                    {"mlm_head", "vocab_transform"},
                                    {"mlm_head.ln", "vocab_layer_norm"},
                                    {"unembed.U", "vocab_projector"}},
                         .blocks = "transformer.layer.",
                         .inBlock = {{"attn.Q", "attention.q_lin"},
                                     {"attn.K", "attention.k_lin"},
                                     {"attn.V", "attention.v_lin"},
                                     {"attn.O", "attention.out_lin"},
                                     {"ln1", "sa_layer_norm"},
                                     {"mlp.in", "ffn.lin1"},
                                     {"mlp.out", "ffn.lin2"},
                                     {"ln2", "output_layer_norm"}}};

WeightRecipe recipe(const ModelSpec&, const std::string& parameter, const TensorNames& names) {
    return {.source = kNames.tensorOf(parameter, names)};
}

} // namespace

const ModelFamily kDistilBert{.id = "distilbert",
                              .title = "DistilBERT",
                              .modelTypes = {"distilbert"},
                              .config = config,
                              .recipe = recipe,
                              .tie = kTie,
                              .leftovers = {"*position_ids"}};

} // namespace attn
