#include "engine/models/written_configs.h"

#include "engine/models/config_reader.h"
#include "engine/models/family.h"
#include "engine/models/model_builder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace attn {

nlohmann::json describeLlama(const ModelSpec& config) {
    const LayerAttention& attention = config.layers.front();
    return {{"architectures", {"LlamaForCausalLM"}},
            {"model_type", "llama"},
            {"vocab_size", config.tokens.vocabulary},
            {"hidden_size", config.modelWidth},
            {"num_attention_heads", attention.heads().heads},
            {"num_key_value_heads", attention.heads().groups},
            {"head_dim", attention.headWidth},
            {"num_hidden_layers", config.layers.size()},
            {"intermediate_size", config.feedForward.width},
            {"max_position_embeddings", config.context},
            {"rms_norm_eps", config.normEpsilon},
            {"rope_theta", 10000.0},
            {"hidden_act", "silu"},
            {"attention_bias", false},
            {"mlp_bias", false},
            {"tie_word_embeddings", config.tokenReadout().tiedEmbedding},
            {"torch_dtype", "float32"}};
}

nlohmann::json describeBert(const ModelSpec& config) {
    const LayerAttention& attention = config.layers.front();
    return {{"architectures", {predictsTokens(config.readout()) ? "BertForMaskedLM" : "BertModel"}},
            {"model_type", "bert"},
            {"vocab_size", config.tokens.vocabulary},
            {"hidden_size", config.modelWidth},
            {"num_attention_heads", attention.heads().heads},
            {"num_hidden_layers", config.layers.size()},
            {"intermediate_size", config.feedForward.width},
            {"max_position_embeddings", config.context},
            {"type_vocab_size", config.tokens.types},
            {"hidden_act", activationName(config.feedForward.activation)},
            {"layer_norm_eps", config.normEpsilon},
            {"position_embedding_type", "absolute"},
            {"tie_word_embeddings", config.tokenReadout().tiedEmbedding},
            {"hidden_dropout_prob", 0.0},
            {"attention_probs_dropout_prob", 0.0},
            {"torch_dtype", "float32"}};
}

nlohmann::json describeXlnet(const ModelSpec& config) {
    const LayerAttention& attention = config.layers.front();
    return {{"architectures", {config.readout() == TextReadout::None ? "XLNetModel" : "XLNetLMHeadModel"}},
            {"model_type", "xlnet"},
            {"vocab_size", config.tokens.vocabulary},
            {"d_model", config.modelWidth},
            {"n_head", attention.heads().heads},
            {"d_head", attention.headWidth},
            {"n_layer", config.layers.size()},
            {"d_inner", config.feedForward.width},
            {"ff_activation", activationName(config.feedForward.activation)},
            {"layer_norm_eps", config.normEpsilon},
            {"attn_type", "bi"},
            {"untie_r", true},
            {"bi_data", false},
            {"same_length", false},
            {"clamp_len", -1},
            {"tie_word_embeddings", config.tokenReadout().tiedEmbedding},
            {"dropout", 0.0},
            {"torch_dtype", "float32"}};
}

nlohmann::json describeT5(const ModelSpec& config) {
    const LayerAttention& attention = config.layers.front();
    const FeedForwardSpec& feedForward = config.feedForward;
    nlohmann::json json{
        {"architectures", {"T5ForConditionalGeneration"}},
        {"model_type", "t5"},
        {"is_encoder_decoder", true},
        {"vocab_size", config.tokens.vocabulary},
        {"d_model", config.modelWidth},
        {"d_kv", attention.headWidth},
        {"d_ff", feedForward.width},
        {"num_layers", config.encoder->layers.size()},
        {"num_decoder_layers", config.layers.size()},
        {"num_heads", attention.heads().heads},
        {"n_positions", config.context},
        {"layer_norm_epsilon", config.normEpsilon},
        {"feed_forward_proj", feedForward.gated ? "gated-gelu" : activationName(feedForward.activation)},
        {"dropout_rate", 0.0},
        {"decoder_start_token_id", config.startToken},
        {"pad_token_id", config.startToken},
        {"tie_word_embeddings", config.tokenReadout().tiedEmbedding},
        {"torch_dtype", "float32"}};
    const std::vector<double>& position = attention.spec.parts.at(Slot::Position).values;
    if (!position.empty()) { // else it has no positions
        json["relative_attention_num_buckets"] = static_cast<int64_t>(position.at(0));
        json["relative_attention_max_distance"] = static_cast<int64_t>(position.at(1));
    }
    return json;
}

