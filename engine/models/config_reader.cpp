#include "engine/models/config_reader.h"

#include "engine/core/error.h"
#include "engine/io/json_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace attn {
namespace {

constexpr int64_t kMost = 1 << 30;

/// Limits of fields that set the size of lists before any tensor shape is checked. They are far above those of any
/// model.
struct Bound {
    std::string_view field;
    int64_t most;
};
constexpr std::array kBounds{Bound{"n_layer", 1024},
                             Bound{"num_layers", 1024},
                             Bound{"num_hidden_layers", 1024},
                             Bound{"n_head", 4096},
                             Bound{"n_layers", 1024},
                             Bound{"n_heads", 4096},
                             Bound{"dim", 1 << 18},
                             Bound{"num_heads", 4096},
                             Bound{"num_attention_heads", 4096},
                             Bound{"n_embd", 1 << 18},
                             Bound{"hidden_size", 1 << 18},
                             Bound{"d_model", 1 << 18},
                             Bound{"d_head", 1 << 14},
                             Bound{"d_kv", 1 << 14},
                             Bound{"relative_attention_num_buckets", 1 << 14},
                             Bound{"num_decoder_layers", 1024},
                             Bound{"encoder_layers", 1024},
                             Bound{"decoder_layers", 1024},
                             Bound{"encoder_attention_heads", 4096},
                             Bound{"decoder_attention_heads", 4096},
                             Bound{"num_key_value_heads", 4096},
                             Bound{"head_dim", 1 << 14},
                             Bound{"image_size", 8192},
                             Bound{"patch_size", 1024},
                             Bound{"num_channels", 64},
                             Bound{"crop_size", 8192},
                             Bound{"shortest_edge", 8192},
                             Bound{"num_register_tokens", 1024}};

constexpr std::array kActivations{
    std::pair{"gelu", Activation::GeluErf},       std::pair{"gelu_new", Activation::GeluTanh},
    std::pair{"gelu_fast", Activation::GeluTanh}, std::pair{"gelu_pytorch_tanh", Activation::GeluTanh},
    std::pair{"silu", Activation::Silu},          std::pair{"swish", Activation::Silu},
    std::pair{"relu", Activation::Relu}};

int64_t mostOf(std::string_view field) {
    const auto bound = std::ranges::find(kBounds, field, &Bound::field);
    return bound == kBounds.end() ? kMost : bound->most;
}

} // namespace

