#include "engine/models/bert.h"

#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/trainable_family.h"
#include "engine/models/written_configs.h"

#include <fmt/format.h>

#include <array>

// BERT: an encoder that fills in masked tokens, or that sorts texts or tokens into classes or finds answers. @source
// Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
// arXiv:1810.04805; tensor names as in Hugging Face's files.

namespace attn {

ModelSpec bertConfig(const ConfigReader& read, bool hasHead, bool isTied) {
    const int64_t width = read.size("hidden_size"), heads = read.heads("num_attention_heads", width, "hidden_size"),
                  layers = read.size("num_hidden_layers");
    if (const std::string positions = read.text("position_embedding_type", "absolute"); positions != "absolute")
        read.fail("position_embedding_type", fmt::format("is \"{}\", but only \"absolute\" is supported", positions));
    for (const char* field : {"is_decoder", "add_cross_attention"})
        if (read.flag(field, false)) read.fail(field, "is true, but only encoders are supported");
    const LayerAttention attention{.spec = plainAttention({heads, heads}, {}),
                                   .headWidth = width / heads,
                                   .queryKeyValueBias = true,
                                   .outputBias = true};
    ModelSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = width;
    config.context = read.size("max_position_embeddings", 512);
    config.norm = &kLayerNormPart;
    config.normEpsilon = read.number("layer_norm_eps", 1e-12);
    config.finalNorm = false;
    config.positions = Positions::Learned;
    config.tokens.types = read.size("type_vocab_size", 2);
    config.embeddingNorm = true;
    config.residual = &kPostNormResidual;
    config.readouts.clear();
    if (hasHead) config.readouts = {{.kind = TextReadout::MaskedToken, .tiedEmbedding = isTied, .unembedBias = true}};
    config.feedForward = {.width = read.size("intermediate_size"), .activation = read.activation("hidden_act", "gelu")};
    config.layers = std::vector<LayerAttention>(static_cast<size_t>(layers), attention);
    return config;
}

const NameTable& bertBlockNames() {
    static const NameTable kNames{{"attn.Q", "attention.self.query"},    {"attn.K", "attention.self.key"},
                                  {"attn.V", "attention.self.value"},    {"attn.O", "attention.output.dense"},
                                  {"ln1", "attention.output.LayerNorm"}, {"mlp.in", "intermediate.dense"},
                                  {"mlp.out", "output.dense"},           {"ln2", "output.LayerNorm"}};
    return kNames;
}

namespace {

constexpr const char* kPrefix = "bert.";
constexpr TiedReadout kTie{.stored = "cls.predictions.decoder.weight"};

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const bool hasHead = names.contains("cls.predictions.transform.dense.weight");
    return bertConfig(read, hasHead, kTie.inForce(read, names));
}

/// The name of a tensor as the files have it: with "bert." or without, and with the norms' old names or the new ones.
std::string nameIn(const TensorNames& names, const std::string& name) {
    const std::string found = names.resolve(kPrefix, name);
    constexpr std::string_view kWeight = "LayerNorm.weight", kBias = "LayerNorm.bias";
    std::string old = name;
    if (name.ends_with(kWeight))
        old.replace(name.size() - kWeight.size(), kWeight.size(), "LayerNorm.gamma");
    else if (name.ends_with(kBias))
        old.replace(name.size() - kBias.size(), kBias.size(), "LayerNorm.beta");
    const std::string foundOld = names.resolve(kPrefix, old);
    return !names.contains(found) && names.contains(foundOld) ? foundOld : found;
}

/// The layer that gives the logits of classes.
std::string_view classifierOf(TextReadout readout) {
    if (readout == TextReadout::Span) return "qa_outputs";
    return readout == TextReadout::NextSentence ? "cls.seq_relationship" : "classifier";
}

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    static const NameTable kGlobal{{"embed.W_E", "embeddings.word_embeddings.weight"},
                                   {"pos_embed.W_pos", "embeddings.position_embeddings.weight"},
                                   {"token_type_embed.W_token_type", "embeddings.token_type_embeddings.weight"},
                                   {"embed.ln", "embeddings.LayerNorm"},
                                   {"pooler", "pooler.dense"},
                                   {"mlm_head", "cls.predictions.transform.dense"},
                                   {"mlm_head.ln", "cls.predictions.transform.LayerNorm"},
                                   {"unembed.W_U", "cls.predictions.decoder.weight"},
                                   {"unembed.b_U", "cls.predictions.bias"}};
    const auto [layer, rest] = splitName(parameter);
    if (layer >= 0)
        return {.source = nameIn(names, fmt::format("encoder.layer.{}.{}", layer, lookUp(bertBlockNames(), rest)))};
    if (rest.starts_with("classifier."))
        return {.source = lookUp({{"classifier", classifierOf(config.classReadout().kind)}}, rest)};
    const std::string name = nameIn(names, lookUp(kGlobal, rest));
    const char* const kOtherBias = "cls.predictions.decoder.bias"; // newer files may hold only this one
    return {.source = rest == "unembed.b_U" && !names.contains(name) && names.contains(kOtherBias) ? kOtherBias : name};
}

constexpr std::array<std::string_view, 1> kBertClasses{"Bert"};

} // namespace

const ModelFamily kBert{
    .id = "bert",
    .title = "BERT",
    .modelTypes = {"bert"},
    .config = config,
    .recipe = recipe,
    .describe = describeBert,
    .prefix = kPrefix,
    .unprefixed = {"cls.", "classifier", "qa_outputs"},
    .classModels = kBertClasses,
    .tie = kTie,
    .leftovers = {"*position_ids", "*pooler.dense.*", "cls.seq_relationship.*", "cls.predictions.decoder.bias"},
    .twins = {{"cls.predictions.bias", "cls.predictions.decoder.bias"}}};

const TrainableFamily kTrainsBert{.id = "bert",
                                  .title = "BERT: reads in both directions",
                                  .readouts = {TextReadout::MaskedToken, TextReadout::TextClass,
                                               TextReadout::NextSentence, TextReadout::TokenClass, TextReadout::Span},
                                  .looksAhead = true,
                                  .describe = [](const Architecture& a, int64_t vocabulary, int64_t context) {
                                      ModelSpec config;
                                      config.family = a.family;
                                      config.tokens.vocabulary = vocabulary;
                                      config.modelWidth = a.width;
                                      config.context = context;
                                      config.normEpsilon = 1e-12;
                                      config.finalNorm = false;
                                      config.positions = Positions::Learned;
                                      config.tokens.types = 2;
                                      config.embeddingNorm = true;
                                      config.residual = &kPostNormResidual;
                                      config.readouts = {{.kind = TextReadout::MaskedToken, .unembedBias = true}};
                                      config.feedForward = feedForwardOf(a);
                                      config.layers =
                                          std::vector(static_cast<size_t>(a.layers), attentionOfLayers(a, {}));
                                      return config;
                                  }};

} // namespace attn
