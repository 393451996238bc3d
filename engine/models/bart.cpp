#include "engine/attention/position/sinusoid.h"
#include "engine/io/weight_source.h"
#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/generation_rules.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/trainable_family.h"
#include "engine/models/written_configs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// BART, and Marian, whose translation models have its layers: an encoder and a decoder with norms after the sums.
// BART learns its positions; Marian adds sinusoids. @source Lewis et al. 2020, "BART: Denoising Sequence-to-Sequence
// Pre-training for Natural Language Generation, Translation, and Comprehension", arXiv:1910.13461; Junczys-Dowmunt et
// al. 2018, "Marian: Fast Neural Machine Translation in C++", arXiv:1804.00344; tensor names as in Hugging Face's
// files.

namespace attn {
namespace {

constexpr TiedReadout kTie{.stored = "lm_head.weight"};
constexpr const char* kPrefix = "model.";
constexpr int64_t kFirstPosition = 2; ///< the rows of BART's table before it are not used
constexpr const char* kFinalNorm = "layer_norm";

/// Whether a stack ends with a norm, as in the first BART files, whose configurations ask for it.
bool hasFinalNorm(const ConfigReader& read, const std::string& stack, const TensorNames& names) {
    constexpr const char* kField = "add_final_layer_norm";
    if (!read.flag(kField, false)) return false;
    const std::string name = fmt::format("{}.{}.weight", stack, kFinalNorm);
    if (!names.contains(names.resolve(kPrefix, name)))
        read.fail(kField, fmt::format("is true, but the weights hold no {}", name),
                  "if the weights are complete, set it to false: newer versions of transformers ignore it");
    return true;
}

/// What a stack has in both families. @param stack "encoder" or "decoder"
StreamSpec stackOf(const ConfigReader& read, const std::string& stack, bool isMarian, const TensorNames& names) {
    const auto field = [&](const char* end) { return stack + end; };
    const int64_t width = read.size("d_model"), heads = read.heads(field("_attention_heads").c_str(), width, "d_model"),
                  layers = read.size(field("_layers").c_str());
    const bool isDecoder = stack == "decoder";
    if (read.flag("normalize_before", false))
        read.fail("normalize_before", "is true, but only norms after the sums are supported");
    const LayerAttention attention{
        .spec = plainAttention({heads, heads}, isDecoder ? MaskExpression::causal() : MaskExpression()),
        .headWidth = width / heads,
        .queryKeyValueBias = true,
        .outputBias = true};
    StreamSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = width;
    config.context = read.size("max_position_embeddings", 1024);
    config.finalNorm = hasFinalNorm(read, stack, names);
    config.positions = isMarian ? Positions::Sinusoidal : Positions::Learned;
    config.embeddingNorm = !isMarian;
    config.tokens.scale = read.flag("scale_embedding", false) ? std::sqrt(static_cast<double>(width)) : 1;
    config.residual = &kPostNormResidual;
    config.feedForward = {.width = read.size(field("_ffn_dim").c_str()),
                          .activation = read.activation("activation_function", "gelu")};
    config.layers = std::vector<LayerAttention>(static_cast<size_t>(layers), attention);
    return config;
}

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const bool isMarian = read.text("model_type", "") == "marian";
    ModelSpec decoder{stackOf(read, "decoder", isMarian, names)};
    StreamSpec encoder = stackOf(read, "encoder", isMarian, names);
    if (isMarian && !read.flag("static_position_embeddings", true))
        read.fail("static_position_embeddings", "is false, but only sinusoids are supported");
    LayerAttention cross = decoder.layers.front();
    cross.spec.mask = {};
    decoder.crossAttention.assign(decoder.layers.size(), cross);
    if (isMarian && !read.flag("share_encoder_decoder_embeddings", true)) {
        encoder.tokens.isOwn = decoder.tokens.isOwn = true;
        decoder.tokens.vocabulary = read.size("decoder_vocab_size", decoder.tokens.vocabulary);
    }
    decoder.readouts.front().tiedEmbedding = kTie.inForce(read, names);
    decoder.readouts.front().unembedBias = names.contains("final_logits_bias");
    if (read.has("forced_bos_token_id")) read.pass("force_bos_token_to_be_generated"); // its older form
    const int64_t usualStart = classTokensOf(isMarian ? "marian" : "bart").start.value_or(0);
    decoder.startToken = read.token("decoder_start_token_id", std::min(usualStart, decoder.tokens.vocabulary - 1),
                                    decoder.tokens.vocabulary); // a small Marian has its token for padding last
    decoder.readFrom(std::move(encoder));
    return decoder;
}

std::string tensorOf(const std::string& parameter, const TensorNames& names) {
    static const NameTable kGlobal{
        {"embed.W_E", "shared.weight"}, {"unembed.W_U", "lm_head.weight"}, {"unembed.b_U", "final_logits_bias"}};
    static const NameTable kStack{{"embed.W_E", "embed_tokens.weight"},
                                  {"pos_embed.W_pos", "embed_positions.weight"},
                                  {"embed.ln", "layernorm_embedding"},
                                  {"ln_final", kFinalNorm}};
    static const NameTable kBlock{{"attn.Q", "self_attn.q_proj"},
                                  {"attn.K", "self_attn.k_proj"},
                                  {"attn.V", "self_attn.v_proj"},
                                  {"attn.O", "self_attn.out_proj"},
                                  {"ln1", "self_attn_layer_norm"},
                                  {"cross_attn.Q", "encoder_attn.q_proj"},
                                  {"cross_attn.K", "encoder_attn.k_proj"},
                                  {"cross_attn.V", "encoder_attn.v_proj"},
                                  {"cross_attn.O", "encoder_attn.out_proj"},
                                  {"ln_cross", "encoder_attn_layer_norm"},
                                  {"mlp.in", "fc1"},
                                  {"mlp.out", "fc2"},
                                  {"ln2", "final_layer_norm"}};
    for (const std::string stack : {"encoder", "decoder"}) {
        if (!parameter.starts_with(stack + ".")) continue;
        const auto [layer, rest] = splitName(parameter, stack + ".");
        const std::string inStack = layer >= 0 ? fmt::format("layers.{}.{}", layer, lookUp(kBlock, rest))
                                               : lookUp(kStack, parameter.substr(stack.size() + 1));
        return names.resolve(kPrefix, fmt::format("{}.{}", stack, inStack));
    }
    const std::string name = names.resolve(kPrefix, lookUp(kGlobal, parameter));
    if (parameter != "embed.W_E" || names.contains(name)) return name;
    for (const char* copy :
         {"decoder.embed_tokens.weight", "encoder.embed_tokens.weight"}) // some files hold only those
        if (const std::string other = names.resolve(kPrefix, copy); names.contains(other)) return other;
    return name;
}

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    const std::string name = tensorOf(parameter, names);
    if (parameter == "unembed.b_U")
        return {.source = name, .flattened = true, .extents = {1, config.tokens.vocabulary}};
    if (!parameter.ends_with("pos_embed.W_pos")) return {.source = name};
    return {.source = name, .offset = kFirstPosition, .group = config.context};
}

} // namespace

