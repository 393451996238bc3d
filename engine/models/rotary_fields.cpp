#include "engine/models/rotary_fields.h"

#include "engine/io/json_file.h"
#include "engine/models/config_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace attn {
namespace {

constexpr const char *kParameters = "rope_parameters", *kScaling = "rope_scaling";

/// Refuses files in which both objects are and say different things.
void requireOneScaling(const ConfigReader& read) {
    if (!read.has(kParameters) || !read.has(kScaling)) return;
    const ConfigReader newer = read.object(kParameters), older = read.object(kScaling);
    for (const auto& [field, value] : older.json().items()) {
        const std::string name = field == "type" ? "rope_type" : field;
        const nlohmann::json* other = newer.value(name.c_str());
        older.pass(field.c_str());
        if (other == nullptr ? !value.is_null() : *other != value)
            read.fail(kScaling,
                      fmt::format("has {} {} but rope_parameters {}", name, shownJson(value),
                                  other == nullptr ? "has none" : "has " + shownJson(*other)),
                      "keep only one of them");
    }
}

/// One object for each type of layers: {"full_attention": {...}, "sliding_attention": {...}}.
ConfigReader sameForAllLayers(const ConfigReader& read, const char* field) {
    const ConfigReader object = read.object(field);
    std::string first;
    for (const auto& [type, value] : object.json().items()) {
        if (!type.ends_with("_attention") || !value.is_object()) continue;
        if (first.empty()) {
            first = type;
            continue;
        }
        if (value != object.json().at(first))
            read.fail(field, fmt::format("has other values for {} than for {}", type, first),
                      "rotary positions that differ by layer are not supported");
        const ConfigReader same = object.object(type.c_str());
        for (const auto& [name, part] : value.items()) same.pass(name.c_str());
    }
    return first.empty() ? object : object.object(first.c_str());
}

/// Refuses a number that stands in several places with different values, of which programs take different ones.
void requireOneNumber(const ConfigReader& read, const ConfigReader& scaling, const char* object, const char* own,
                      const char* general) {
    std::vector<std::pair<std::string, double>> said;
    if (read.has(own)) said.emplace_back(own, read.number(own, 0));
    if (std::string_view(own) != general && read.has(general)) said.emplace_back(general, read.number(general, 0));
    if (scaling.has(general)) said.emplace_back(fmt::format("{}.{}", object, general), scaling.number(general, 0));
    for (const auto& [name, value] : said)
        if (value != said.front().second)
            read.fail(said.front().first.c_str(), fmt::format("is {} but {} is {}", said.front().second, name, value),
                      "keep only one of them");
}

} // namespace

std::vector<double> rotaryValues(const ConfigReader& read, const RotaryFields& fields, int64_t headWidth) {
    const auto usual = [&](const char* own, const char* general, double fallback) {
        return read.number(own, read.number(general, fallback));
    };
    const double usualBase = usual(fields.base, "rope_theta", 10000),
                 usualFraction = usual(fields.fraction, "partial_rotary_factor", fields.usualFraction);
    requireOneScaling(read);
    const char* field = read.has(kParameters) ? kParameters : kScaling;
    const nlohmann::json none = nlohmann::json::object();
    const ConfigReader scaling = read.has(field) ? sameForAllLayers(read, field) : ConfigReader(none, {});
    requireOneNumber(read, scaling, field, fields.base, "rope_theta");
    requireOneNumber(read, scaling, field, fields.fraction, "partial_rotary_factor");
    const double base = scaling.number("rope_theta", usualBase),
                 fraction = scaling.number("partial_rotary_factor", usualFraction);
    const ConfigReader& ofBase = scaling.has("rope_theta") ? scaling : read;
    const ConfigReader& ofFraction = scaling.has("partial_rotary_factor") ? scaling : read;
    const char* baseField = scaling.has("rope_theta") || !read.has(fields.base) ? "rope_theta" : fields.base;
    const char* fractionField =
        scaling.has("partial_rotary_factor") || !read.has(fields.fraction) ? "partial_rotary_factor" : fields.fraction;
    if (base <= 0) ofBase.fail(baseField, fmt::format("is {} but must be above 0", base));
    if (!(fraction > 0 && fraction <= 1))
        ofFraction.fail(fractionField, fmt::format("is {}, which is not above 0 and at most 1", fraction));
    if (fraction != 1 && !fields.mayRotatePart)
        ofFraction.fail(fractionField, fmt::format("is {}, but this family rotates all features", fraction));
    if (const auto rotated = static_cast<int64_t>(static_cast<double>(headWidth) * fraction) / 2 * 2; rotated < 2)
        ofFraction.fail(fractionField,
                        fmt::format("is {}, which rotates {} of {} features", fraction, rotated, headWidth));

    const std::string type = scaling.text("rope_type", scaling.text("type", "default"));
    if (type != "default" && type != "linear" && type != "llama3")
        read.fail(field, fmt::format("has the unknown type \"{}\"", type), "supported: default, linear, llama3");
    const auto required = [&](const char* name) {
        if (!scaling.has(name)) scaling.fail(name, fmt::format("is missing, which the type \"{}\" needs", type));
        return scaling.number(name, 0);
    };
    const double factor = type == "default" ? scaling.number("factor", 1) : required("factor");
    if (factor <= 0) scaling.fail("factor", fmt::format("is {} but must be above 0", factor));
    std::vector<double> values{base};
    if (fraction != 1) values.push_back(fraction);
    if (type == "default") {
        if (factor != 1) scaling.fail("factor", fmt::format("is {}, but the type \"default\" has none", factor));
        return values;
    }
    values = {base, fraction, 0, factor}; // in halves
    if (type == "linear") return values;
    const double low = required("low_freq_factor"), high = required("high_freq_factor");
    if (high <= low)
        scaling.fail("high_freq_factor", fmt::format("is {} but must be above low_freq_factor {}", high, low));
    values.insert(values.end(), {required("original_max_position_embeddings"), low, high});
    return values;
}

} // namespace attn
