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

const nlohmann::json* ConfigReader::find(const char* field) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(field);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigReader::fail(const char* field, const std::string& what, const std::string& hint) const {
    throw Error({.what = fmt::format("\"{}\" {}", field, what), .where = file_, .hint = hint});
}

void ConfigReader::failUnless(bool isRight, const char* field, const nlohmann::json& value,
                              const std::string& expected) const {
    if (!isRight) fail(field, fmt::format("is {} but must be {}", shownJson(value), expected));
}

bool ConfigReader::has(const char* field) const { return find(field) != nullptr; }

bool ConfigReader::hasObject(const char* field) const {
    const nlohmann::json* value = find(field);
    return value != nullptr && value->is_object();
}

std::optional<std::vector<int64_t>> ConfigReader::wholeNumbers(const char* field) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr || !value->is_array() ||
        !std::ranges::all_of(*value, [](const nlohmann::json& each) { return each.is_number_integer(); }))
        return std::nullopt;
    return value->get<std::vector<int64_t>>();
}

int64_t ConfigReader::size(const char* field) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr) fail(field, "is missing");
    const int64_t most = mostOf(field);
    failUnless(value->is_number_integer() && *value >= 1 && *value <= most, field, *value,
               fmt::format("a whole number from 1 to {}", most));
    return value->get<int64_t>();
}

int64_t ConfigReader::size(const char* field, int64_t fallback) const { return has(field) ? size(field) : fallback; }

double ConfigReader::number(const char* field, double fallback) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr) return fallback;
    failUnless(value->is_number() && std::isfinite(value->get<double>()), field, *value, "a number");
    return value->get<double>();
}

bool ConfigReader::flag(const char* field, bool fallback) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr) return fallback;
    failUnless(value->is_boolean(), field, *value, "true or false");
    return value->get<bool>();
}

std::string ConfigReader::text(const char* field, const std::string& fallback) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr) return fallback;
    failUnless(value->is_string(), field, *value, "text");
    return value->get<std::string>();
}

std::optional<std::string> ConfigReader::optionalText(const char* field) const {
    const nlohmann::json* value = find(field);
    return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

Activation ConfigReader::activation(const char* field, const std::string& fallback) const {
    return activationNamed(field, text(field, fallback));
}

Activation ConfigReader::activationNamed(const char* field, const std::string& name) const {
    std::string supported;
    for (const auto& [known, activation] : kActivations) {
        if (name == known) return activation;
        supported += fmt::format("{} {}", supported.empty() ? "supported:" : ",", known);
    }
    fail(field, fmt::format("names the unknown activation {}", shownJson(name)), supported);
}

int64_t ConfigReader::token(const char* field, int64_t fallback, int64_t vocabulary) const {
    const nlohmann::json* value = find(field);
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
    const nlohmann::json* value = find(field);
    if (value == nullptr) fail(field, "is missing");
    failUnless(value->is_object(), field, *value, "an object");
    return {*value, file_};
}

std::string activationName(Activation activation) {
    return std::ranges::find(kActivations, activation, [](const auto& known) { return known.second; })->first;
}

} // namespace attn
