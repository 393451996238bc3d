#include "engine/inference/changes.h"

#include "engine/core/error.h"
#include "engine/io/json_file.h"
#include "engine/models/head_name.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace attn {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> kKinds{"zero", "mean", "patch", "steer"};
constexpr std::array<std::string_view, 3> kPatternKinds{"rows", "pin", "uniform"};

Error wrong(const std::string& what, const std::string& where) {
    return Error({.what = what, .where = where, .hint = "these changes come from another program or version"});
}

template <size_t N> size_t indexOf(const std::array<std::string_view, N>& names, const Json& object) {
    const std::string name = object.value("kind", std::string());
    for (size_t i = 0; i < N; ++i)
        if (names[i] == name) return i;
    throw wrong(fmt::format("\"{}\" is not a kind of change", name), "kind");
}

std::string quoted(const std::string& text) {
    constexpr size_t kMost = 24;
    if (text.empty()) return "the prompt";
    size_t end = std::min(text.size(), kMost);
    while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    return fmt::format("\"{}{}\"", text.substr(0, end), end < text.size() ? "…" : "");
}

/// The place of a change: "L1 H0", or the name of the hook.
std::string placeOf(const Intervention& intervention) {
    const std::string& hook = intervention.hook;
    const std::string head = intervention.head >= 0 ? fmt::format(", head {}", intervention.head) : "";
    if (hook == "hook_embed") return "embedding";
    const auto [layer, end] = splitName(hook);
    if (layer < 0) return hook + head;
    if (end.empty()) return fmt::format("layer {}", layer); // the whole layer
    if (end == "attn.hook_z")
        return head.empty() ? fmt::format("all heads of layer {}", layer) : headName(layer, intervention.head);
    if (end == "hook_attn_out") return fmt::format("attention output of layer {}", layer);
    if (end == "hook_mlp_out") return fmt::format("MLP output of layer {}", layer);
    if (end == "hook_resid_pre") return fmt::format("residual stream before layer {}", layer);
    return hook + head;
}

Json toJson(const Intervention& each) {
    return {{"kind", kKinds[static_cast<size_t>(each.kind)]},
            {"hook", each.hook},
            {"head", each.head},
            {"position", each.position},
            {"amount", each.amount},
            {"text", each.text},
            {"textPosition", each.textPosition},
            {"contrast", each.contrast}};
}

/// @throws Error unless the field is a whole number that an int holds
int whole(const Json& object, const char* name, std::optional<int> absent = {}) {
    if (absent && !object.contains(name)) return *absent;
    const Json& value = object.at(name);
    const bool isWhole = value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT_MAX);
    if (!isWhole || value.get<int64_t>() < INT_MIN || value.get<int64_t>() > INT_MAX)
        throw wrong(fmt::format("{} is not a whole number that fits", shownJson(value)), name);
    return value.get<int>();
}

/// @throws Error unless the number is finite as a float
float finite(const Json& value, const char* name) {
    const auto number = value.get<float>();
    if (!std::isfinite(number)) throw wrong(fmt::format("{} is too large", shownJson(value)), name);
    return number;
}

Intervention interventionOf(const Json& object) {
    return {.kind = static_cast<Intervention::Kind>(indexOf(kKinds, object)),
            .hook = object.at("hook").get<std::string>(),
            .head = whole(object, "head", -1),
            .position = whole(object, "position", -1),
            .amount = finite(object.value("amount", Json(1.0f)), "amount"),
            .text = object.value("text", std::string()),
            .textPosition = whole(object, "textPosition", -1),
            .contrast = object.value("contrast", std::string())};
}

Json toJson(const PatternEdit& each) {
    Json object{
        {"kind", kPatternKinds[static_cast<size_t>(each.kind)]}, {"site", siteName(each.site)}, {"head", each.head}};
    if (each.kind == PatternEdit::Kind::Pin) object["key"] = each.key;
    if (each.kind != PatternEdit::Kind::Rows) return object;
    object["rows"] = Json::array();
    for (const auto& [query, weights] : each.rows) object["rows"].push_back({{"query", query}, {"weights", weights}});
    return object;
}

/// The layer of the site that an object names. Files from before version 0.3 have the layer itself.
int layerOf(const Json& object) {
    const bool isNew = object.contains("site");
    if (const auto layer = isNew ? layerOfSite(object.at("site").get<std::string>()) : whole(object, "layer");
        layer >= 0)
        return *layer;
    if (!isNew) throw wrong("a layer is below 0", "layer");
    throw wrong(fmt::format("{} is no site", shownJson(object.at("site"))), "site");
}

