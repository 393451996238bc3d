#include "app/cli/command.h"
#include "app/cli/written_numbers.h"

#include "engine/core/globs.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attn::cli {
namespace {

struct CaptureOptions {
    ModelOptions model;
    PromptOptions prompt;
    ImageOptions picture;
    std::string hooks, out; ///< hooks empty: as hooksOf() says
};

/// The hooks that the user asked for. By default, the patterns of all sites, and the logits, as far as the model has
/// them.
template <class Model> std::string hooksOf(const CaptureOptions& options, const Model& model) {
    if (!options.hooks.empty()) return options.hooks;
    std::vector<std::string> globs;
    for (const char* glob : {"*.hook_pattern", "logits"})
        if (std::ranges::any_of(model.info().hooks, [&](const auto& hook) { return matchesGlob(glob, hook); }))
            globs.push_back(glob);
    return fmt::format("{}", fmt::join(globs, ","));
}

void add(WrittenNumbers& written, const std::vector<CapturedHook>& hooks, const ModelInfo& info) {
    for (const CapturedHook& hook : hooks)
        written.add(hook.name, hook.shape.text(), hook.values.size(), strangeValues(hook, info));
}

void captureText(const CaptureOptions& options, WrittenNumbers& written) {
    const auto model = options.model.open(true);
    const TextInput text = options.prompt.encodeInput(*model);
    const auto hooks = model->capture(text, hooksOf(options, *model));
    writeCapture(options.out, model->info(), text, hooks);
    add(written, hooks, model->info());
}

/// Also writes the pixels of the picture, as "patches".
void capturePicture(const CaptureOptions& options, WrittenNumbers& written) {
    const Image image = options.picture.read();
    const auto model = options.model.openVision(options.picture.asked);
    notesOn(image, *model);
    const std::vector<float> patches = model->patchesOf(image);
    const auto hooks = model->capture(patches, hooksOf(options, *model));
    writeCapture(options.out, model->info(), patches, hooks);
    add(written, hooks, model->info());
}

} // namespace

void addCapture(Command& command) {
    const auto options = std::make_shared<CaptureOptions>();
    command.about("The names and shapes of the written hooks go to standard error. Where a query does not see a key, "
                  "hook_attn_scores holds -1e30 (TransformerLens: minus infinity); hook_pattern holds 0 in both.");
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->prompt.addPairTo(command);
    options->prompt.addTreeTo(command);
    options->prompt.addSourceTo(command);
    options->picture.addTo(command, false);
    command
        .option("--hooks NAMES", options->hooks,
                "names of hooks, between commas; * stands for anything; see attention-cli models PATH --hooks")
        .defaultText("*.hook_pattern,logits");
    command.option("--out FILE", options->out, "file to write: .safetensors or .npz").required();
    command.list("In Python",
                 {{"from safetensors.numpy import load_file", ""},
                  {"run = load_file('run.safetensors')", ""},
                  {"pattern = run['blocks.0.attn.hook_pattern']", "shape [head, query, key]; every row sums to 1"}});
    command.example("attention-cli capture builtin:stories --prompt 'Once upon a time' --out run.safetensors");
    command.example("attention-cli capture builtin:vit-shapes --image circle.png --hooks logits --out run.npz");
    command.action([=] {
        WrittenNumbers written;
        if (options->picture.image.empty())
            captureText(*options, written);
        else
            capturePicture(*options, written);
        return written.exitCode(options->out);
    });
}

} // namespace attn::cli
