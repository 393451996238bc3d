#include "app/cli/analysis_options.h"

#include "engine/analysis/sweeps.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn::cli {
namespace {

struct AblateOptions {
    ModelOptions model;
    PromptOptions prompt;
    TargetOptions target;
    bool json = false;
};

int ablate(const AblateOptions& options) {
    const auto model = options.model.open(true);
    AblationSweepAnalysis analysis;
    analysis.target = options.target.read(*model);
    const auto found = analyse<AblationSweep>(*model, options.prompt.encode(*model), analysis);
    struct Row {
        std::string name;
        float effect;
    };
    std::vector<Row> rows;
    for (int layer = 0; layer < found->layers; ++layer) {
        for (int head = 0; head < found->heads; ++head)
            rows.push_back({fmt::format("layer {}, head {}", layer, head),
                            found->headEffects[static_cast<size_t>(layer * found->heads + head)]});
        if (!found->mlpEffects.empty())
            rows.push_back({fmt::format("layer {}, MLP", layer), found->mlpEffects[static_cast<size_t>(layer)]});
    }
    if (options.json) {
        nlohmann::json json{{"target", targetJson(*model, found->target)}, {"logit", found->whole}};
        for (const Row& row : rows) json["without"].push_back({{"name", row.name}, {"effect", row.effect}});
        print(json);
        return kDone;
    }
    fmt::print("{}: {:+.4f}; without\n", targetText(*model, found->target), static_cast<double>(found->whole));
    std::ranges::stable_sort(rows, std::less(), &Row::effect);
    for (const Row& row : rows) fmt::print("{:+10.4f}  {}\n", static_cast<double>(row.effect), row.name);
    return kDone;
}

struct PatchOptions {
    ModelOptions model;
    PromptOptions prompt;
    TargetOptions target;
    std::string from, hook = "hook_resid_pre";
    bool json = false;
};

int patch(const PatchOptions& options) {
    const auto model = options.model.open(true);
    PatchSweepAnalysis analysis;
    analysis.text = options.from;
    analysis.hook = options.hook;
    analysis.target = options.target.read(*model);
    const std::vector<int> tokens = options.prompt.encode(*model);
    const auto found = analyse<PatchSweep>(*model, tokens, analysis);
    if (options.json) {
        nlohmann::json json{{"target", targetJson(*model, found->target)},
                            {"hook", found->hook},
                            {"own", found->own},
                            {"other", found->other}};
        for (int layer = 0; layer < found->layers; ++layer) {
            const auto begin = found->effects.begin() + static_cast<std::ptrdiff_t>(layer) * found->tokens;
            json["effects"].push_back(std::vector<float>(begin, begin + found->tokens));
        }
        print(json);
        return kDone;
    }
    fmt::print("{}: {:+.4f} here, {:+.4f} there. Share of the way that {} of one layer at one token goes:\n",
               targetText(*model, found->target), static_cast<double>(found->own), static_cast<double>(found->other),
               found->hook);
    fmt::print("{:16}", "");
    for (int layer = 0; layer < found->layers; ++layer) fmt::print(" {:>7}", fmt::format("L{}", layer));
    fmt::print("\n");
    for (int token = 0; token < found->tokens; ++token) {
        fmt::print("{:16}", tokenText(*model, tokens[static_cast<size_t>(token)]));
        for (int layer = 0; layer < found->layers; ++layer)
            fmt::print(" {:6.1f}%",
                       100 * static_cast<double>(found->effects[static_cast<size_t>(layer * found->tokens + token)]));
        fmt::print("\n");
    }
    return kDone;
}

} // namespace

void addAblate(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("ablate", "what removing each head and each MLP does to a logit");
    const auto options = std::make_shared<AblateOptions>();
    options->model.addTo(*command);
    options->prompt.addTo(*command);
    options->target.addTo(*command);
    command->add_flag("--json", options->json, "machine-readable");
    command->footer("Example:\n  attention-cli ablate builtin:induction --prompt 'the quick fox the qu'");
    command->callback([=, &run] { run = [=] { return ablate(*options); }; });
}

void addPatch(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand(
        "patch", "where a difference between two prompts is held: values of one run put into the other");
    const auto options = std::make_shared<PatchOptions>();
    options->model.addTo(*command);
    options->prompt.addTo(*command);
    command
        ->add_option("--from", options->from,
                     "the other prompt, of as many tokens; ids where the model has no tokenizer")
        ->required();
    options->target.addTo(*command);
    command
        ->add_option("--hook", options->hook,
                     "of each layer: hook_resid_pre, hook_attn_out, hook_mlp_out, attn.hook_z ...")
        ->capture_default_str();
    command->add_flag("--json", options->json, "machine-readable");
    command->footer("Example:\n  attention-cli patch builtin:stories --prompt 'Lily had a dog. She loved her' --from "
                    "'Lily had a cat. She loved her'");
    command->callback([=, &run] { run = [=] { return patch(*options); }; });
}

} // namespace attn::cli