namespace {

/// What the two families share.
ModelFamily sharedFamily(std::string_view id, std::string_view title) {
    return {.id = id,
            .title = title,
            .modelTypes = {id},
            .config = config,
            .recipe = recipe,
            .describe = describeBart,
            .prefix = kPrefix,
            .unprefixed = {"lm_head", "final_logits_bias"},
            .tie = kTie,
            .leftovers = {"*.version"},
            .remarks =
                [](const WeightSource&, const ModelSpec& config) {
                    std::vector<std::string> remarks;
                    if (config.finalNorm)
                        remarks.emplace_back("each stack ends with a norm, as config.json asks (add_final_layer_norm); "
                                             "newer versions of transformers leave it out");
                    return remarks;
                },
            .spareFields = {"num_hidden_layers", "extra_pos_embeddings", "add_bias_logits"}};
}

/// Names the tables of positions that are stored and are no sinusoids.
std::vector<std::string> strangePositions(const WeightSource& weights, const ModelSpec& config) {
    constexpr double kNear = 0.01; // above the rounding of bfloat16
    const int64_t width = config.modelWidth;
    std::vector<std::string> found;
    for (const std::string& name : weights.storedNames()) {
        if (!name.ends_with("coder.embed_positions.weight")) continue;
        const std::vector<int64_t>& shape = weights.tensor(name).shape;
        bool isRight = shape.size() == 2 && shape[1] == width;
        std::vector<float> row(static_cast<size_t>(width));
        for (int64_t at = 0; isRight && at < shape[0]; ++at) {
            weights.read(name, at * width, row);
            for (int64_t i = 0; i < width; ++i)
                isRight = isRight && std::abs(static_cast<double>(row[static_cast<size_t>(i)]) -
                                              sinusoidInHalves(at, i, width, 10000)) < kNear;
        }
        if (!isRight)
            found.push_back(fmt::format("\"{}\" holds positions that are no sinusoids; this program computes sinusoids "
                                        "in their place",
                                        name));
    }
    return found;
}

ModelFamily bartFamily() {
    ModelFamily family = sharedFamily("bart", "BART");
    family.spareFields.emplace_back("normalize_embedding");
    return family;
}

ModelFamily marianFamily() {
    ModelFamily family = sharedFamily("marian", "Marian");
    family.spareFields.emplace_back("decoder_vocab_size");
    family.leftovers.emplace_back("*coder.embed_positions.weight"); // sinusoids
    family.remarks = strangePositions;
    return family;
}

} // namespace

const ModelFamily kBart = bartFamily(), kMarian = marianFamily();

namespace {

/// BART and Marian have learned positions or sines.
ModelSpec describeTrained(const Architecture& a, int64_t vocabulary, int64_t context, Positions positions) {
    const bool isMarian = positions == Positions::Sinusoidal;
    const LayerAttention attention = attentionOfLayers(a, {});
    ModelSpec decoder;
    decoder.family = a.family;
    decoder.tokens.vocabulary = vocabulary;
    decoder.modelWidth = a.width;
    decoder.context = context;
    decoder.finalNorm = false;
    decoder.positions = a.positions == "none" ? Positions::None : positions;
    decoder.embeddingNorm = !isMarian;
    decoder.tokens.scale = isMarian ? std::sqrt(static_cast<double>(a.width)) : 1;
    decoder.residual = &kPostNormResidual;
    decoder.readouts.front().unembedBias = true;
    decoder.feedForward = feedForwardOf(a);
    return withEncoder(std::move(decoder), attention, attention, a.layers);
}

} // namespace

const TrainableFamily kTrainsBart{.id = "bart",
                                  .title = "BART: learned positions, norms after the sums",
                                  .hasSource = true,
                                  .positions = {"learned", "none"},
                                  .describe = [](const Architecture& a, int64_t vocabulary, int64_t context) {
                                      return describeTrained(a, vocabulary, context, Positions::Learned);
                                  }};
const TrainableFamily kTrainsMarian{.id = "marian",
                                    .title = "Marian: sines as positions, norms after the sums",
                                    .hasSource = true,
                                    .describe = [](const Architecture& a, int64_t vocabulary, int64_t context) {
                                        return describeTrained(a, vocabulary, context, Positions::Sinusoidal);
                                    }};

} // namespace attn
