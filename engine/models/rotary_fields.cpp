#include "engine/models/rotary_fields.h"

#include "engine/attention/position/rotary.h"
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

/// Whether a field has a value, which stays unread.
bool isSet(const ConfigReader& in, const char* field) {
    return in.json().contains(field) && !in.json().at(field).is_null();
}

/// A number that may stand in several places, of which the reference takes the first that has it: the object of rotary
/// parameters, the family's own field, the general one. A place with another value stays unread, so that it is named
/// among what the model leaves out.
double firstOf(const ConfigReader& read, const ConfigReader& scaling, const char* own, const char* general,
               double fallback) {
    const double value = isSet(scaling, general) ? scaling.number(general, 0)
                         : isSet(read, own)      ? read.number(own, 0)
                                                 : read.number(general, fallback);
    for (const char* field : {own, general}) {
        if (!isSet(read, field)) continue;
        if (read.json().at(field).is_number() && read.json().at(field) == value)
            read.pass(field);
        else
            read.passOver(field);
    }
    return value;
}

} // namespace

std::vector<double> rotaryValues(const ConfigReader& read, const RotaryFields& fields, int64_t headWidth) {
    requireOneScaling(read);
    const char* field = read.has(kParameters) ? kParameters : kScaling;
    const nlohmann::json none = nlohmann::json::object();
    const ConfigReader scaling = read.has(field) ? sameForAllLayers(read, field) : ConfigReader(none, {});
    const double base = firstOf(read, scaling, fields.base, "rope_theta", 10000),
                 fraction = firstOf(read, scaling, fields.fraction, "partial_rotary_factor", fields.usualFraction);
    const ConfigReader& ofBase = scaling.has("rope_theta") ? scaling : read;
    const ConfigReader& ofFraction = scaling.has("partial_rotary_factor") ? scaling : read;
    const char* baseField = scaling.has("rope_theta") || !isSet(read, fields.base) ? "rope_theta" : fields.base;
    const char* fractionField = scaling.has("partial_rotary_factor") || !isSet(read, fields.fraction)
                                    ? "partial_rotary_factor"
                                    : fields.fraction;
    if (base <= 0) ofBase.fail(baseField, fmt::format("is {} but must be above 0", base));
    if (!(fraction > 0 && fraction <= 1))
        ofFraction.fail(fractionField, fmt::format("is {}, which is not above 0 and at most 1", fraction));
    if (fraction != 1 && !fields.mayRotatePart)
        ofFraction.fail(fractionField, fmt::format("is {}, but this family rotates all features", fraction));
    if (rotatedFeatures(fraction, headWidth) < 1)
        ofFraction.fail(fractionField, fmt::format("is {}, which rotates none of {} features", fraction, headWidth));

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
