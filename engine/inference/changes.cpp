#include "engine/inference/named_changes.h"

#include "engine/core/error.h"
#include "engine/io/json_file.h"
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

/// What a site of this name would be in a model with one stack.
Site numberedSite(int layer) { return {.name = siteName(layer), .block = blockName(layer), .layer = layer}; }

std::string labelOf(const ModelStructure& structure, int site) {
    return static_cast<size_t>(site) < structure.sites.size() ? structure.labelOf(site) : fmt::format("L{}", site);
}

/// The place of a change at a site: "L1 H0", "Decoder L0"; empty if the hook is not one of the site's.
/// @param label of the site
std::string placeAt(const Site& site, const std::string& label, const ValueChange& change) {
    const std::string& hook = change.hook;
    const std::string layer = label.starts_with('L') ? fmt::format("layer {}", site.layer) : label;
    if (hook == site.hook("z"))
        return change.head < 0 ? "all heads of " + layer : fmt::format("{} H{}", label, change.head);
    if (hook == outputHook(site)) return "attention output of " + layer;
    if (hook == site.block) return layer; // the whole layer
    if (hook == site.inBlock("hook_mlp_out")) return "MLP output of " + layer;
    if (hook == site.inBlock("hook_resid_pre")) return "residual stream before " + layer;
    return {};
}

/// The place of a change: "L1 H0", or the name of the hook.
std::string placeOf(const ValueChange& change, const ModelStructure& structure) {
    if (change.hook == "hook_embed") return "embedding";
    for (size_t site = 0; site < structure.sites.size(); ++site)
        if (auto place = placeAt(structure.sites[site], structure.labelOf(static_cast<int>(site)), change);
            !place.empty())
            return place;
    if (const int layer = splitName(change.hook).layer; layer >= 0)
        if (auto place = placeAt(numberedSite(layer), fmt::format("L{}", layer), change); !place.empty()) return place;
    return change.hook + (change.head >= 0 ? fmt::format(", head {}", change.head) : "");
}

Json toJson(const ValueChange& each) {
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

ValueChange valueChangeOf(const Json& object) {
    return {.kind = static_cast<ValueChange::Kind>(indexOf(kKinds, object)),
            .hook = object.at("hook").get<std::string>(),
            .head = whole(object, "head", -1),
            .position = whole(object, "position", -1),
            .amount = finite(object.value("amount", Json(1.0f)), "amount"),
            .text = object.value("text", std::string()),
            .textPosition = whole(object, "textPosition", -1),
            .contrast = object.value("contrast", std::string())};
}

Json toJson(const PatternChange& each, const ModelStructure& structure) {
    Json object{{"kind", kPatternKinds[static_cast<size_t>(each.kind)]},
                {"site", siteName(structure, each.site)},
                {"head", each.head}};
    if (each.kind == PatternChange::Kind::Pin) object["key"] = each.key;
    if (each.kind != PatternChange::Kind::Rows) return object;
    object["rows"] = Json::array();
    for (const auto& [query, weights] : each.rows) object["rows"].push_back({{"query", query}, {"weights", weights}});
    return object;
}

/// The site that an object names. Files from before version 0.3 have the layer itself.
int siteOf(const Json& object, const ModelStructure& structure) {
    const bool isNew = object.contains("site");
    if (const auto site = isNew ? siteNamed(structure, object.at("site").get<std::string>()) : whole(object, "layer");
        site >= 0)
        return *site;
    if (!isNew) throw wrong("a layer is below 0", "layer");
    throw wrong(fmt::format("{} is no site", shownJson(object.at("site"))), "site");
}

PatternChange patternEditOf(const Json& object, const ModelStructure& structure) {
    PatternChange change{.site = siteOf(object, structure),
                         .head = whole(object, "head"),
                         .kind = static_cast<PatternChange::Kind>(indexOf(kPatternKinds, object))};
    if (change.kind == PatternChange::Kind::Pin) change.key = whole(object, "key", 0);
    if (change.kind == PatternChange::Kind::Rows)
        for (const Json& row : object.at("rows")) {
            std::vector<float>& weights = change.rows[whole(row, "query")];
            weights.clear();
            for (const Json& weight : row.at("weights")) weights.push_back(finite(weight, "weights"));
        }
    return change;
}

} // namespace

std::string siteName(const ModelStructure& structure, int site) {
    const auto at = static_cast<size_t>(site);
    return at < structure.sites.size() ? structure.sites[at].name : siteName(site);
}

std::optional<int> siteNamed(const ModelStructure& structure, const std::string& name) {
    const auto found = std::ranges::find(structure.sites, name, &Site::name);
    return found == structure.sites.end() ? layerOfSite(name)
                                          : std::optional(static_cast<int>(found - structure.sites.begin()));
}

