#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "engine/inference/capture_file.h"
#include "engine/inference/language_model.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

namespace attn::cli {

void addCapture(Command& command) {
    struct Options {
        ModelOptions model;
        PromptOptions prompt;
        ImageOptions picture;
        std::string hooks = inEveryBlock("attn.hook_pattern") + ",logits", out;
    };
    const auto options = std::make_shared<Options>();
    command.about("The names and shapes of the written hooks go to standard error.");
    options->model.addTo(command);
    options->prompt.addTo(command);
    options->prompt.addPairTo(command);
    options->picture.addTo(command, false);
    command.option("--hooks NAMES", options->hooks,
                   "names of hooks, between commas; * stands for anything; see attention-cli models PATH --hooks");
    command.option("--out FILE", options->out, "file to write: .safetensors or .npz").required();
    command.list("In Python",
                 {{"from safetensors.numpy import load_file", ""},
                  {"run = load_file('run.safetensors')", ""},
                  {"pattern = run['blocks.0.attn.hook_pattern']", "shape [head, query, key]; every row sums to 1"}});
    command.example("attention-cli capture builtin:stories --prompt 'Once upon a time' --out run.safetensors");
    command.example("attention-cli capture builtin:vit-shapes --image circle.png --hooks logits --out run.npz");
    command.action([=] {
        if (!options->picture.image.empty()) {
            captureVision(options->model, options->picture, options->hooks, options->out);
            return kDone;
        }
        const auto model = options->model.open(true);
        const TextInput text = options->prompt.encodeWithTypes(*model);
        const auto hooks = model->capture(text, options->hooks);
        writeCapture(options->out, model->info(), text.tokens, hooks);
        for (const auto& hook : hooks) fmt::print(stderr, "{} {}\n", hook.name, hook.shape.text());
        return kDone;
    });
}

} // namespace attn::cli