PatternEdit patternEditOf(const Json& object) {
    PatternEdit edit{.site = layerOf(object),
                     .head = whole(object, "head"),
                     .kind = static_cast<PatternEdit::Kind>(indexOf(kPatternKinds, object))};
    if (edit.kind == PatternEdit::Kind::Pin) edit.key = whole(object, "key", 0);
    if (edit.kind == PatternEdit::Kind::Rows)
        for (const Json& row : object.at("rows")) {
            std::vector<float>& weights = edit.rows[whole(row, "query")];
            weights.clear();
            for (const Json& weight : row.at("weights")) weights.push_back(finite(weight, "weights"));
        }
    return edit;
}

} // namespace

std::string describe(const Intervention& intervention) {
    const std::string place =
        placeOf(intervention) + (intervention.position >= 0 ? fmt::format(", token {}", intervention.position) : "");
    const std::string token =
        intervention.textPosition >= 0 ? fmt::format(", token {}", intervention.textPosition) : "";
    const auto share = [&] {
        return intervention.amount == 1 ? std::string() : fmt::format("{:.0f} % of ", intervention.amount * 100);
    };
    switch (intervention.kind) {
    case Intervention::Kind::Zero:
        return fmt::format("{}{} removed", share(), place);
    case Intervention::Kind::Mean:
        return fmt::format("{}{} replaced by its mean over {}", share(), place, quoted(intervention.text));
    case Intervention::Kind::Patch:
        return fmt::format("{}{} replaced by its value from {}{}", share(), place, quoted(intervention.text), token);
    case Intervention::Kind::Steer:
        return fmt::format("{:+.2g} times {}{}{} added to {}", intervention.amount, quoted(intervention.text), token,
                           intervention.contrast.empty() ? "" : " - " + quoted(intervention.contrast), place);
    }
    return {};
}

std::string describe(const PatternEdit& edit) {
    const std::string head = "pattern of " + headName(edit.site, edit.head);
    switch (edit.kind) {
    case PatternEdit::Kind::Rows:
        return fmt::format("{}: {} row{} set", head, edit.rows.size(), edit.rows.size() == 1 ? "" : "s");
    case PatternEdit::Kind::Pin:
        return fmt::format("{}: pinned to token {}", head, edit.key);
    case PatternEdit::Kind::Uniform:
        return head + ": uniform";
    }
    return {};
}

bool takesFromHead(const Intervention& intervention, int site, int head) {
    if (intervention.kind != Intervention::Kind::Zero || intervention.position >= 0) return false;
    const auto [layer, hook] = splitName(intervention.hook);
    if (layer != site) return false;
    const bool isOfHead = intervention.head < 0 || intervention.head == head;
    return hook == "hook_attn_out" || (hook == "attn.hook_z" && isOfHead);
}

float keptShare(const Changes& changes, int site, int head) {
    float share = changes.gate(site, head);
    for (const Intervention& each : changes.interventions)
        if (takesFromHead(each, site, head)) share *= 1 - each.amount;
    return share;
}

std::string changesToJson(const Changes& changes) {
    Json object{{"interventions", Json::array()}, {"patterns", Json::array()}, {"gates", Json::array()}};
    for (const Intervention& each : changes.interventions) object["interventions"].push_back(toJson(each));
    for (const PatternEdit& each : changes.patterns) object["patterns"].push_back(toJson(each));
    for (const auto& [at, gate] : changes.gates)
        object["gates"].push_back({{"site", siteName(at.first)}, {"head", at.second}, {"gate", gate}});
    return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Changes changesFromJson(const std::string& json) {
    const Json object = parseJson(json, "edits");
    if (!object.is_object()) throw wrong("this is not a list of changes", "edits");
    Changes changes;
    try {
        for (const Json& each : object.value("interventions", Json::array()))
            changes.interventions.push_back(interventionOf(each));
        for (const Json& each : object.value("patterns", Json::array()))
            changes.patterns.push_back(patternEditOf(each));
        for (const Json& each : object.value("gates", Json::array()))
            changes.setGate(layerOf(each), whole(each, "head"), finite(each.at("gate"), "gate"));
    } catch (const Json::exception& error) {
        throw wrong(error.what(), "edits");
    }
    return changes;
}

} // namespace attn