std::string outputHook(const Site& site) {
    return site.inBlock(fmt::format("hook_{}_out", site.name.substr(site.block.size() + 1)));
}

std::string describe(const ValueChange& valueChange) { return describe(valueChange, {}); }
std::string describe(const PatternChange& change) { return describe(change, {}); }

std::string describe(const ValueChange& valueChange, const ModelStructure& structure) {
    const std::string place = placeOf(valueChange, structure) +
                              (valueChange.position >= 0 ? fmt::format(", token {}", valueChange.position) : "");
    const std::string token = valueChange.textPosition >= 0 ? fmt::format(", token {}", valueChange.textPosition) : "";
    const auto share = [&] {
        return valueChange.amount == 1 ? std::string() : fmt::format("{:.0f} % of ", valueChange.amount * 100);
    };
    switch (valueChange.kind) {
    case ValueChange::Kind::Zero:
        return fmt::format("{}{} removed", share(), place);
    case ValueChange::Kind::Mean:
        return fmt::format("{}{} replaced by its mean over {}", share(), place, quoted(valueChange.text));
    case ValueChange::Kind::Patch:
        return fmt::format("{}{} replaced by its value from {}{}", share(), place, quoted(valueChange.text), token);
    case ValueChange::Kind::Steer:
        return fmt::format("{:+.2g} times {}{}{} added to {}", valueChange.amount, quoted(valueChange.text), token,
                           valueChange.contrast.empty() ? "" : " - " + quoted(valueChange.contrast), place);
    }
    return {};
}

std::string describe(const PatternChange& change, const ModelStructure& structure) {
    const std::string head = fmt::format("pattern of {} H{}", labelOf(structure, change.site), change.head);
    switch (change.kind) {
    case PatternChange::Kind::Rows:
        return fmt::format("{}: {} row{} set", head, change.rows.size(), change.rows.size() == 1 ? "" : "s");
    case PatternChange::Kind::Pin:
        return fmt::format("{}: pinned to token {}", head, change.key);
    case PatternChange::Kind::Uniform:
        return head + ": uniform";
    }
    return {};
}

bool takesFromHead(const ValueChange& valueChange, const Site& site, int head) {
    if (valueChange.kind != ValueChange::Kind::Zero || valueChange.position >= 0) return false;
    const bool isOfHead = valueChange.head < 0 || valueChange.head == head;
    return valueChange.hook == outputHook(site) || (valueChange.hook == site.hook("z") && isOfHead);
}

bool takesFromHead(const ValueChange& valueChange, int site, int head) {
    return takesFromHead(valueChange, numberedSite(site), head);
}

float keptShare(const Changes& changes, const ModelStructure& structure, int site, int head) {
    const auto at = static_cast<size_t>(site);
    const Site found = at < structure.sites.size() ? structure.sites[at] : numberedSite(site);
    float share = changes.gate(site, head);
    for (const ValueChange& each : changes.valueChanges)
        if (takesFromHead(each, found, head)) share *= 1 - each.amount;
    return share;
}

float keptShare(const Changes& changes, int site, int head) { return keptShare(changes, {}, site, head); }

std::string changesToJson(const Changes& changes) { return changesToJson(changes, {}); }
Changes changesFromJson(const std::string& json) { return changesFromJson(json, {}); }

std::string changesToJson(const Changes& changes, const ModelStructure& structure) {
    Json object{{"interventions", Json::array()}, {"patterns", Json::array()}, {"gates", Json::array()}};
    for (const ValueChange& each : changes.valueChanges) object["interventions"].push_back(toJson(each));
    for (const PatternChange& each : changes.patterns) object["patterns"].push_back(toJson(each, structure));
    for (const auto& [at, gate] : changes.gates)
        object["gates"].push_back({{"site", siteName(structure, at.first)}, {"head", at.second}, {"gate", gate}});
    return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Changes changesFromJson(const std::string& json, const ModelStructure& structure) {
    const Json object = parseJson(json, "edits");
    if (!object.is_object()) throw wrong("this is not a list of changes", "edits");
    Changes changes;
    try {
        for (const Json& each : object.value("interventions", Json::array()))
            changes.valueChanges.push_back(valueChangeOf(each));
        for (const Json& each : object.value("patterns", Json::array()))
            changes.patterns.push_back(patternEditOf(each, structure));
        for (const Json& each : object.value("gates", Json::array()))
            changes.setGate(siteOf(each, structure), whole(each, "head"), finite(each.at("gate"), "gate"));
    } catch (const Json::exception& error) {
        throw wrong(error.what(), "edits");
    }
    return changes;
}

} // namespace attn
