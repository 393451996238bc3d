#include "engine/attention/attention_spec.h"

#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/core/error.h"
#include "engine/core/nearest_names.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace attn {
namespace {

const std::map<Slot, std::string_view> kDefaults{
    {Slot::Heads, "single"},       {Slot::Projections, "one"}, {Slot::Position, "none"}, {Slot::Score, "scaled_dot"},
    {Slot::Normaliser, "softmax"}, {Slot::Memory, "none"},     {Slot::Output, "plain"},  {Slot::Mixer, "attention"}};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return text;
}

/// The pieces between those commas that are outside all brackets.
std::vector<std::string_view> splitAtCommas(std::string_view text) {
    std::vector<std::string_view> pieces;
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        if (i == text.size() || (text[i] == ',' && depth == 0)) {
            pieces.push_back(trimmed(text.substr(begin, i - begin)));
            begin = i + 1;
        } else if (text[i] == '(')
            ++depth;
        else if (text[i] == ')')
            --depth;
    }
    return pieces;
}

[[noreturn]] void fail(std::string_view where, std::string what, std::string hint) {
    throw Error({.what = std::move(what), .where = std::string(where), .hint = std::move(hint)});
}

/// @param list the part whose list the number belongs to; null: it stands alone
double numberOf(std::string_view text, std::string_view where, const Part* list) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
    if (!list) fail(where, fmt::format("\"{}\" is not a number", text), "write a number such as 64 or 0.5");
    const std::string_view id = list->params.back().id;
    fail(where,
         text.empty() ? fmt::format("a number is missing in the list {}", id)
                      : fmt::format("\"{}\" is not a number", text),
         fmt::format("write the numbers with commas between them and no brackets around them, such as {} = {}", id,
                     fmt::join(list->initialList, ", ")));
}

const Param& paramOf(const Part& part, size_t place) { return part.params[std::min(place, part.params.size() - 1)]; }

void requireInRange(const Part& part, const Param& param, double value) {
    const bool isWhole = param.kind == Param::Kind::Real || value == std::floor(value);
    if (isWhole && value >= param.minimum && value <= param.maximum) return;
    fail(fmt::format("{}.{}", part.id, param.id), fmt::format("{} = {} is out of range", param.id, value),
         fmt::format("choose {} from {} to {}", param.kind == Param::Kind::Real ? "a number" : "a whole number",
                     param.minimum, param.maximum));
}

PartChoice choiceOf(Slot slot, std::string_view text) {
    const size_t bracket = text.find('(');
    const std::string_view id = trimmed(text.substr(0, bracket));
    const Part& part = partNamed(slot, id);
    PartChoice choice{.id = std::string(part.id), .values = initialValues(part)};
    if (bracket == std::string_view::npos) return choice;
    if (!text.ends_with(')')) fail(text, "a closing bracket is missing", "write it as " + std::string(id) + "(...)");
    const std::string_view inside = trimmed(text.substr(bracket + 1, text.size() - bracket - 2));
    const size_t last = part.params.size() - 1;
    size_t place = 0;
    bool isListed = false; // numbers without a name continue with the list
    for (const std::string_view argument : inside.empty() ? std::vector<std::string_view>{} : splitAtCommas(inside)) {
        const size_t equals = argument.find('=');
        size_t index = isListed ? last : place++;
        if (equals != std::string_view::npos) {
            const std::string_view name = trimmed(argument.substr(0, equals));
            const auto found = std::ranges::find(part.params, name, &Param::id);
            index = static_cast<size_t>(found - part.params.begin());
            if (found == part.params.end()) {
                std::vector<std::string> names;
                for (const Param& param : part.params) names.emplace_back(param.id);
                fail(text, fmt::format("{} has no parameter \"{}\"", id, name),
                     names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", ")));
            }
        }
        if (index >= part.params.size())
            fail(text, fmt::format("{} takes {} numbers", id, part.params.size()), "remove the others");
        const double value =
            numberOf(trimmed(equals == std::string_view::npos ? argument : argument.substr(equals + 1)), text,
                     part.takesList && index == last ? &part : nullptr);
        requireInRange(part, part.params[index], value);
        if (part.takesList && index == last) {
            if (!std::exchange(isListed, true)) choice.values.resize(last);
            choice.values.push_back(value);
        } else
            choice.values[index] = value;
    }
    return choice;
}