const nlohmann::json* ConfigReader::value(const char* field) const {
    if (log_ != nullptr) log_->note(path_ + field);
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(field);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigReader::passOver(const char* field) const {
    if (log_ != nullptr) log_->noteReplaced(path_ + field);
}

void ConfigReader::fail(const char* field, const std::string& what, const std::string& hint) const {
    throw Error({.what = fmt::format("\"{}\" {}", field, what), .where = file_, .hint = hint});
}

void ConfigReader::failUnless(bool isRight, const char* field, const nlohmann::json& value,
                              const std::string& expected) const {
    if (!isRight) fail(field, fmt::format("is {} but must be {}", shownJson(value), expected));
}

bool ConfigReader::has(const char* field) const { return value(field) != nullptr; }

bool ConfigReader::isNull(const char* field) const {
    return value(field) == nullptr && json_.is_object() && json_.contains(field);
}

bool ConfigReader::hasObject(const char* field) const {
    const nlohmann::json* value = this->value(field);
    return value != nullptr && value->is_object();
}

std::optional<std::vector<int64_t>> ConfigReader::wholeNumbers(const char* field) const {
    const nlohmann::json* value = this->value(field);
    if (value == nullptr || !value->is_array() ||
        !std::ranges::all_of(*value, [](const nlohmann::json& each) { return each.is_number_integer(); }))
        return std::nullopt;
    return value->get<std::vector<int64_t>>();
}

std::vector<std::string> ConfigReader::texts(const char* field) const {
    const nlohmann::json* value = this->value(field);
    if (value == nullptr) return {};
    failUnless(value->is_array() && std::ranges::all_of(*value, [](const auto& each) { return each.is_string(); }),
               field, *value, "a list of texts");
    return value->get<std::vector<std::string>>();
}

void ConfigReader::checkTypes() const {
    if (!json_.is_object()) return;
    constexpr std::array kFlags{"tie_word_embeddings", "is_encoder_decoder", "is_decoder", "add_cross_attention"};
    for (const char* field : kFlags) flag(field, false);
    ConfigReader(json_, file_).flag("tie_encoder_decoder", false); // without a note that it is obeyed
    texts("architectures");
    for (const auto& [field, value] : json_.items()) {
        if (!field.ends_with("_token_id") || value.is_null()) continue;
        const auto isId = [](const nlohmann::json& each) { return each.is_number_integer(); };
        failUnless(isId(value) || (value.is_array() && std::ranges::all_of(value, isId)), field.c_str(), value,
                   "the id of a token, or a list of them");
    }
}

int64_t ConfigReader::size(const char* field) const { return wholeNumber(field, {}, 1, mostOf(field)); }

int64_t ConfigReader::wholeNumber(const char* field, std::optional<int64_t> fallback, int64_t least,
                                  int64_t most) const {
    const nlohmann::json* value = this->value(field);
    if (value == nullptr && fallback) return *fallback;
    if (value == nullptr) fail(field, "is missing");
    failUnless(value->is_number_integer() && *value >= least && *value <= most, field, *value,
               fmt::format("a whole number from {} to {}", least, most));
    return value->get<int64_t>();
}

int64_t ConfigReader::size(const char* field, int64_t fallback) const { return has(field) ? size(field) : fallback; }

double ConfigReader::number(const char* field, double fallback) const {
    const nlohmann::json* value = this->value(field);
    if (value == nullptr) return fallback;
    failUnless(value->is_number() && std::isfinite(value->get<double>()), field, *value, "a number");
    const auto number = value->get<double>();
    if (const std::string_view name = field; name.ends_with("_eps") || name.ends_with("_epsilon"))
        failUnless(number >= 0 && number < 1, field, *value, "from 0 to below 1");
    return number;
}

bool ConfigReader::flag(const char* field, bool fallback) const {
    const nlohmann::json* value = this->value(field);
    if (value == nullptr) return fallback;
    failUnless(value->is_boolean(), field, *value, "true or false");
    return value->get<bool>();
}

std::string ConfigReader::text(const char* field, const std::string& fallback) const {
    const nlohmann::json* value = this->value(field);
    if (value == nullptr) return fallback;
    failUnless(value->is_string(), field, *value, "text");
    return value->get<std::string>();
}

std::optional<std::string> ConfigReader::optionalText(const char* field) const {
    const nlohmann::json* value = this->value(field);
    return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

Activation ConfigReader::activation(const char* field, const std::string& fallback) const {
    return activationNamed(field, text(field, fallback));
}

Activation ConfigReader::activationNamed(const char* field, const std::string& name) const {
    if (const auto found = findActivation(name)) return *found;
    std::string supported;
    for (const auto& [known, activation] : kActivations)
        supported += fmt::format("{} {}", supported.empty() ? "supported:" : ",", known);
    fail(field, fmt::format("names the unknown activation {}", shownJson(name)), supported);
}

int64_t ConfigReader::token(const char* field, int64_t fallback, int64_t vocabulary) const {
    const nlohmann::json* value = this->value(field);
    if (value == nullptr) return fallback;
    const bool isToken = value->is_number_integer() && *value >= 0 && *value < vocabulary;
    failUnless(isToken, field, *value, fmt::format("the id of a token, from 0 to {}", vocabulary - 1));
    return value->get<int64_t>();
}

int64_t ConfigReader::heads(const char* field, int64_t width, const char* widthField) const {
    const int64_t heads = size(field);
    if (width % heads != 0) fail(field, fmt::format("is {}, which does not divide {} {}", heads, widthField, width));
    return heads;
}

ConfigReader ConfigReader::object(const char* field) const {
    const nlohmann::json* value = this->value(field);
    if (value == nullptr) fail(field, "is missing");
    failUnless(value->is_object(), field, *value, "an object");
    return {*value, file_, log_, path_ + field + "."};
}

std::optional<Activation> findActivation(std::string_view name) {
    const auto found =
        std::ranges::find(kActivations, name, [](const auto& known) { return std::string_view(known.first); });
    return found == kActivations.end() ? std::nullopt : std::optional(found->second);
}

std::string activationName(Activation activation) {
    return std::ranges::find(kActivations, activation, [](const auto& known) { return known.second; })->first;
}

} // namespace attn
