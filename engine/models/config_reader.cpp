#include "engine/models/config_reader.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace attn {

const nlohmann::json* ConfigReader::find(const char* field) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(field);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigReader::fail(const char* field, const std::string& what, const std::string& hint) const {
    throw Error({.what = fmt::format("\"{}\" {}", field, what), .where = file_, .hint = hint});
}

bool ConfigReader::has(const char* field) const { return find(field) != nullptr; }

int64_t ConfigReader::size(const char* field) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr) fail(field, "is missing", "copy the config.json that belongs to the weights");
    constexpr int64_t kMost = 1 << 30;
    if (!value->is_number_integer() || value->get<int64_t>() < 1 || value->get<int64_t>() > kMost)
        fail(field, fmt::format("is {} but must be a whole number from 1 to {}", value->dump(), kMost));
    return value->get<int64_t>();
}

int64_t ConfigReader::size(const char* field, int64_t fallback) const { return has(field) ? size(field) : fallback; }

double ConfigReader::number(const char* field, double fallback) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr) return fallback;
    if (!value->is_number() || !std::isfinite(value->get<double>())) fail(field, fmt::format("is {} but must be a number", value->dump()));
    return value->get<double>();
}

bool ConfigReader::flag(const char* field, bool fallback) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) fail(field, fmt::format("is {} but must be true or false", value->dump()));
    return value->get<bool>();
}

std::string ConfigReader::text(const char* field, const std::string& fallback) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr) return fallback;
    if (!value->is_string()) fail(field, fmt::format("is {} but must be text", value->dump()));
    return value->get<std::string>();
}

Activation ConfigReader::activation(const char* field, const std::string& fallback) const {
    const std::string name = text(field, fallback);
    constexpr std::array kNames{std::pair{"gelu", Activation::GeluErf},           std::pair{"gelu_new", Activation::GeluTanh},
                                std::pair{"gelu_fast", Activation::GeluTanh},     std::pair{"gelu_pytorch_tanh", Activation::GeluTanh},
                                std::pair{"silu", Activation::Silu},              std::pair{"swish", Activation::Silu},
                                std::pair{"relu", Activation::Relu}};
    for (const auto& [known, activation] : kNames)
        if (name == known) return activation;
    fail(field, fmt::format("names the unknown activation \"{}\"", name), "supported: gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, silu, swish, relu");
}

ConfigReader ConfigReader::object(const char* field) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr || !value->is_object()) fail(field, "must be an object");
    return {*value, file_};
}

} // namespace attn