std::string textOf(const Part& part, const std::vector<double>& values) {
    std::string inside;
    const auto add = [&](const Param& param, std::span<const double> numbers) {
        inside += fmt::format("{}{} = {}", inside.empty() ? "" : ", ", param.id, fmt::join(numbers, ", "));
    };
    const size_t single = part.params.size() - (part.takesList ? 1 : 0);
    for (size_t i = 0; i < single; ++i)
        if (values[i] != part.params[i].initial) add(part.params[i], {&values[i], 1});
    if (const auto list = std::span(values).subspan(single); !std::ranges::equal(list, part.initialList))
        add(part.params.back(), list);
    return inside.empty() ? std::string(part.id) : fmt::format("{}({})", part.id, inside);
}

Slot slotNamed(std::string_view name) {
    std::vector<std::string> names;
    for (size_t slot = 0; slot < kSlotNames.size(); ++slot) {
        if (kSlotNames.at(slot) == name) return static_cast<Slot>(slot);
        names.emplace_back(kSlotNames.at(slot));
    }
    fail(name, fmt::format("an attention has no slot \"{}\"", name),
         fmt::format("did you mean {}? All: {}", nearestNames(name, names, 1).front(), fmt::join(names, ", ")));
}

} // namespace

AttentionSpec::AttentionSpec() {
    for (const auto& [slot, id] : kDefaults) reset(slot);
}

std::string_view AttentionSpec::title(Slot slot) const { return part(slot).title; }

PartValues AttentionSpec::values(Slot slot) const { return {part(slot).params, parts.at(slot).values}; }

const Part& AttentionSpec::part(Slot slot) const { return partNamed(slot, parts.at(slot).id); }

const Part* AttentionSpec::blockPart(Slot slot) const {
    const auto found = parts.find(slot);
    return found == parts.end() ? nullptr : &partNamed(slot, found->second.id);
}

void AttentionSpec::set(Slot slot, std::string_view id, std::span<const double> values) {
    const Part& part = partNamed(slot, id);
    if (!part.takesList) values = values.first(std::min(values.size(), part.params.size()));
    for (size_t i = 0; i < values.size(); ++i) requireInRange(part, paramOf(part, i), values[i]);
    put(slot, id, {values.begin(), values.end()});
}

void AttentionSpec::put(Slot slot, std::string_view id, std::vector<double> values) {
    const Part& part = partNamed(slot, id);
    const std::vector<double> initial = initialValues(part);
    if (values.size() < part.params.size()) // else the list is whole
        values.insert(values.end(), initial.begin() + std::ssize(values), initial.end());
    parts[slot] = {.id = std::string(id), .values = std::move(values)};
}

void AttentionSpec::reset(Slot slot) { set(slot, kDefaults.at(slot)); }

void AttentionSpec::setValue(Slot slot, std::string_view id, double value) {
    const Part& part = this->part(slot);
    const auto param = std::ranges::find(part.params, id, &Param::id);
    if (param == part.params.end()) fail(part.id, fmt::format("{} has no parameter \"{}\"", part.id, id), "");
    requireInRange(part, *param, value);
    parts.at(slot).values[static_cast<size_t>(param - part.params.begin())] = value;
}

void AttentionSpec::setList(Slot slot, std::span<const double> list) {
    const Part& part = this->part(slot);
    assert(part.takesList && !list.empty());
    for (const double value : list) requireInRange(part, part.params.back(), value);
    std::vector<double>& values = parts.at(slot).values;
    values.resize(part.params.size() - 1);
    values.insert(values.end(), list.begin(), list.end());
}

