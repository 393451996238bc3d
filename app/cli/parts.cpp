#include "app/cli/command.h"

#include "app/cli/part_form.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/execution.h"
#include "engine/attention/findings.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/core/error.h"
#include "engine/io/json_file.h"
#include "engine/playground/part_growth.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace attn::cli {

AttentionSpec readSpec(const std::string& specOrFile) {
    std::error_code error; // for example, a composition longer than a file name may be
    if (std::filesystem::is_regular_file(specOrFile, error) || specOrFile.ends_with(".json")) {
        const nlohmann::json json = readJsonFile(specOrFile);
        try {
            return attentionSpecFromJson(json);
        } catch (const Error& wrong) {
            throw Error({.what = wrong.message(), .where = specOrFile, .hint = wrong.hint()});
        }
    }
    return AttentionSpec::parse(specOrFile);
}

namespace {

bool isInSpec(const Part& part) {
    return part.slot == Slot::Mask || std::ranges::find(kSpecSlots, part.slot) != kSpecSlots.end();
}

/// How a model writes with this part and otherwise defaults, under a causal mask if the part can be causal.
std::string writingOf(const Part& part) {
    constexpr int64_t kContext = 64, kWidth = 16;
    AttentionSpec spec;
    spec.mask = MaskExpression::causal();
    if (part.slot == Slot::Mask)
        spec.mask = spec.mask & MaskExpression::parse(termText(part, initialValues(part)));
    else
        spec.set(part.slot, part.id);
    const StepExecution how = stepExecution(spec, kContext, kWidth);
    switch (how.kind) {
    case StepKind::Kernel:
    case StepKind::Cache:
        return how.rule ? "from a cache of keys and values, by a fused kernel" : "from a cache of keys and values";
    case StepKind::State:
        return "from a running state";
    case StepKind::Whole:
        break;
    }
    return "by running the whole text again: " + how.reason;
}

nlohmann::json toJson(const Part& part) {
    nlohmann::json params = nlohmann::json::array();
    for (const Param& param : part.params)
        params.push_back({{"id", param.id},
                          {"title", param.title},
                          {"help", param.help},
                          {"minimum", param.minimum},
                          {"maximum", param.maximum},
                          {"initial", param.initial}});
    nlohmann::json entry{{"id", part.id},
                         {"slot", nameOf(part.slot)},
                         {"title", part.title},
                         {"idea", part.idea},
                         {"formula", part.formula},
                         {"citation",
                          {{"authors", part.source.authors},
                           {"year", part.source.year},
                           {"title", part.source.title},
                           {"where", part.source.where},
                           {"address", part.source.address}}},
                         {"time", part.time},
                         {"memory", part.memory},
                         {"parameters", std::move(params)}};
    if (!part.caution.empty()) entry["caution"] = part.caution;
    if (isInSpec(part)) entry["writes"] = writingOf(part);
    if (const std::string_view remark = growthRemark(part); !remark.empty()) entry["measured_time"] = remark;
    if (const Finding* finding = findingOf(part))
        entry["finding"] = {{"claim", finding->claim}, {"result", finding->result}, {"command", finding->command}};
    return entry;
}

} // namespace

void addParts(Command& command) {
    struct Options {
        bool json = false;
        std::string slot;
    };
    const auto options = std::make_shared<Options>();
    command.about(
        "Each part is listed as a composition writes it, with the names of its numbers in brackets. Masks need "
        "all numbers; elsewhere a number that is left out keeps its default. --json "
        "adds formulas, ranges, defaults and growth with length.");
    command.option("--slot SLOT", options->slot, "list only the parts of this slot")
        .choices({kSlotNames.begin(), kSlotNames.end()});
    addJson(command, options->json);
    command.example("attention-cli parts --slot position");
    command.action([=] {
        nlohmann::json list = nlohmann::json::array();
        std::string_view slot;
        for (const Part* part : partCatalogue()) {
            const std::string_view own = nameOf(part->slot);
            if (!options->slot.empty() && own != options->slot) continue;
            list.push_back(toJson(*part));
            if (options->json) continue;
            if (own != slot) fmt::print("{}{}\n", slot.empty() ? "" : "\n", own);
            slot = own;
            fmt::print("  {:36} {}: {} {}, {}\n", partForm(*part), part->title, part->source.authors, part->source.year,
                       part->source.address);
            if (isInSpec(*part)) fmt::print("  {:36} writes {}\n", "", writingOf(*part));
        }
        if (options->json) print(list);
        return kDone;
    });
}

} // namespace attn::cli
