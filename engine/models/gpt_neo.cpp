#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/recipes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

// GPT-Neo: no factor 1/sqrt(D), no biases on q, k and v, and layers with or without a window. @source Black et al.
// 2021, "GPT-Neo"; Eldan and Li 2023, "TinyStories", arXiv:2305.07759 for the models; tensor names as in Hugging Face's
// files.

namespace attn {
namespace {

constexpr TiedReadout kTie{.stored = "lm_head.weight", .prefersStored = true};

/// Which layers are local: attention_layers, or attention_types [[["global","local"], n], ...] unrolled.
std::vector<bool> localLayers(const ConfigReader& read, int64_t layers) {
    std::vector<bool> isLocal;
    const auto add = [&](const nlohmann::json& kind) {
        if (kind != "global" && kind != "local")
            read.fail("attention_layers", fmt::format("holds {}, not \"global\" or \"local\"", kind.dump()));
        isLocal.push_back(kind == "local");
    };
    const nlohmann::json *byLayer = read.value("attention_layers"), *types = read.value("attention_types");
    if (byLayer != nullptr) {
        for (const std::string& kind : read.texts("attention_layers")) add(kind);
    } else if (types != nullptr) {
        if (!types->is_array()) read.fail("attention_types", "must be a list of [[kinds], repetitions]");
        for (const auto& entry : *types) {
            if (!entry.is_array() || entry.size() != 2 || !entry[0].is_array() || !entry[1].is_number_integer() ||
                entry[1] < 0 || entry[1] > layers)
                read.fail("attention_types", "must be a list of [[kinds], repetitions]");
            for (int64_t i = 0; i < entry[1].get<int64_t>(); ++i)
                for (const auto& kind : entry[0]) add(kind);
        }
    } else {
        read.fail("attention_types", "is missing");
    }
    if (static_cast<int64_t>(isLocal.size()) != layers)
        read.fail("attention_types", fmt::format("describes {} layers but num_layers is {}", isLocal.size(), layers));
    return isLocal;
}

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const int64_t width = read.size("hidden_size"), heads = read.heads("num_heads", width, "hidden_size"),
                  layers = read.size("num_layers");
    ModelSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = width;
    config.context = read.size("max_position_embeddings", 2048);
    config.norm = &kLayerNormPart;
    config.normEpsilon = read.number("layer_norm_epsilon", 1e-5);
    config.positions = Positions::Learned;
    config.readouts.front().tiedEmbedding = kTie.inForce(read, names);
    config.feedForward = {.width = read.size("intermediate_size", 4 * width),
                          .activation = read.activation("activation_function", "gelu_new")};
    const int64_t window = read.size("window_size", 256);
    for (bool isLocal : localLayers(read, layers)) {
        const MaskExpression causal = MaskExpression::causal();
        LayerAttention attention{
            .spec = plainAttention({heads, heads}, isLocal ? causal & MaskExpression::within(window) : causal),
            .headWidth = width / heads,
            .outputBias = true};
        attention.spec.put(Slot::Score, "dot", {});
        config.layers.push_back(attention);
    }
    return config;
}

const FamilyNames kNames{.prefix = "transformer.",
                         .global = {{"embed.W_E", "wte.weight"},
                                    {"pos_embed.W_pos", "wpe.weight"},
                                    {"ln_final", "ln_f"},
                                    {"unembed.W_U", "lm_head.weight"}},
                         .blocks = "h.",
                         .inBlock = {{"ln1", "ln_1"},
                                     {"ln2", "ln_2"},
                                     {"attn.Q", "attn.attention.q_proj"},
                                     {"attn.K", "attn.attention.k_proj"},
                                     {"attn.V", "attn.attention.v_proj"},
                                     {"attn.O", "attn.attention.out_proj"},
                                     {"mlp.in", "mlp.c_fc"},
                                     {"mlp.out", "mlp.c_proj"}}};

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    if (isOfClasses(parameter)) return {.source = classTensor(config.classReadout().kind, "classifier", parameter)};
    return {.source = kNames.tensorOf(parameter, names)};
}

constexpr std::array<std::string_view, 1> kGptNeoClasses{"GPTNeo"};

} // namespace

const ModelFamily kGptNeo{.id = "gpt_neo",
                          .title = "GPT-Neo",
                          .modelTypes = {"gpt_neo"},
                          .config = config,
                          .recipe = recipe,
                          .classModels = kGptNeoClasses,
                          .tie = kTie,
                          .leftovers = {"*.attn.attention.bias", "*.attn.attention.masked_bias"}};

} // namespace attn
