#include "engine/models/written_configs.h"

#include "engine/models/config_reader.h"
#include "engine/models/decoder.h"

#include <nlohmann/json.hpp>

namespace attn {

nlohmann::json describeLlama(const DecoderConfig& config) {
    const LayerAttention& attention = config.layers.front();
    return {{"architectures", {"LlamaForCausalLM"}},
            {"model_type", "llama"},
            {"vocab_size", config.vocabulary},
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
            {"tie_word_embeddings", config.tiedEmbedding},
            {"torch_dtype", "float32"}};
}

nlohmann::json describeBert(const DecoderConfig& config) {
    const LayerAttention& attention = config.layers.front();
    return {{"architectures", {config.readout == TextReadout::None ? "BertModel" : "BertForMaskedLM"}},
            {"model_type", "bert"},
            {"vocab_size", config.vocabulary},
            {"hidden_size", config.modelWidth},
            {"num_attention_heads", attention.heads().heads},
            {"num_hidden_layers", config.layers.size()},
            {"intermediate_size", config.feedForward.width},
            {"max_position_embeddings", config.context},
            {"type_vocab_size", config.tokenTypes},
            {"hidden_act", activationName(config.feedForward.activation)},
            {"layer_norm_eps", config.normEpsilon},
            {"position_embedding_type", "absolute"},
            {"tie_word_embeddings", config.tiedEmbedding},
            {"hidden_dropout_prob", 0.0},
            {"attention_probs_dropout_prob", 0.0},
            {"torch_dtype", "float32"}};
}

nlohmann::json describeT5(const DecoderConfig& config) {
    const LayerAttention& attention = config.layers.front();
    const FeedForwardSpec& feedForward = config.feedForward;
    nlohmann::json json{
        {"architectures", {"T5ForConditionalGeneration"}},
        {"model_type", "t5"},
        {"is_encoder_decoder", true},
        {"vocab_size", config.vocabulary},
        {"d_model", config.modelWidth},
        {"d_kv", attention.headWidth},
        {"d_ff", feedForward.width},
        {"num_layers", config.encoder.front().layers.size()},
        {"num_decoder_layers", config.layers.size()},
        {"num_heads", attention.heads().heads},
        {"n_positions", config.context},
        {"layer_norm_epsilon", config.normEpsilon},
        {"feed_forward_proj", feedForward.gated ? "gated-gelu" : activationName(feedForward.activation)},
        {"dropout_rate", 0.0},
        {"decoder_start_token_id", config.startToken},
        {"pad_token_id", config.startToken},
        {"tie_word_embeddings", config.tiedEmbedding},
        {"torch_dtype", "float32"}};
    const std::vector<double>& position = attention.spec.parts.at(Slot::Position).values;
    if (!position.empty()) { // else it has no positions
        json["relative_attention_num_buckets"] = static_cast<int64_t>(position.at(0));
        json["relative_attention_max_distance"] = static_cast<int64_t>(position.at(1));
    }
    return json;
}

nlohmann::json describeBart(const DecoderConfig& config) {
    const bool isMarian = config.family == "marian";
    nlohmann::json json{{"architectures", {isMarian ? "MarianMTModel" : "BartForConditionalGeneration"}},
                        {"model_type", config.family},
                        {"is_encoder_decoder", true},
                        {"vocab_size", config.vocabulary},
                        {"d_model", config.modelWidth},
                        {"max_position_embeddings", config.context},
                        {"activation_function", activationName(config.feedForward.activation)},
                        {"scale_embedding", config.embeddingScale != 1},
                        {"dropout", 0.0},
                        {"attention_dropout", 0.0},
                        {"activation_dropout", 0.0},
                        {"decoder_start_token_id", config.startToken},
                        {"pad_token_id", config.startToken},
                        {"tie_word_embeddings", config.tiedEmbedding},
                        {"torch_dtype", "float32"}};
    for (const auto& [name, stack] : {std::pair{"encoder", &config.encoder.front()}, std::pair{"decoder", &config}}) {
        const std::string field = name;
        json[field + "_layers"] = stack->layers.size();
        json[field + "_attention_heads"] = stack->layers.front().heads().heads;
        json[field + "_ffn_dim"] = stack->feedForward.width;
    }
    if (isMarian) json["static_position_embeddings"] = true;
    return json;
}

} // namespace attn
