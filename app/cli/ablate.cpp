#include "app/cli/analysis_options.h"
#include "app/cli/vision_options.h"

#include "engine/analysis/sweeps.h"

namespace attn::cli {
namespace {

struct AblateOptions {
    ModelOptions model;
    PromptOptions prompt;
    ImageOptions picture;
    TargetOptions target;
    bool json = false;
};

int ablate(const AblateOptions& options) {
    if (!options.picture.image.empty())
        return ablateVision({options.model, options.picture, options.target, options.json});
    const auto model = openForText(options.model, "ablate");
    AblationSweepAnalysis analysis;
    analysis.target = options.target.read(*model);
    const auto found = analyse<AblationSweep>(*model, options.prompt.encode(*model), analysis);
    printEffects({targetText(*model, found->target), targetJson(*model, found->target)}, *found, options.json);
    return kDone;
}

struct PatchOptions {
    ModelOptions model;
    PromptOptions prompt;
    ImageOptions picture;
    TargetOptions target;
    std::string from, hook = "hook_resid_pre";
    bool json = false;
};

int patch(const PatchOptions& options) {
    if (!options.picture.image.empty())
        return patchVision({options.model, options.picture, options.target, options.json}, options.from, options.hook);
    const auto model = openForText(options.model, "patch");
    PatchSweepAnalysis analysis;
    analysis.text = options.from;
    analysis.hook = options.hook;
    analysis.target = options.target.read(*model);
    const std::vector<int> tokens = options.prompt.encode(*model);
    const auto found = analyse<PatchSweep>(*model, tokens, analysis);
    std::vector<std::string> names;
    for (const int token : tokens) names.push_back(tokenText(*model, token));
    printPatching({targetText(*model, found->target), targetJson(*model, found->target)}, *found, names, options.json);
    return kDone;
}

} // namespace

void addAblate(CLI::App& app, Run& run) {
    CLI::App* command =
        app.add_subcommand("ablate", "what removing each head and each MLP does to a logit of a prompt or a picture");
    const auto options = std::make_shared<AblateOptions>();
    options->model.addTo(*command);
    options->prompt.addTo(*command);
    options->picture.addTo(*command, false);
    options->target.addTo(*command);
    command->add_flag("--json", options->json, "machine-readable");
    command->footer("Example:\n  attention-cli ablate builtin:induction --prompt 'the quick fox the qu'");
    command->callback([=, &run] { run = [=] { return ablate(*options); }; });
}

void addPatch(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand(
        "patch",
        "where a difference between two prompts, or two pictures, is held: values of one run put into the other");
    const auto options = std::make_shared<PatchOptions>();
    options->model.addTo(*command);
    options->prompt.addTo(*command);
    options->picture.addTo(*command, false);
    command
        ->add_option("--from", options->from,
                     "the other prompt, of as many tokens, or the other picture; ids where the model has no tokenizer")
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
