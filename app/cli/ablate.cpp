#include "app/cli/analysis_options.h"
#include "app/cli/vision_options.h"

#include "engine/analysis/sweeps.h"
#include "engine/inference/language_model.h"

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
    printEffects(targetName(*model, found->target), *found, options.json);
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
    printPatching(targetName(*model, found->target), *found, names, options.json);
    return kDone;
}

} // namespace

void addAblate(Command& command) {
    const auto options = std::make_shared<AblateOptions>();
    command.about("Each row is the change of the logit when this head or MLP is removed, the largest fall first.");
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->picture.addTo(command, false);
    options->target.addTo(command);
    addJson(command, options->json);
    command.example("attention-cli ablate builtin:induction --prompt 'the quick fox the qu'");
    command.example("attention-cli ablate builtin:vit-shapes --image circle.png --target circle");
    command.action([=] { return ablate(*options); });
}

void addPatch(Command& command) {
    const auto options = std::make_shared<PatchOptions>();
    command.about("The model reads two inputs. Each number is the share of the gap between their logits that closes "
                  "when one layer's value at one token comes from the other run.");
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->picture.addTo(command, false);
    command
        .option("--from INPUT", options->from,
                "the other prompt, with the same number of tokens, or the other image file; token ids if the model "
                "has no tokenizer")
        .required();
    options->target.addTo(command);
    command.option("--hook HOOK", options->hook,
                   "hook to copy, in every layer: hook_resid_pre, hook_attn_out, hook_mlp_out, attn.hook_z, "
                   "attn.hook_pattern ...");
    addJson(command, options->json);
    command.example("attention-cli patch builtin:stories --prompt 'Lily had a dog. She loved her' --from 'Lily had a "
                    "cat. She loved her'");
    command.action([=] { return patch(*options); });
}

} // namespace attn::cli