nlohmann::json describeBart(const ModelSpec& config) {
    const bool isMarian = config.family == "marian";
    nlohmann::json json{{"architectures", {isMarian ? "MarianMTModel" : "BartForConditionalGeneration"}},
                        {"model_type", config.family},
                        {"is_encoder_decoder", true},
                        {"vocab_size", config.tokens.vocabulary},
                        {"d_model", config.modelWidth},
                        {"max_position_embeddings", config.context},
                        {"activation_function", activationName(config.feedForward.activation)},
                        {"scale_embedding", config.tokens.scale != 1},
                        {"dropout", 0.0},
                        {"attention_dropout", 0.0},
                        {"activation_dropout", 0.0},
                        {"decoder_start_token_id", config.startToken},
                        {"pad_token_id", config.startToken},
                        {"forced_eos_token_id", nullptr}, // else the class of transformers has one
                        {"tie_word_embeddings", config.tokenReadout().tiedEmbedding},
                        {"torch_dtype", "float32"}};
    if (config.finalNorm) json["add_final_layer_norm"] = true;
    for (const StreamSpec* stream : config.streams()) {
        json[stream->stack + "_layers"] = stream->layers.size();
        json[stream->stack + "_attention_heads"] = stream->layers.front().heads().heads;
        json[stream->stack + "_ffn_dim"] = stream->feedForward.width;
    }
    if (isMarian) json["static_position_embeddings"] = true;
    return json;
}

namespace {

/// The architectures in config.json of models with classes, by what follows the family's name.
constexpr std::array<std::pair<TextReadout, std::string_view>, 4> kClassModels{
    {{TextReadout::TextClass, "ForSequenceClassification"},
     {TextReadout::NextSentence, "ForNextSentencePrediction"},
     {TextReadout::TokenClass, "ForTokenClassification"},
     {TextReadout::Span, "ForQuestionAnswering"}}};

/// The same of a model that fills in masked tokens and says whether the second of two texts follows the first.
constexpr std::string_view kPretraining = "ForPreTraining";

/// The labels that files leave out, because the readout has always the same.
std::vector<std::string> fixedLabels(TextReadout readout) {
    if (readout == TextReadout::NextSentence) return {"follows", "random"};
    if (readout == TextReadout::Span) return {"first", "last"};
    return {};
}

/// @throws Error if they are not numbered from 0
std::vector<std::string> labelsIn(const ConfigReader& read) {
    constexpr int64_t kMostLabels = 100'000;
    std::vector<std::string> labels;
    if (!read.has("id2label")) {
        const int64_t count = read.size("num_labels", 2);
        for (int64_t id = 0; id < std::min(count, kMostLabels); ++id) labels.push_back(fmt::format("LABEL_{}", id));
        return labels;
    }
    const ConfigReader names = read.object("id2label");
    for (size_t id = 0; id < names.json().size(); ++id) {
        const auto name = names.optionalText(std::to_string(id).c_str());
        if (!name) read.fail("id2label", fmt::format("has no text for the class {}", id));
        labels.push_back(*name);
    }
    if (labels.empty()) read.fail("id2label", "lists no classes");
    return labels;
}

/// The names of a picture's classes, from id2label (Hugging Face) or label_names (timm); empty if the file has none, or
/// the model no classifier. @throws Error if they are not those of the classifier
std::vector<std::string> pictureLabelsIn(const ConfigReader& read, int64_t classes) {
    const char* const field = read.has("id2label") ? "id2label" : "label_names";
    if (classes == 0 || !read.has(field)) return {};
    std::vector<std::string> labels = read.has("id2label") ? labelsIn(read) : read.texts(field);
    if (std::ssize(labels) != classes)
        read.fail(field, fmt::format("names {} classes, but the classifier has {}", labels.size(), classes));
    return labels;
}

constexpr const char* kPicture = "written_picture";

/// @throws Error if the model has not enough tokens or positions for the picture
std::optional<WrittenPicture> writtenPictureIn(const ConfigReader& read, const ModelSpec& config) {
    if (!read.hasObject(kPicture) || config.readout() != TextReadout::NextToken || config.readsStream()) return {};
    const ConfigReader own = read.object(kPicture);
    const WrittenPicture picture{.rows = own.size("rows"),
                                 .columns = own.size("columns"),
                                 .channels = own.size("channels"),
                                 .levels = own.size("levels"),
                                 .blockHeight = own.size("block_height", 1),
                                 .blockWidth = own.size("block_width", 1)};
    if (picture.channels != 1 && picture.channels != 3) own.fail("channels", "is neither 1 nor 3");
    if (picture.levels < 2 || picture.levels > 256) own.fail("levels", "is not from 2 to 256");
    if (picture.channels * picture.levels > config.tokens.vocabulary)
        own.fail("levels", fmt::format("needs {} tokens, but the vocabulary has {}", picture.channels * picture.levels,
                                       config.tokens.vocabulary));
    if (picture.rows > config.context || picture.columns > config.context || picture.values() > config.context)
        own.fail("rows", fmt::format("makes a picture that does not fit into the context of {}", config.context));
    if (picture.rows % picture.blockHeight != 0 || picture.columns % picture.blockWidth != 0)
        own.fail("block_height", fmt::format("makes blocks of {} x {} pixels, which do not fill {} x {}",
                                             picture.blockHeight, picture.blockWidth, picture.rows, picture.columns));
    return picture;
}

} // namespace