std::map<Slot, std::string_view> slotsIn(std::string_view text) {
    std::map<Slot, std::string_view> entries;
    for (const std::string_view entry : splitAtCommas(text)) {
        // An entry without a slot is a mask; `=` may also stand inside brackets.
        const size_t equals = entry.find('='), bracket = entry.find('(');
        const bool namesSlot =
            equals != std::string_view::npos && (bracket == std::string_view::npos || equals < bracket);
        if (entry.empty()) fail(text, "an entry is empty", "write slot=part, slot=part, ... or only a mask");
        const Slot slot = namesSlot ? slotNamed(trimmed(entry.substr(0, equals))) : Slot::Mask;
        if (!entries.emplace(slot, trimmed(namesSlot ? entry.substr(equals + 1) : entry)).second)
            fail(entry, fmt::format("{} is given twice", nameOf(slot)), "remove one");
    }
    return entries;
}

AttentionSpec AttentionSpec::parse(std::string_view text) {
    AttentionSpec spec;
    for (const auto& [slot, value] : slotsIn(text)) {
        if (slot == Slot::Mask)
            spec.mask = MaskExpression::parse(value);
        else
            spec.parts[slot] = choiceOf(slot, value);
    }
    return spec;
}

std::string AttentionSpec::text() const {
    std::string result;
    const auto add = [&](Slot slot, const std::string& value) {
        result += fmt::format("{}{}={}", result.empty() ? "" : ", ", nameOf(slot), value);
    };
    for (const Slot slot : kSpecSlots) {
        const std::string value = textOf(part(slot), parts.at(slot).values);
        if (value != kDefaults.at(slot)) add(slot, value);
    }
    for (const Slot slot : kBlockSlots)
        if (const Part* part = blockPart(slot)) add(slot, textOf(*part, parts.at(slot).values));
    if (result.empty() || mask != MaskExpression()) add(Slot::Mask, mask.text());
    return result;
}

AttentionSpec attentionSpecFromJson(const nlohmann::json& json) {
    if (json.is_string()) return AttentionSpec::parse(json.get<std::string>());
    if (!json.is_object()) fail("attention", "is neither an object nor an expression", "name slots and their parts");
    AttentionSpec spec;
    for (const auto& [name, entry] : json.items()) {
        const Slot slot = slotNamed(name);
        if (slot == Slot::Mask) {
            if (!entry.is_string()) fail(name, "is not an expression", "write for example \"causal & window(64)\"");
            spec.mask = MaskExpression::parse(entry.get<std::string>());
            continue;
        }
        if (entry.is_string()) {
            spec.parts[slot] = choiceOf(slot, entry.get<std::string>());
            continue;
        }
        if (!entry.is_object() || !entry.contains("id") || !entry["id"].is_string())
            fail(name, "has no id", "write {\"id\": \"...\"} with its parameters");
        const Part& part = partNamed(slot, entry["id"].get<std::string>());
        std::vector<double> values = initialValues(part), list;
        for (const auto& [key, value] : entry.items()) {
            if (key == "id") continue;
            const auto found = std::ranges::find(part.params, key, &Param::id);
            const auto place = found - part.params.begin();
            const bool isList = part.takesList && place + 1 == std::ssize(part.params);
            const auto isNumber = [](const nlohmann::json& each) { return each.is_number(); };
            if (found == part.params.end() || !(isList ? value.is_array() && !value.empty() : value.is_number()) ||
                (isList && !std::ranges::all_of(value, isNumber)))
                fail(fmt::format("{}.{}", name, key),
                     isList ? "is not a list of numbers" : "is not a number that this part takes",
                     "see attention-cli parts --json");
            if (isList)
                list = value.get<std::vector<double>>();
            else
                values[static_cast<size_t>(place)] = value.get<double>();
        }
        spec.set(slot, part.id, values);
        if (!list.empty()) spec.setList(slot, list);
    }
    return spec;
}

} // namespace attn
