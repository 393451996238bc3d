#include "app/cli/analysis_options.h"

#include "engine/analysis/sweeps.h"
#include "engine/models/head_name.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

// The commands `ablate` and `patch`.

namespace attn::cli {
namespace {

struct AblateOptions {
    AnalysisOptions asked;
    bool json = false;
};

struct PatchOptions {
    AnalysisOptions asked;
    std::string from, hook = "hook_resid_pre";
    bool heads = false, json = false;
};

void printEffects(const Asked& asked, const HeadEffects& effects, bool isJson) {
    struct Row {
        std::string name;
        float effect;
    };
    std::vector<Row> rows;
    for (int site = 0; site < effects.sites; ++site) {
        for (int head = 0; head < asked.info().site(site).heads; ++head)
            rows.push_back(
                {asked.headName(site, head), effects.headEffects[static_cast<size_t>(site * effects.heads + head)]});
        const float mlp = effects.mlpEffects.empty() ? std::nanf("") : effects.mlpEffects[static_cast<size_t>(site)];
        if (!std::isnan(mlp)) rows.push_back({asked.info().structure.blockLabelOf(site) + " MLP", mlp});
    }
    if (isJson) {
        nlohmann::json json{{"target", asked.targetJson(effects.target)}, {"logit", effects.whole}};
        for (const Row& row : rows) json["without"].push_back({{"name", row.name}, {"effect", row.effect}});
        return asked.print(json);
    }
    fmt::print("{}: {:+.4f}\nchange when one of these is removed:\n", asked.targetText(effects.target),
               static_cast<double>(effects.whole));
    std::ranges::stable_sort(rows, std::less(), &Row::effect);
    for (const Row& row : rows) fmt::print("{:+10.4f}  {}\n", static_cast<double>(row.effect), row.name);
}

nlohmann::json gapJson(const Asked& asked, const PatchGap& gap) {
    return {{"target", asked.targetJson(gap.target)}, {"own", gap.own}, {"other", gap.other}};
}

void printGap(const Asked& asked, const PatchGap& gap) {
    fmt::print("{}: {:+.4f} in this run, {:+.4f} in the other.\n", asked.targetText(gap.target),
               static_cast<double>(gap.own), static_cast<double>(gap.other));
}

void printHeads(const Asked& asked, const HeadPatchEffects& effects, bool isJson) {
    nlohmann::json json = gapJson(asked, effects);
    std::vector<std::pair<std::string, float>> rows;
    for (int site = 0; site < effects.sites; ++site)
        for (int head = 0; head < asked.info().site(site).heads; ++head)
            rows.emplace_back(asked.headName(site, head),
                              effects.effects[static_cast<size_t>(site * effects.heads + head)]);
    if (isJson) {
        for (const auto& [name, share] : rows) json["effects"].push_back({{"name", name}, {"effect", share}});
        return asked.print(json);
    }
    printGap(asked, effects);
    fmt::print("Share of the gap that closes when the output of one head is copied from the other run:\n");
    std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return std::abs(row.second); });
    for (const auto& [name, share] : rows) fmt::print("{:+9.1f}%  {}\n", 100 * static_cast<double>(share), name);
}

void printPatching(const Asked& asked, const PatchEffects& effects, bool isJson) {
    const size_t blocks = effects.sites.size(), tokens = static_cast<size_t>(effects.tokens);
    if (isJson) {
        nlohmann::json json = gapJson(asked, effects);
        json["hook"] = effects.hook;
        for (size_t block = 0; block < blocks; ++block) {
            const auto row = std::span(effects.effects).subspan(block * tokens, tokens);
            json["effects"].push_back(std::vector<float>(row.begin(), row.end()));
        }
        return asked.print(json);
    }
    printGap(asked, effects);
    fmt::print("Share of the gap that closes when {} of one layer at one token is copied from the other run:\n",
               effects.hook);
    const int width = asked.info().readsSource ? 10 : 7; // width of a column: "Decoder L0", "L0"
    fmt::print("{:16}", "");
    for (size_t block = 0; block < blocks; ++block)
        fmt::print(" {:>{}}", asked.info().structure.labelOf(effects.sites[block]), width);
    fmt::print("\n");
    for (size_t token = 0; token < tokens; ++token) {
        fmt::print("{:16}", asked.rowName(token));
        for (size_t block = 0; block < blocks; ++block)
            if (const float share = effects.effects[block * tokens + token]; std::isnan(share))
                fmt::print(" {:>{}}", "", width);
            else
                fmt::print(" {:{}.1f}%", 100 * static_cast<double>(share), width - 1);
        fmt::print("\n");
    }
}

} // namespace

void addAblate(Command& command) {
    const auto options = std::make_shared<AblateOptions>();
    command.about(
        "Each row is the change of the logit when this head or MLP is removed, the largest fall first. Of a "
        "text, the logit is that of the token after the last one; in a model that fills in words, that of the "
        "last [MASK], or of the last token if there is none.");
    options->asked.addTo(command);
    options->asked.addTargetTo(command);
    addJson(command, options->json);
    command.example("attention-cli ablate builtin:induction --prompt 'the quick fox the qu'");
    command.example("attention-cli ablate builtin:vit-shapes --image circle.png --target circle");
    command.action([=] {
        const Asked asked(options->asked, "ablate");
        AblationSweepAnalysis analysis;
        analysis.target = asked.target();
        printEffects(asked, *asked.run<AblationSweep>(analysis), options->json);
        return kDone;
    });
}

void addPatch(Command& command) {
    const auto options = std::make_shared<PatchOptions>();
    command.about("The model reads two inputs. Each number is the share of the gap between their logits that closes "
                  "when one layer's value at one token comes from the other run. Shares carry the rounding of the "
                  "logits divided by their gap: where both runs have nearly the same logit, they are noise.");
    options->asked.addTo(command);
    command
        .option("--from INPUT", options->from,
                "the other prompt, with the same number of tokens, or the other image file; token ids if the model "
                "has no tokenizer")
        .required();
    options->asked.addTargetTo(command);
    const Option& hook =
        command.option("--hook HOOK", options->hook,
                       "hook to copy, in every layer: hook_resid_pre, hook_attn_out, hook_mlp_out, attn.hook_z, "
                       "attn.hook_pattern ...");
    command.flag("--heads", options->heads, "copy the output of one head at all tokens instead").excludes(hook);
    addJson(command, options->json);
    command.example("attention-cli patch builtin:stories --prompt 'Lily had a dog. She loved her' --from 'Lily had a "
                    "cat. She loved her'");
    command.action([=] {
        const bool isText = options->asked.picture.image.empty();
        const Asked asked(options->asked, "patch", options->from);
        if (options->heads) {
            HeadPatchAnalysis analysis;
            if (isText) analysis.text = options->from;
            analysis.target = asked.target();
            printHeads(asked, *asked.run<HeadPatchSweep>(analysis), options->json);
            return kDone;
        }
        PatchSweepAnalysis analysis;
        if (isText) analysis.text = options->from;
        analysis.hook = options->hook;
        analysis.target = asked.target();
        printPatching(asked, *asked.run<PatchSweep>(analysis), options->json);
        return kDone;
    });
}

} // namespace attn::cli