ModelSpec configIn(const ModelFamily& family, const ConfigReader& read, const TensorNames& names) {
    read.checkTypes();
    ModelSpec config = family.config(read, names);
    config.family = std::string(family.id);
    for (const std::string_view field : family.spareFields) read.pass(std::string(field).c_str());
    if (config.axis == AxisKind::Patches) {
        ReadoutSpec& readout = config.readouts.front();
        readout.labels = pictureLabelsIn(read, readout.classes);
        readout.activation = classActivation(read, readout.classes);
        return config;
    }
    // Some files hold a table that is the embedding and the readout only under the readout's name.
    if (names.contains(family.tie.stored) && family.tie.asked(read) &&
        !names.contains(family.recipe(config, "embed.W_E", names).source))
        for (ReadoutSpec& readout : config.readouts) readout.tiedEmbedding = true;
    config.hasPrefix =
        config.readout() == TextReadout::NextToken && !config.readsStream() && read.flag("prefix_lm", false);
    config.picture = writtenPictureIn(read, config);
    const std::vector<std::string> architectures = read.texts("architectures");
    if (family.classModels.empty()) return config;
    const auto isListed = [&](std::string_view kind) {
        return std::ranges::any_of(family.classModels, [&](std::string_view name) {
            return std::ranges::count(architectures, std::string(name) + std::string(kind)) > 0;
        });
    };
    // Files of this kind may lack the readout of two texts.
    const bool hasPair = names.contains("pooler.W") || // of composed attention
                         (names.contains(names.resolve("bert.", "pooler.dense.weight")) &&
                          names.contains("cls.seq_relationship.weight"));
    if (config.readout() == TextReadout::MaskedToken && isListed(kPretraining) && hasPair)
        config.readouts.push_back(
            {.kind = TextReadout::NextSentence, .labels = fixedLabels(TextReadout::NextSentence)});
    for (const auto& [kind, name] : kClassModels)
        if (isListed(name)) {
            ReadoutSpec readout{.kind = kind, .labels = fixedLabels(kind)};
            if (readout.labels.empty()) readout.labels = labelsIn(read);
            if (kind == TextReadout::TextClass) readout.activation = classActivation(read, std::ssize(readout.labels));
            config.readouts = {readout};
            if (const nlohmann::json* padding = read.value("pad_token_id");
                kind == TextReadout::TextClass && !isEncoder(config) && padding && padding->is_number_integer() &&
                *padding >= 0 && *padding < config.tokens.vocabulary)
                config.classPadding = padding->get<int64_t>();
        }
    return config;
}

nlohmann::json describeIn(const ModelFamily& family, const ModelSpec& config) {
    nlohmann::json json = family.describe(config);
    if (config.hasPrefix) json["prefix_lm"] = true;
    if (config.classPadding) json["pad_token_id"] = *config.classPadding;
    if (const auto& picture = config.picture)
        json[kPicture] = {
            {"rows", picture->rows},     {"columns", picture->columns},          {"channels", picture->channels},
            {"levels", picture->levels}, {"block_height", picture->blockHeight}, {"block_width", picture->blockWidth}};
    const ReadoutSpec& readout = config.classReadout();
    for (const auto& [kind, name] : kClassModels)
        if (kind == config.readout())
            json["architectures"] = {std::string(family.classModels.front()) + std::string(name)};
    if (predictsTokens(config.readout())) {
        if (!readout.labels.empty())
            json["architectures"] = {std::string(family.classModels.front()) + std::string(kPretraining)};
        return json;
    }
    if (readout.labels == fixedLabels(readout.kind)) return json;
    if (readout.activation != ClassActivation::Softmax) json["problem_type"] = problemType(readout.activation);
    json["id2label"] = json["label2id"] = nlohmann::json::object();
    for (size_t id = 0; id < readout.labels.size(); ++id) {
        json["id2label"][std::to_string(id)] = readout.labels[id];
        json["label2id"][readout.labels[id]] = id;
    }
    return json;
}

} // namespace attn
